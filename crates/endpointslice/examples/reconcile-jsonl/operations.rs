//! Operations other than a reconcile.

use std::collections::BTreeMap;

use fleet_endpointslice::pods::{affected_services, change_of};
use fleet_endpointslice::{
    Deletion, PortKey, ServiceHints, TopologyCache, Tracker, TriggerTimes, trigger_time_annotation,
};
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use k8s_openapi::api::discovery::v1::{EndpointPort, EndpointSlice};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::Answer;
use crate::scenario::address_type;

/// The hash of a list of ports, and the order it is written in.
pub(crate) fn port_key(request: &Value) -> Answer {
    let ports: Vec<EndpointPort> = field(request, "ports")?;
    let ordered = PortKey::order(ports);
    Ok(json!({"key": PortKey::hash(&ordered), "ordered": ordered}))
}

/// Replays calls on one tracker.
pub(crate) fn tracker(request: &Value) -> Answer {
    #[derive(Deserialize)]
    struct Call {
        r#do: String,
        #[serde(default)]
        slice: Value,
        #[serde(default)]
        slices: Option<Vec<Value>>,
    }
    let mut tracker = Tracker::default();
    let mut answers = Vec::new();
    for call in field::<Vec<Call>>(request, "calls")? {
        let slice = slice(&call.slice)?;
        let (namespace, name) = (text(&call.slice, "namespace"), text(&call.slice, "service"));
        answers.push(match call.r#do.as_str() {
            "update" => {
                tracker.update(&slice);
                Value::Null
            }
            "expectDeletion" => {
                tracker.expect_deletion(&slice);
                Value::Null
            }
            "deleteService" => {
                tracker.delete_service(namespace, name);
                Value::Null
            }
            "handleDeletion" => json!(tracker.handle_deletion(&slice) == Deletion::Expected),
            "has" => json!(tracker.has(&slice)),
            "shouldSync" => json!(tracker.should_sync(&slice)),
            "stale" => {
                let given = call.slices.unwrap_or_default();
                let given: Vec<EndpointSlice> =
                    given.iter().map(self::slice).collect::<Result<_, _>>()?;
                let service = serde_json::from_value(
                    json!({"metadata": {"namespace": namespace, "name": name}}),
                )?;
                json!(tracker.is_stale(&service, &given.iter().collect::<Vec<_>>()))
            }
            unknown => return Err(format!("unknown tracker call {unknown}").into()),
        });
    }
    Ok(answers.into())
}

/// Replays successful syncs of one Service.
pub(crate) fn trigger_time(request: &Value) -> Answer {
    #[derive(Deserialize)]
    struct Step {
        service: Service,
        #[serde(default)]
        pods: Vec<Pod>,
        #[serde(default)]
        delete: bool,
    }
    let mut times = TriggerTimes::default();
    let mut answers = Vec::new();
    for step in field::<Vec<Step>>(request, "steps")? {
        let meta = &step.service.metadata;
        if step.delete {
            let part = |part: &Option<String>| part.clone().unwrap_or_default();
            times.delete_service(&part(&meta.namespace), &part(&meta.name));
            answers.push(Value::Null);
            continue;
        }
        let (time, seen) = times.look(&step.service, &step.pods);
        times.remember(&step.service, seen);
        answers.push(time.map_or(Value::Null, |time| trigger_time_annotation(time).into()));
    }
    Ok(answers.into())
}

/// The Services that a change of a pod affects.
pub(crate) fn pod_event(request: &Value) -> Answer {
    let (old, new): (Option<Pod>, Option<Pod>) = (field(request, "old")?, field(request, "new")?);
    let services: Vec<Service> = field(request, "services")?;
    let change = match (&old, &new) {
        (Some(old), Some(new)) => Some(change_of(old, new)),
        _ => None,
    };
    if change == Some(fleet_endpointslice::pods::PodChange::default()) {
        return Ok(json!({"ignored": true, "services": []}));
    }
    let affected = affected_services(old.as_ref(), new.as_ref(), &services);
    let mut keys: Vec<String> = affected
        .iter()
        .map(|service| {
            let part = |part: &Option<String>| part.clone().unwrap_or_default();
            format!("{}/{}", part(&service.metadata.namespace), part(&service.metadata.name))
        })
        .collect();
    keys.sort();
    let change = change.unwrap_or_default();
    Ok(json!({
        "ignored": false, "services": keys,
        "labelsChanged": change.membership, "podChanged": change.endpoint,
    }))
}

/// The Services that are reconciled after a change of nodes.
pub(crate) fn overloaded(request: &Value) -> Answer {
    let nodes: Vec<Node> = field(request, "nodes")?;
    let hints: BTreeMap<String, BTreeMap<String, BTreeMap<String, usize>>> =
        field(request, "hints")?;
    let mut topology = TopologyCache::default();
    topology.set_nodes(&nodes);
    for (service, types) in hints {
        let mut known = ServiceHints::default();
        for (text, counts) in types {
            known.extend(address_type(&text).map(|known| (known, counts)));
        }
        topology.set_hints(&service, known);
    }
    Ok(topology.overloaded().collect::<Vec<_>>().into())
}

/// A field of the request; null where it is absent.
fn field<T: DeserializeOwned>(request: &Value, name: &str) -> Result<T, serde_json::Error> {
    match &request[name] {
        Value::Null => {
            serde_json::from_value(Value::Null).or_else(|_| serde_json::from_value(json!([])))
        }
        value => serde_json::from_value(value.clone()),
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn slice(reference: &Value) -> Result<EndpointSlice, serde_json::Error> {
    serde_json::from_value(json!({
        "addressType": "IPv4",
        "endpoints": [],
        "metadata": {
            "namespace": text(reference, "namespace"),
            "uid": text(reference, "uid"),
            "generation": reference["generation"].as_i64().unwrap_or_default(),
            "labels": {"kubernetes.io/service-name": text(reference, "service")},
        },
    }))
}
