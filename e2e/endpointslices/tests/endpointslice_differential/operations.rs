//! The parts around a reconcile: port hashes, trackers, pod events, overloaded Services.

use serde_json::{Value, json};

use crate::program::{ask_oracle, ask_ours};

/// Compares the answers to all requests, but for `ignored` fields.
fn same(requests: &[Value], ignored: &[&str]) {
    let (theirs, ours) = (ask_oracle(&[], requests), ask_ours(&[], requests));
    for ((request, theirs), ours) in requests.iter().zip(theirs).zip(ours) {
        let [theirs, ours] = [theirs, ours].map(|mut answer| {
            if let Some(result) = answer["result"].as_object_mut() {
                result.retain(|name, _| !ignored.contains(&name.as_str()));
            }
            answer["result"].take()
        });
        assert_eq!(theirs, ours, "{request}");
    }
}

/// The texts that are hashed are not answered by ours.
#[test]
fn ports_are_hashed_and_ordered_alike() {
    let port = |name: Value, protocol: Value, port: Value, app: Value| {
        let mut fields =
            json!({"name": name, "protocol": protocol, "port": port, "appProtocol": app});
        fields.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        fields
    };
    let ports = [
        port(json!(""), json!("TCP"), json!(8080), Value::Null),
        port(Value::Null, json!("TCP"), json!(8080), Value::Null),
        port(json!("http"), json!("TCP"), json!(8080), json!("kubernetes.io/h2c")),
        port(json!("tcp-example"), json!("TCP"), json!(80), Value::Null),
        port(json!("udp-example"), json!("UDP"), json!(161), Value::Null),
        port(json!("sctp-example"), json!("SCTP"), json!(3456), json!("")),
        port(json!("any"), Value::Null, Value::Null, Value::Null),
    ];
    let sets = (0..=ports.len()).flat_map(|from| [&ports[from..], &ports[..from]]);
    let requests: Vec<Value> =
        sets.map(|ports| json!({"id": "ports", "op": "portKey", "ports": ports})).collect();
    same(&requests, &["elementText", "listText"]);
}

/// Every sequence of three calls on one slice, each followed by all questions about it and others.
#[test]
fn trackers_answer_alike() {
    let slice = |namespace: &str, service: &str, uid: &str, generation: u64| json!({"namespace": namespace, "service": service, "uid": uid, "generation": generation});
    let own = slice("shop", "web", "a", 2);
    let others =
        [slice("shop", "web", "b", 2), slice("other", "web", "a", 2), slice("shop", "db", "a", 2)];
    let ages = [slice("shop", "web", "a", 1), slice("shop", "web", "a", 3)];
    let asked: Vec<&Value> = [&own].into_iter().chain(&others).chain(&ages).collect();
    let mut requests = Vec::new();
    let changes = ["update", "expectDeletion", "handleDeletion", "deleteService"];
    for first in changes {
        for second in changes {
            for (by, subject) in asked.iter().enumerate() {
                let mut calls = vec![json!({"do": "update", "slice": own})];
                calls.push(json!({"do": first, "slice": subject}));
                calls.push(json!({"do": second, "slice": asked[(by + 1) % asked.len()]}));
                for slice in &asked {
                    calls.extend(
                        ["has", "shouldSync"]
                            .map(|question| json!({"do": question, "slice": slice})),
                    );
                    calls.push(json!({"do": "stale", "slice": slice, "slices": [slice]}));
                    calls.push(json!({"do": "stale", "slice": slice, "slices": []}));
                }
                requests.push(json!({"id": "tracker", "op": "tracker", "calls": calls}));
            }
        }
    }
    same(&requests, &[]);
}

#[test]
fn trigger_times_are_alike() {
    let service = |created: &str| json!({"metadata": {"name": "web", "namespace": "shop", "creationTimestamp": created}});
    let pod = |name: &str, ready: &str| {
        json!({"metadata": {"name": name, "namespace": "shop"},
            "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": ready}]}})
    };
    let time = |second: usize| format!("2024-05-06T07:08:{second:02}Z");
    let (old, new) = (service(&time(0)), service(&time(50)));
    let steps = json!([
        {"service": old, "pods": [pod("a", &time(10))]},
        {"service": old, "pods": [pod("a", &time(10)), pod("b", &time(20)), pod("c", &time(15))]},
        {"service": old, "pods": [pod("a", &time(30)), pod("b", &time(25)), pod("c", &time(15))]},
        {"service": old, "pods": [pod("a", &time(30)), pod("b", &time(25)), pod("c", &time(15))]},
        {"service": old, "pods": [pod("a", &time(30))]},
        {"service": old, "pods": [pod("a", &time(30)), pod("b", &time(25))]},
        {"service": new, "pods": [pod("a", &time(30))]},
        {"service": new, "delete": true},
        {"service": new, "pods": [pod("a", &time(55))]},
    ]);
    same(&[json!({"id": "times", "op": "triggerTime", "steps": steps})], &[]);
}

/// Every pair of these pods, as an update; and each added and deleted.
#[test]
fn pod_events_lead_to_the_same_services() {
    let pod = |version: usize, labels: Value, ready: &str, ips: Value, deleted: bool| {
        let mut pod = json!({
            "metadata": {"name": "a", "namespace": "shop", "labels": labels, "resourceVersion": version.to_string()},
            "spec": {"nodeName": "node-1"},
            "status": {"podIPs": ips, "conditions": [{"type": "Ready", "status": ready}]},
        });
        if deleted {
            pod["metadata"]["deletionTimestamp"] = json!("2024-05-06T07:08:09Z");
        }
        pod
    };
    let (one, two) = (json!([{"ip": "10.0.0.1"}]), json!([{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]));
    let pods = [
        pod(1, json!({"app": "web"}), "True", one.clone(), false),
        pod(2, json!({"app": "web"}), "True", one.clone(), false),
        pod(3, json!({"app": "db"}), "True", one.clone(), false),
        pod(4, json!({"app": "web", "tier": "front"}), "True", one.clone(), false),
        pod(5, json!({"app": "web"}), "False", one.clone(), false),
        pod(6, json!({"app": "db"}), "False", two, false),
        pod(7, json!({"app": "web"}), "True", json!([{"ip": "10.0.0.2"}]), false),
        pod(8, json!({"app": "web"}), "True", one, true),
        pod(9, json!({}), "True", json!([]), false),
    ];
    let service = |namespace: &str, name: &str, selector: Value| json!({"metadata": {"name": name, "namespace": namespace}, "spec": {"selector": selector}});
    let services = json!([
        service("shop", "web", json!({"app": "web"})),
        service("shop", "db", json!({"app": "db"})),
        service("shop", "front", json!({"app": "web", "tier": "front"})),
        service("shop", "manual", Value::Null),
        service("other", "web", json!({"app": "web"})),
    ]);
    let event = |old: Option<&Value>, new: Option<&Value>| json!({"id": "event", "op": "podEvent", "old": old, "new": new, "services": services});
    let mut requests = Vec::new();
    for (at, old) in pods.iter().enumerate() {
        requests.push(event(None, Some(old)));
        requests.push(event(Some(old), None));
        // Two versions that are both being deleted always differ to the original, which compares pointers.
        let others = pods.iter().enumerate().filter(|(other, _)| *other != at);
        requests.extend(others.map(|(_, new)| event(Some(old), Some(new))));
    }
    same(&requests, &["labelsChanged", "podChanged"]);
}

#[test]
fn the_same_services_are_overloaded() {
    let node = |name: &str, zone: &str, cpu: &str| {
        json!({"metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone}},
            "status": {"allocatable": {"cpu": cpu}, "conditions": [{"type": "Ready", "status": "True"}]}})
    };
    let clusters = [
        json!([]),
        json!([node("a", "a", "1")]),
        json!([node("a", "a", "100m"), node("b", "b", "1"), node("c", "c", "2")]),
        json!([node("a", "a", "1500m"), node("b", "b", "1.5")]),
        json!([node("a", "a", "2"), node("b", "b", "0"), node("c", "c", "2")]),
        json!([node("a", "a", "2"), node("b", "", "1"), node("c", "c", "2")]),
        json!([
            node("a", "a", "0.1"),
            node("b", "b", "1e3"),
            node("c", "c", "2Ki"),
            node("d", "c", "5k")
        ]),
    ];
    let counts = [
        json!({}),
        json!({"a": 5, "b": 4}),
        json!({"a": 6, "b": 4}),
        json!({"a": 1, "b": 2, "c": 3}),
        json!({"a": 20, "b": 10, "c": 1}),
        json!({"a": 1, "b": 100, "c": 300}),
    ];
    let hints: serde_json::Map<String, Value> = counts
        .iter()
        .enumerate()
        .map(|(at, counts)| (format!("shop/{at}"), json!({"IPv4": counts})))
        .collect();
    let requests: Vec<Value> = clusters
        .iter()
        .map(|nodes| json!({"id": "nodes", "op": "overloaded", "nodes": nodes, "hints": hints}))
        .collect();
    same(&requests, &[]);
}
