//! Command lines of fleetctl and of the agents, and selectors of clusters.

use clap::Parser as _;
use fleet_api::traffic::ServiceTrafficSpec;
use serde_json::{Value, json};

use super::Target;
use crate::cost::Bound;

pub(crate) const TARGET: Target = Target {
    name: "selectors",
    is_json: false,
    short: 60,
    // The definitions of all commands are built each time.
    bound: Some(Bound { base: 600_000, per_byte: 2000, base_bytes: 16 << 20, bytes_per_byte: 8000 }),
    examples,
    read,
};

fn examples() -> Vec<Vec<u8>> {
    [
        "fleetctl drain east --service shop/web --percent 50 --over 10m",
        "fleetctl explain export shop/web --member east",
        "fleetctl graph --services shop/* -o json",
        "fleetctl join east --cidrs 10.0.0.0/8 --exports shop/*,team/web --imports *",
        "fleetctl what-if drain east",
        "fleetctl silence east never",
        "member-agent --multicluster on --multicluster-import-namespaces team,shop/web --traffic",
        "hub-agent --denied-namespaces kube-* --multicluster-settle 30s --traffic",
    ]
    .map(|line| line.as_bytes().to_vec())
    .to_vec()
}

fn read(input: &[u8]) {
    let line = String::from_utf8_lossy(input);
    let words: Vec<_> = line.split_whitespace().collect();
    match words.first() {
        Some(&"member-agent") => {
            if let Ok(args) = member_agent::args::Args::try_parse_from(&words) {
                args.settings().ok();
            }
        }
        Some(&"hub-agent") => {
            if let Ok(args) = hub_agent::args::Args::try_parse_from(&words)
                && args.check().is_ok()
            {
                args.settings();
            }
        }
        _ => {
            fleetctl::args::Cli::try_parse_from(&words).ok();
        }
    }
    selects(&words);
}

/// A selector of whatever the words are.
fn selects(words: &[&str]) {
    let expression = |operator: &str| json!({ "key": words.first(), "operator": operator, "values": words });
    let properties: Value = words.chunks(2).map(|pair| (pair[0].to_owned(), json!(pair.last()))).collect::<serde_json::Map<_, _>>().into();
    let operators = ["In", "NotIn", "Exists", "DoesNotExist", words.last().copied().unwrap_or_default()];
    let selector = json!({ "propertySelector": {
        "matchProperties": properties, "matchExpressions": operators.map(expression),
    } });
    let spec = json!({ "preference": "Selectors", "clusterSelectors": [selector] });
    if let Ok(spec) = serde_json::from_value::<ServiceTrafficSpec>(spec) {
        let written = serde_json::to_value(&spec).unwrap();
        assert_eq!(serde_json::from_value::<ServiceTrafficSpec>(written).unwrap(), spec);
    }
    let own: fleet_traffic::Properties = words.iter().map(|word| ((*word).to_owned(), (*word).to_owned())).collect();
    let nothing = fleet_traffic::ClusterSelector::default();
    assert!(!nothing.selects(&own, &own), "a selector without parts selects nothing");
    if let Some(word) = words.first() {
        let one = fleet_traffic::ClusterSelector {
            properties: [((*word).to_owned(), (*word).to_owned())].into(),
            ..fleet_traffic::ClusterSelector::default()
        };
        let stands_for_importer = *word == "@SameAsImporter@";
        assert_eq!(one.selects(&own, &own), !stands_for_importer || own.contains_key(*word));
    }
}
