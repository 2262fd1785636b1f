//! The Helm charts, with Helm 3 and Helm 4: what they render and refuse, and what becomes of them on real API servers.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy takes only #[test] functions for tests"
)]

mod admission;
mod crossing;
mod definitions;
mod desk;
mod edited;
mod fleet;
mod golden;
mod lease;
mod life;
mod mended;
mod multicluster;
mod offload;
mod options;
mod pinned;
mod quotas;
mod reach;
mod rebuilt;
mod refusals;
mod reinstalled;
mod replicas;
mod rotation;
mod strict;
mod traffic;
mod values;

use std::collections::BTreeSet;

use fleet_testbed::helm::{Helm, chart};
use fleet_testbed::pod::NAMESPACE;
use serde_json::{Value, json};

const CHARTS: [&str; 2] = ["hub-agent", "member-agent"];

async fn both_helms() -> [Helm; 2] {
    [Helm::v3().await.unwrap(), Helm::v4().await.unwrap()]
}

/// The least values that a chart needs.
fn needed(chart: &str) -> Value {
    match chart {
        "member-agent" => json!({
            "config": { "memberClusterName": "east", "hubURL": "https://hub.example:6443" },
        }),
        _ => json!({}),
    }
}

/// What a chart makes with the least values and `more`.
async fn rendered(name: &str, more: &Value) -> Vec<Value> {
    let helm = Helm::v4().await.unwrap();
    let values = with(needed(name), more);
    helm.template(&chart(name), (NAMESPACE, name), &values).await.unwrap()
}

/// Kind and name of each object.
fn names(objects: &[Value]) -> BTreeSet<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = |it: &Value| format!("{} {}", text(&it["kind"]), text(&it["metadata"]["name"]));
    objects.iter().map(name).collect()
}

/// `more` laid over `values`.
fn with(mut values: Value, more: &Value) -> Value {
    merge(&mut values, more);
    values
}

fn merge(values: &mut Value, more: &Value) {
    match (values, more) {
        (Value::Object(values), Value::Object(more)) => {
            for (key, value) in more {
                merge(values.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (values, more) => *values = more.clone(),
    }
}

/// The object of a kind and name.
fn find<'a>(objects: &'a [Value], kind: &str, name: &str) -> Option<&'a Value> {
    objects.iter().find(|object| object["kind"] == kind && object["metadata"]["name"] == name)
}

/// All objects of a kind.
fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects.iter().filter(|object| object["kind"] == kind).collect()
}
