//! Every metric and label that alerts and dashboards name is in the reference of their agent.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fleet_accumulator::SourceState;
use member_agent::fence::Fence;
use member_agent::multicluster::import::ImportState;
use serde_json::Value;

use super::catalogue::Entry;
use super::promql::{named, placeholders};
use super::reference;

/// Labels that Prometheus itself adds.
const OF_PROMETHEUS: [&str; 2] = ["instance", "job"];

/// A query, and the texts beside it that name its labels.
struct Query {
    place: String,
    expression: String,
    texts: String,
}

fn chart(agent: &str, path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../charts").join(agent).join(path)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn alerts(agent: &str) -> Vec<Query> {
    let rules = std::fs::read_to_string(chart(agent, "alerts.yaml")).unwrap();
    let rules: Value = serde_saphyr::from_str(&rules).unwrap();
    let groups = rules["groups"].as_array().unwrap().iter();
    let rules = groups.flat_map(|group| group["rules"].as_array().unwrap());
    let query = |rule: &Value| Query {
        place: format!("alert {}", rule["alert"]),
        expression: text(&rule["expr"]),
        texts: rule["annotations"].to_string(),
    };
    rules.map(query).collect()
}

fn panels(agent: &str) -> Vec<Query> {
    let board = chart(agent, &format!("dashboards/{agent}.json"));
    let board: Value = serde_json::from_str(&std::fs::read_to_string(board).unwrap()).unwrap();
    let mut queries = Vec::new();
    for panel in board["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            queries.push(Query {
                place: format!("panel {}", panel["title"]),
                expression: text(&target["expr"]),
                texts: text(&target["legendFormat"]),
            });
        }
    }
    queries
}

fn queries(agent: &str) -> Vec<Query> {
    [alerts(agent), panels(agent)].into_iter().flatten().collect()
}

/// What is wrong with a query, given the metrics that there are.
fn complaints(query: &Query, metrics: &[Entry]) -> Vec<String> {
    let Query { place, expression, texts } = query;
    let mut wrong = Vec::new();
    let mut known: BTreeSet<String> = OF_PROMETHEUS.map(str::to_owned).into();
    let named = named(expression);
    for (metric, asked) in &named.metrics {
        let Some(labels) = labels(metric, metrics) else {
            wrong.push(format!("{place}: no metric {metric}"));
            continue;
        };
        known.extend(labels);
        wrong.extend(
            asked.difference(&known).map(|label| format!("{place}: {metric} has no {label}")),
        );
    }
    let grouped = named.groups.difference(&known);
    wrong.extend(grouped.map(|label| format!("{place}: nothing has {label}")));
    let shown = placeholders(texts);
    // What aggregation leaves; without any, all labels are left.
    let left = if expression.contains("by (") { &named.groups } else { &known };
    wrong.extend(
        shown.difference(left).map(|label| format!("{place}: {label} is not left to show")),
    );
    wrong
}

/// Labels of a metric as it is scraped: histograms have three, with `le` on the buckets.
fn labels(metric: &str, metrics: &[Entry]) -> Option<Vec<String>> {
    let find = |name: &str, histogram: bool| {
        metrics.iter().find(|entry| entry.name == name && (entry.kind == "histogram") == histogram)
    };
    let series = |end: &str| find(metric.strip_suffix(end)?, true);
    if let Some(entry) = series("_bucket") {
        return Some([entry.labels.clone(), vec!["le".to_owned()]].concat());
    }
    let entry = find(metric, false).or_else(|| series("_count")).or_else(|| series("_sum"))?;
    Some(entry.labels.clone())
}

#[tokio::test]
async fn alerts_and_dashboards_ask_for_what_there_is() {
    for (agent, metrics) in [("hub-agent", reference::hub()), ("member-agent", reference::member())]
    {
        let queries = queries(agent);
        assert!(queries.len() > 12, "{agent}");
        let wrong: Vec<_> = queries.iter().flat_map(|query| complaints(query, &metrics)).collect();
        assert!(wrong.is_empty(), "{agent}:\n{}", wrong.join("\n"));
    }
}

/// States are a closed set, of which queries name single ones.
#[test]
fn states_in_queries_exist() {
    for agent in ["hub-agent", "member-agent"] {
        let queries = queries(agent);
        let states = queries.iter().flat_map(|query| query.expression.split("state").skip(1));
        let states = states.filter_map(|rest| rest.split_once(['=', '~'])?.1.split('"').nth(1));
        let names: Vec<_> = states.flat_map(|states| states.split('|')).collect();
        assert!(!names.is_empty());
        let imports = ImportState::ALL.map(ImportState::as_str);
        let known = [&SourceState::NAMES[..], &Fence::NAMES, &imports].concat();
        assert!(names.iter().all(|name| known.contains(name)), "{names:?}");
    }
}

#[tokio::test]
async fn what_does_not_exist_is_found() {
    let metrics = reference::hub();
    let query = |expression: &str, texts: &str| Query {
        place: "here".to_owned(),
        expression: expression.to_owned(),
        texts: texts.to_owned(),
    };
    for (expression, texts) in [
        ("fleet_nothing", ""),
        ("fleet_build_info{what=\"x\"}", ""),
        ("sum by (what) (fleet_build_info)", ""),
        ("sum by (agent) (fleet_build_info)", "{{version}}"),
        ("fleet_networking_stage_duration_seconds", ""),
    ] {
        assert!(!complaints(&query(expression, texts), &metrics).is_empty(), "{expression}");
    }
    let fine = query("sum by (agent) (fleet_build_info)", "{{agent}}");
    assert!(complaints(&fine, &metrics).is_empty());
}
