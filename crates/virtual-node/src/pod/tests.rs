mod any;
mod fields;
mod metadata;
mod profile;
mod properties;
mod rows;
mod secrets;
mod versions;

use std::collections::BTreeMap;

use fleet_api::offload::{OffloadTerms, PodExportSpec, PolicyProfile, Refusal};
use serde_json::{Map, Value, json};

use super::*;

const ORIGIN: &str = "east";
const EXECUTOR: &str = "west";

fn terms() -> OffloadTerms {
    OffloadTerms { namespaces: vec!["shop".to_owned()], ..OffloadTerms::default() }
}

fn baseline() -> OffloadTerms {
    OffloadTerms { policy_profile: PolicyProfile::Baseline, ..terms() }
}

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

/// A Pod that meets the restricted profile.
fn spec() -> Value {
    json!({
        "containers": [{
            "name": "web",
            "image": "web:1",
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "capabilities": { "drop": ["ALL"] },
            },
        }],
        "securityContext": {
            "runAsNonRoot": true,
            "seccompProfile": { "type": "RuntimeDefault" },
        },
    })
}

fn pod(spec: Value) -> LocalPod {
    LocalPod {
        namespace: "shop".to_owned(),
        name: "web-7".to_owned(),
        uid: "11111111-2222-3333-4444-555555555555".to_owned(),
        labels: BTreeMap::from([("app".to_owned(), "web".to_owned())]),
        annotations: BTreeMap::from([("team/cost".to_owned(), "$9".to_owned())]),
        spec: map(spec),
        ..LocalPod::default()
    }
}

/// Lays `more` over a Pod: objects are merged, a list replaces all of another but its first entry, which is merged.
fn over(mut spec: Value, more: &Value) -> Value {
    merge(&mut spec, more);
    spec
}

fn merge(value: &mut Value, more: &Value) {
    match (value, more) {
        (Value::Object(value), Value::Object(more)) => {
            for (name, more) in more {
                merge(value.entry(name.clone()).or_insert(Value::Null), more);
            }
        }
        (Value::Array(value), Value::Array(more)) if !value.is_empty() && !more.is_empty() => {
            merge(&mut value[0], &more[0]);
            value.truncate(1);
            value.extend(more[1..].iter().cloned());
        }
        (value, more) => *value = more.clone(),
    }
}

fn translated(spec: Value, terms: &OffloadTerms) -> Result<PodExportSpec, Rejection> {
    let export = translate(&pod(spec), ORIGIN, EXECUTOR, terms, None)?;
    with_contents(export, Vec::new())
}

/// The export of a spec that an origin with other code has not translated.
fn forged(spec: Value, terms: &OffloadTerms) -> PodExportSpec {
    let mut export = translated(self::spec(), terms).unwrap();
    export.pod.0 = map(spec);
    export.spec_hash = spec_hash(&export);
    export
}

fn refusal(field: &str, reason: Refusal) -> Rejection {
    Rejection::new(reason, field)
}
