//! Planning is pure: it gives the same plan twice, and moves no metric.

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_model_server::{ModelServer, execute, plans_computed_twice, snapshot};
use prometheus::{Registry, TextEncoder};
use serde_json::{Value, json};

use crate::app::gauges;
use crate::member::MemberController;
use crate::service::ServiceController;
use crate::settings::Settings;
use crate::snapshot::HubSnapshot;
use crate::tests::observed;

fn in_member(member: &str, name: &str) -> ObjectName {
    ObjectName::new(format!("fleet-member-{member}"), name)
}

fn reference(member: &str, kind: &str, name: &str) -> Value {
    json!({
        "clusterId": member, "kind": kind, "namespace": "team", "name": name,
        "namespacedName": format!("team/{name}"), "resourceVersion": "1", "generation": 1,
        "uid": format!("{member}-{name}"),
    })
}

/// "a" and "b" send heartbeats, export "team/shop" with different ports, and import it. "b" is being deleted.
fn hub() -> ModelServer {
    let mut hub = ModelServer::new(ClusterId::Hub);
    let mut create = |kind: ResourceKind, name: ObjectName, object: Value| {
        hub.create(kind, &name, object).unwrap();
    };
    create(kinds::NAMESPACE, ObjectName::cluster("team"), json!({}));
    for (member, port) in [("a", 80), ("b", 81)] {
        let namespace = ObjectName::cluster(format!("fleet-member-{member}"));
        create(kinds::NAMESPACE, namespace, json!({}));
        let held = json!({ "metadata": { "finalizers": ["kubefleet/hold"] } });
        create(kinds::MEMBER_CLUSTER, ObjectName::cluster(member), held);
        let joins = json!({ "spec": { "state": "Join", "heartbeatPeriodSeconds": 60 } });
        create(kinds::INTERNAL_MEMBER_CLUSTER, in_member(member, member), joins);
        let export = json!({ "spec": {
            "ports": [{ "name": "web", "protocol": "TCP", "port": port }],
            "serviceReference": reference(member, "Service", "shop"),
        }});
        create(kinds::INTERNAL_SERVICE_EXPORT, in_member(member, "team-shop"), export);
        let request = reference(member, "ServiceImport", "shop");
        let request = json!({ "spec": { "serviceImportReference": request } });
        create(kinds::INTERNAL_SERVICE_IMPORT, in_member(member, "team-shop"), request);
        let slice = json!({ "spec": {
            "addressType": "IPv4", "endpoints": [{ "addresses": ["10.0.0.1"] }],
            "endpointSliceReference": reference(member, "EndpointSlice", "s"),
            "ownerServiceReference":
                { "namespace": "team", "name": "shop", "namespacedName": "team/shop" },
        }});
        create(kinds::ENDPOINT_SLICE_EXPORT, in_member(member, &format!("{member}-s")), slice);
    }
    // Its reference names another member.
    let lies = json!({ "spec": {
        "ports": [{ "name": "web", "protocol": "TCP", "port": 80 }],
        "serviceReference": reference("b", "Service", "lie"),
    }});
    create(kinds::INTERNAL_SERVICE_EXPORT, in_member("a", "team-lie"), lies);
    for member in ["a", "b"] {
        let joined = json!({ "type": "Joined", "status": "True", "reason": "x", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z" });
        let report = json!({ "type": "ServiceExportImportAgent", "conditions": [joined],
            "lastReceivedHeartbeat": "2026-01-01T00:00:00Z" });
        let set = |object: &mut Value| object["status"] = json!({ "agentStatus": [report] });
        hub.edit(kinds::INTERNAL_MEMBER_CLUSTER, &in_member(member, member), set).unwrap();
    }
    hub.delete(kinds::MEMBER_CLUSTER, &ObjectName::cluster("b")).unwrap();
    hub
}

#[test]
fn planning_twice_gives_equal_plans_and_moves_no_metric() {
    let mut hub = hub();
    let settings = Settings::default();
    let registry = Registry::new();
    let seen = observed(snapshot(&[&hub], None), |_| Some(hub.now()));
    for gauge in gauges(settings.clone())(&seen, hub.now()).unwrap() {
        registry.register(gauge).unwrap();
    }
    let series = || TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
    let before = series();
    assert!(before.contains("member=\"a\""), "{before}");

    let services = ServiceController { settings: settings.clone() };
    let members = MemberController { settings };
    // Each round plans what the one before has left, the last one long after the deletion of "b".
    let steps = [1, 1, 1, 3600].map(|seconds| {
        let (seen, now): (HubSnapshot, _) = (snapshot(&[&hub], None), hub.now());
        let of_services = plans_computed_twice(&services, &seen, now);
        let of_members = plans_computed_twice(&members, &seen, now);
        assert_eq!((of_services.len(), of_members.len()), (2, 2));
        let plans = [of_services, of_members].concat();
        for plan in &plans {
            execute(plan, &mut [&mut hub]);
        }
        hub.advance(seconds);
        plans.iter().map(|plan| plan.steps.len()).sum::<usize>()
    });
    assert!(steps.iter().all(|count| *count > 0), "{steps:?}");
    assert_eq!(series(), before);
}
