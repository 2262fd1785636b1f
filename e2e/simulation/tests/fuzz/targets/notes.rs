//! What Leases and reports carry: drains that a former process has noted, properties, and reports of reachability.

use std::collections::BTreeMap;

use fleet_api::multicluster::ReachReport;
use fleet_api::traffic::{DRAINS, FOLLOWED, own_properties};
use fleetctl::reach::reached::Reached;
use jiff::Timestamp;
use member_agent::app::embedded;
use member_agent::traffic_memory::TrafficMemory;
use serde_json::{Value, json};

use super::Target;
use crate::cost::Bound;
use crate::examples;

pub(crate) const TARGET: Target = Target {
    name: "notes",
    is_json: true,
    short: 400,
    bound: Some(Bound { base: 4000, per_byte: 120, base_bytes: 1 << 20, bytes_per_byte: 1000 }),
    examples,
    read,
};

/// Longest text that is noted.
const MOST_NOTED: usize = 100_000;

fn examples() -> Vec<Vec<u8>> {
    let drains = json!({ "east": {
        "uid": "u", "serial": 7, "held": ["shop/db"],
        "entries": [{ "service": "*", "percent": 100, "removed": false, "reason": "Drained" }],
    } });
    let properties = json!({ "topology.kubernetes.io/region": "north" });
    let report = examples::objects().into_iter().find(|((kind, _), _)| kind == "ReachReport");
    let report = report.map(|(_, report)| report).unwrap();
    [drains, properties, report].iter().map(|it| serde_json::to_vec(it).unwrap()).collect()
}

fn read(input: &[u8]) {
    let text = String::from_utf8_lossy(input).into_owned();
    let memory = TrafficMemory::default();
    let noted = BTreeMap::from([(DRAINS.to_owned(), text.clone()), (FOLLOWED.to_owned(), "hub/0".to_owned())]);
    embedded::take_over(&memory, noted);
    let handed = embedded::hand_on(&memory);
    assert_eq!(handed.get(FOLLOWED).map(String::as_str), Some("hub/0"), "what can be read is kept");
    let drains = handed.get(DRAINS);
    assert!(drains.is_none_or(|drains| drains.len() <= MOST_NOTED), "{drains:?}");
    // What is handed on is read as the same.
    let next = TrafficMemory::default();
    embedded::take_over(&next, handed.clone());
    assert_eq!(embedded::hand_on(&next), handed);
    own_properties(&text);
    reached(input);
}

fn reached(input: &[u8]) {
    let Ok(mut report) = serde_json::from_slice::<Value>(input) else { return };
    for name in ["east", "west"] {
        if report["metadata"].is_object() {
            report["metadata"]["name"] = json!(name);
        }
        let Ok(report) = serde_json::from_value::<ReachReport>(report.clone()) else { return };
        let cells = report.spec.exporters.len();
        let reached = Reached::of(vec![report], Timestamp::UNIX_EPOCH);
        assert!(reached.cells.len() <= cells);
        assert!(name == "east" || reached.cells.is_empty(), "a report of another member counts");
    }
}
