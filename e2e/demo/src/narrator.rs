//! Puts objects of the fleet into words. Pure.

use std::collections::BTreeMap;

use fleet_api::names::{SYSTEM_NAMESPACE, member_of_namespace};
use fleet_api::{ServiceInUseBy, annotations, kinds, labels};
use kube::api::DynamicObject;
use serde_json::Value;

use super::text::count;
use fleet_testbed::objects::Found;
use fleet_testbed::observer::{Observation, What};

/// Addresses that are listed one by one; of more only the number is shown.
const LISTED_ADDRESSES: usize = 4;

/// Describes what an event means, and nothing twice: most writes change parts that the demo does not show.
#[derive(Debug, Default)]
pub(super) struct Narrator {
    told: BTreeMap<(String, &'static str, String), String>,
}

impl Narrator {
    /// What the event means in a few words; `None` if it changes nothing that was described.
    pub(super) fn tell(&mut self, seen: &Observation) -> Option<String> {
        let key = (seen.cluster.clone(), seen.kind.kind, seen.name());
        if seen.what == What::Gone {
            self.told.remove(&key);
            return Some("deleted".to_owned());
        }
        let meaning = meaning(seen);
        let before = self.told.insert(key, meaning.clone());
        (before.as_ref() != Some(&meaning)).then_some(meaning)
    }
}

/// Whether the event is about the demo's namespace.
pub(super) fn concerns(seen: &Observation, namespace: &str) -> bool {
    let (cluster, kind, object) = (seen.cluster.clone(), seen.kind, seen.object.clone());
    Found { cluster, kind, object }.belongs_to(namespace)
}

fn meaning(seen: &Observation) -> String {
    let object = &seen.object;
    let text = words(seen);
    if object.metadata.deletion_timestamp.is_none() {
        return text;
    }
    let finalizers = object.metadata.finalizers.as_deref().unwrap_or_default();
    let holders: Vec<&str> =
        finalizers.iter().map(|name| name.rsplit('/').next().unwrap_or(name)).collect();
    match holders.as_slice() {
        [] => "being deleted".to_owned(),
        _ => format!("being deleted; waits for finalizer {}", holders.join(" and ")),
    }
}

fn words(seen: &Observation) -> String {
    let object = &seen.object;
    let system = object.metadata.namespace.as_deref() == Some(SYSTEM_NAMESPACE);
    let kind = seen.kind;
    if kind == kinds::SERVICE {
        return if system { derived_service(object) } else { "the user's Service".to_owned() };
    }
    if kind == kinds::ENDPOINT_SLICE {
        let addresses = addresses(object);
        return if system {
            format!("bound to the derived Service, which routes to {}", list(&addresses))
        } else {
            format!("created from the Pods by the EndpointSlice controller: {}", list(&addresses))
        };
    }
    let member = member(object);
    if kind == kinds::SERVICE_EXPORT {
        with_conditions("requested by the user: export this Service", object)
    } else if kind == kinds::MULTI_CLUSTER_SERVICE {
        let wanted = object.data["spec"]["serviceImport"]["name"].as_str().unwrap_or("?");
        with_conditions(&format!("requested by the user: import Service {wanted}"), object)
    } else if kind == kinds::INTERNAL_SERVICE_EXPORT {
        let ports = ports(&object.data["spec"]);
        with_conditions(&format!("{member} exports the Service, {ports}"), object)
    } else if kind == kinds::ENDPOINT_SLICE_EXPORT {
        format!("{member} exports {}", list(&addresses(object)))
    } else if kind == kinds::ENDPOINT_SLICE_IMPORT {
        format!("copy for {member}: {}", list(&addresses(object)))
    } else if kind == kinds::INTERNAL_SERVICE_IMPORT {
        match exporters(object) {
            None => format!("{member} requests the Service"),
            Some(exporters) => format!("granted to {member}: {exporters}"),
        }
    } else if kind == kinds::SERVICE_IMPORT {
        service_import(object)
    } else {
        String::new()
    }
}

fn derived_service(object: &DynamicObject) -> String {
    let address = object.data["spec"]["clusterIP"].as_str().unwrap_or("no address yet");
    format!(
        "derived Service, used by clients of this member ({address}, {})",
        ports(&object.data["spec"])
    )
}

/// On the hub it is the fleet's Service, on a member one import of it.
fn service_import(object: &DynamicObject) -> String {
    let imported =
        object.metadata.owner_references.as_ref().is_some_and(|owners| !owners.is_empty());
    let what = if imported { "this member's import" } else { "the Service of the fleet" };
    let resolved = exporters(object).unwrap_or_else(|| "not resolved yet".to_owned());
    let users = object.metadata.annotations.as_ref();
    let users = users.and_then(|all| all.get(annotations::SERVICE_IN_USE_BY));
    let users = ServiceInUseBy::parse(users.map(String::as_str)).unwrap_or_default();
    let users: Vec<&str> = users.member_clusters.values().map(String::as_str).collect();
    match users.as_slice() {
        [] => format!("{what}: {resolved}"),
        _ => format!("{what}: {resolved}, imported by {}", users.join(" and ")),
    }
}

/// Ports and exporting clusters of a status, if it names any.
fn exporters(object: &DynamicObject) -> Option<String> {
    let status = &object.data["status"];
    let clusters = status["clusters"].as_array()?.iter();
    let clusters: Vec<&str> = clusters.filter_map(|cluster| cluster["cluster"].as_str()).collect();
    (!clusters.is_empty()).then(|| format!("{}, from {}", ports(status), clusters.join(" and ")))
}

/// The member whose namespace on the hub the object is in.
fn member(object: &DynamicObject) -> &str {
    let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
    member_of_namespace(namespace).unwrap_or(namespace)
}

fn ports(spec: &Value) -> String {
    let ports = spec["ports"].as_array().map(Vec::as_slice).unwrap_or_default();
    let port = |port: &Value| {
        let number = port["port"].as_i64().unwrap_or_default();
        format!("{number}/{}", port["protocol"].as_str().unwrap_or("TCP"))
    };
    match ports {
        [] => "no ports".to_owned(),
        [one] => format!("port {}", port(one)),
        many => format!("ports {}", many.iter().map(port).collect::<Vec<_>>().join(", ")),
    }
}

/// Addresses that take traffic, of an EndpointSlice or of the fleet's copy of one, sorted.
pub(super) fn addresses(object: &DynamicObject) -> Vec<String> {
    let endpoints = match &object.data["endpoints"] {
        Value::Null => &object.data["spec"]["endpoints"],
        endpoints => endpoints,
    };
    let ready = |endpoint: &&Value| endpoint["conditions"]["ready"] != Value::Bool(false);
    let mut addresses: Vec<String> = endpoints
        .as_array()
        .into_iter()
        .flatten()
        .filter(ready)
        .filter_map(|endpoint| endpoint["addresses"].as_array())
        .flatten()
        .filter_map(|address| address.as_str().map(str::to_owned))
        .collect();
    addresses.sort();
    addresses
}

fn list(addresses: &[String]) -> String {
    match addresses.len() {
        0 => "no address".to_owned(),
        number if number > LISTED_ADDRESSES => count(number, "address"),
        number => format!("{} ({})", count(number, "address"), addresses.join(", ")),
    }
}

fn with_conditions(text: &str, object: &DynamicObject) -> String {
    let conditions = object.data["status"]["conditions"].as_array();
    let conditions: Vec<String> = conditions
        .into_iter()
        .flatten()
        .filter_map(|one| Some(format!("{}={}", one["type"].as_str()?, one["status"].as_str()?)))
        .collect();
    let labels = object.metadata.labels.as_ref();
    let derived = labels.and_then(|labels| labels.get(labels::DERIVED_SERVICE));
    let mut text = text.to_owned();
    if let Some(derived) = derived {
        text.push_str("; bound to ");
        text.push_str(derived);
    }
    if !conditions.is_empty() {
        text.push_str("; ");
        text.push_str(&conditions.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use fleet_api::ResourceKind;
    use serde_json::json;

    use super::*;

    fn seen(kind: ResourceKind, what: What, object: Value) -> Observation {
        let object = serde_json::from_value(object).unwrap();
        Observation { at: Instant::now(), cluster: "hub".to_owned(), kind, what, object }
    }

    fn told(kind: ResourceKind, object: Value) -> String {
        Narrator::default().tell(&seen(kind, What::Appeared, object)).unwrap()
    }

    #[test]
    fn nothing_is_told_twice() {
        let export = |version: &str| {
            seen(
                kinds::ENDPOINT_SLICE_EXPORT,
                What::Changed,
                json!({
                    "metadata": {
                        "namespace": "fleet-member-a", "name": "x", "resourceVersion": version,
                    },
                    "spec": { "endpoints": [{ "addresses": ["10.0.0.1"] }] },
                }),
            )
        };
        let mut narrator = Narrator::default();
        assert_eq!(narrator.tell(&export("1")).as_deref(), Some("a exports 1 address (10.0.0.1)"));
        assert_eq!(narrator.tell(&export("2")), None);
        let gone = Observation { what: What::Gone, ..export("3") };
        assert_eq!(narrator.tell(&gone).as_deref(), Some("deleted"));
        assert!(narrator.tell(&export("4")).is_some(), "a successor is described again");
    }

    #[test]
    fn the_hubs_import_names_exporters_and_importers() {
        let in_use = r#"{"MemberClusters":{"fleet-member-b":"b"}}"#;
        let import = json!({
            "metadata": {
                "namespace": "demo", "name": "web",
                "annotations": { annotations::SERVICE_IN_USE_BY: in_use },
            },
            "status": {
                "ports": [{ "port": 80, "protocol": "TCP" }], "clusters": [{ "cluster": "a" }],
            },
        });
        assert_eq!(
            told(kinds::SERVICE_IMPORT, import),
            "the Service of the fleet: port 80/TCP, from a, imported by b"
        );
        let bare = json!({ "metadata": { "namespace": "demo", "name": "web" } });
        assert_eq!(told(kinds::SERVICE_IMPORT, bare), "the Service of the fleet: not resolved yet");
    }

    #[test]
    fn a_wish_carries_its_conditions_and_its_derived_service() {
        let wish = json!({
            "metadata": {
                "namespace": "demo", "name": "web",
                "labels": { labels::DERIVED_SERVICE: "demo-web" },
            },
            "spec": { "serviceImport": { "name": "web" } },
            "status": { "conditions": [{ "type": "Valid", "status": "True" }] },
        });
        assert_eq!(
            told(kinds::MULTI_CLUSTER_SERVICE, wish),
            "requested by the user: import Service web; bound to demo-web; Valid=True"
        );
    }

    #[test]
    fn a_deleted_object_says_who_holds_it() {
        let export = json!({ "metadata": {
            "namespace": "demo", "name": "web", "finalizers": ["a.example/clean"],
            "deletionTimestamp": "2026-01-01T00:00:00Z",
        } });
        assert_eq!(told(kinds::SERVICE_EXPORT, export), "being deleted; waits for finalizer clean");
    }

    #[test]
    fn only_ready_addresses_count_and_many_are_not_listed() {
        let slice = |endpoints: Value| {
            told(
                kinds::ENDPOINT_SLICE,
                json!({
                    "metadata": { "namespace": "fleet-system", "name": "x" },
                    "endpoints": endpoints,
                }),
            )
        };
        let ready = json!({ "addresses": ["10.0.0.2"] });
        let unready = json!({ "addresses": ["10.0.0.3"], "conditions": { "ready": false } });
        assert!(slice(json!([ready, unready])).ends_with("1 address (10.0.0.2)"));
        assert!(slice(json!([])).ends_with("no address"));
        assert!(slice(json!([ready, ready, ready, ready, ready])).ends_with("5 addresses"));
    }
}
