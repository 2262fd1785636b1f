//! The decided differences that random scenarios do not show, one scenario each.

use serde_json::{Value, json};

use crate::program::{ask_oracle, ask_ours};

/// A Service with two pods on a known node.
fn scenario() -> Value {
    let pod = |n: usize| {
        json!({
            "metadata": {"name": format!("pod-{n}"), "namespace": "shop", "uid": format!("pod-{n}")},
            "spec": {"nodeName": "node-1", "containers": [{"name": "main"}]},
            "status": {"phase": "Running", "podIP": format!("10.1.0.{n}"), "podIPs": [{"ip": format!("10.1.0.{n}")}],
                "conditions": [{"type": "Ready", "status": "True"}]},
        })
    };
    json!({
        "id": "decided",
        "config": {"runs": 1, "metrics": true},
        "service": {"metadata": {"name": "web", "namespace": "shop", "uid": "service"},
            "spec": {"clusterIP": "10.96.0.10", "ipFamilies": ["IPv4"],
                "ports": [{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}]}},
        "nodes": [{"metadata": {"name": "node-1"}}],
        "pods": [pod(1), pod(2)],
        "slices": [],
    })
}

/// The outcomes of the original and of ours.
fn outcomes(scenario: &Value) -> [Value; 2] {
    let scenario = std::slice::from_ref(scenario);
    [ask_oracle(&[], scenario), ask_ours(&[], scenario)]
        .map(|answers| answers[0]["result"]["outcomes"][0].clone())
}

/// A text that is no address becomes an address of its own in the original, and the API server refuses the slice.
#[test]
fn what_is_no_address_is_left_out() {
    let mut scenario = scenario();
    scenario["pods"][1]["status"]["podIPs"] = json!([{"ip": "nonsense"}]);
    let sizes = outcomes(&scenario).map(|outcome| outcome["packing"][0]["sizes"].clone());
    assert_eq!(sizes, [json!([2]), json!([1])]);
}

/// In the original the gauges hold the address type looked at last.
#[test]
fn gauges_add_both_address_types() {
    let mut scenario = scenario();
    scenario["service"]["spec"]["ipFamilies"] = json!(["IPv4", "IPv6"]);
    let [theirs, ours] = outcomes(&scenario).map(|outcome| outcome["metrics"]["slices"].clone());
    assert_eq!((theirs, ours), (json!(1), json!(2)));
}

/// To the original, a slice that is gone already is a failed delete.
#[test]
fn deleting_what_is_gone_succeeds() {
    let mut scenario = scenario();
    scenario["slices"] = json!([{"metadata": {"name": "web-old", "labels": {
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}},
        "addressType": "IPv4", "endpoints": [], "ports": []}]);
    scenario["config"]["faults"] = json!([{"verb": "delete", "nth": 1, "error": "NotFound"}]);
    let errors = outcomes(&scenario).map(|outcome| outcome["errors"].clone());
    assert_eq!(errors, [json!([{"kind": "delete", "subject": "web-old"}]), Value::Null]);
}
