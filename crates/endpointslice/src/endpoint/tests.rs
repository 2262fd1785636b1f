use k8s_openapi::api::discovery::v1::Endpoint;
use serde_json::{Value, json};

use super::{Desired, Target};
use crate::tests::fixture::object;

fn desired() -> Desired<'static> {
    Desired {
        addresses: vec!["10.0.0.1".into()],
        ready: true,
        serving: true,
        terminating: false,
        hostname: None,
        node_name: Some("node-1"),
        zone: Some("zone-1"),
        target: Target { kind: "Pod", namespace: "test", name: "pod0", uid: "uid" },
    }
}

fn changed(path: &str, value: Value) -> Endpoint {
    let mut endpoint = serde_json::to_value(desired().build()).unwrap();
    let (parent, key) = path.rsplit_once('/').unwrap();
    endpoint.pointer_mut(parent).unwrap()[key] = value;
    object(endpoint)
}

/// EPS-79: what makes an endpoint of the same identity another.
#[test]
fn an_endpoint_differs_beyond_its_identity() {
    assert!(!desired().differs_from(&desired().build()));
    for (path, value, differs) in [
        ("/nodeName", json!("node-2"), true),
        ("/zone", json!("zone-2"), true),
        ("/zone", json!(null), true),
        ("/conditions/ready", json!(false), true),
        ("/conditions/serving", json!(null), true),
        ("/conditions/serving", json!(false), true),
        ("/conditions/terminating", json!(true), true),
        ("/targetRef/name", json!("pod1"), true),
        ("/targetRef/uid", json!("other"), true),
        ("/targetRef/resourceVersion", json!("7"), false),
        ("/hints", json!({"forZones": [{"name": "zone-2"}]}), false),
    ] {
        assert_eq!(desired().differs_from(&changed(path, value)), differs, "{path}");
    }
}

/// Addresses in any order, hostname and target make the identity.
#[test]
fn identity_is_addresses_hostname_and_target() {
    let two = Desired { addresses: vec!["10.0.0.1".into(), "10.0.0.2".into()], ..desired() };
    for (path, value, same) in [
        ("/addresses", json!(["10.0.0.2", "10.0.0.1"]), true),
        ("/addresses", json!(["10.0.0.1"]), false),
        ("/nodeName", json!("node-2"), false),
    ] {
        assert_eq!(two.is(&changed(path, value)), same, "{path}");
    }
    for (path, value, same) in [
        ("/hostname", json!(""), true),
        ("/hostname", json!("one"), false),
        ("/targetRef/namespace", json!("other"), false),
        ("/targetRef/name", json!("other"), false),
        ("/targetRef/uid", json!("other"), true),
    ] {
        assert_eq!(desired().is(&changed(path, value)), same, "{path}");
    }
}
