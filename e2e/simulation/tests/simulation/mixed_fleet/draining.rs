//! The original's types have no draining endpoints: what Go agents write lacks them, also where the hub serves them. No agent
//! restores them in turns for ever.

use fleet_api::{ObjectName, finalizers, kinds};
use fleet_model::hub_schema::HubSchema;
use fleet_model_server::{ModelServer, execute, snapshot};
use fleet_plan::{Controller, affected_keys};
use hub_agent::service::ServiceController;
use hub_agent::snapshot::HubSnapshot;
use serde_json::{Value, json};

use crate::mixed_fleet::go::{Agents, known};
use crate::mixed_fleet::member::{Member, slice};
use crate::mixed_fleet::shapes::desk;

/// A slice of desk that member "b" exports.
fn exported() -> ObjectName {
    ObjectName::new("fleet-member-b", "b-team-desk-y1")
}

/// Its copy for member "a".
fn copy() -> ObjectName {
    ObjectName::new("fleet-member-a", "b-team-desk-y1")
}

fn reference(kind: &str, name: &str) -> Value {
    json!({ "clusterId": "b", "kind": kind, "namespace": "team", "name": name,
        "namespacedName": format!("team/{name}"), "uid": format!("uid-of-{name}"),
        "resourceVersion": "77", "generation": 1, "exportedSince": "2025-12-31T23:00:00Z" })
}

/// An agent of ours in member "b" exports desk.
fn export_desk(hub: &mut ModelServer) {
    hub.create(kinds::NAMESPACE, &ObjectName::cluster("fleet-member-b"), json!({})).unwrap();
    let export = json!({
        "metadata": { "finalizers": [finalizers::INTERNAL_SERVICE_EXPORT] },
        "spec": { "serviceReference": reference("Service", "desk"),
            "ports": [{ "name": "web", "protocol": "TCP", "port": 80, "targetPort": 8080 }] },
    });
    let name = ObjectName::new("fleet-member-b", "team-desk");
    hub.create(kinds::INTERNAL_SERVICE_EXPORT, &name, export).unwrap();
    let slice = json!({
        "metadata": { "finalizers": [finalizers::ENDPOINT_SLICE_EXPORT] },
        "spec": {
            "addressType": "IPv4", "endpoints": [{ "addresses": ["10.2.0.1"] }],
            "ports": [{ "name": "web", "protocol": "TCP", "port": 8080 }],
            "endpointSliceReference": reference("EndpointSlice", "desk-y1"),
            "ownerServiceReference":
                { "namespace": "team", "name": "desk", "namespacedName": "team/desk" },
        },
    });
    hub.create(kinds::ENDPOINT_SLICE_EXPORT, &exported(), slice).unwrap();
}

/// Member "b" drains its endpoint and has another one, in generation 2 of its slice.
fn drain(slice: &mut Value) {
    slice["spec"]["endpoints"] = json!([{ "addresses": ["10.2.0.2"] }]);
    slice["spec"]["drainingEndpoints"] = json!([{ "addresses": ["10.2.0.1"] }]);
    slice["spec"]["endpointSliceReference"]["generation"] = json!(2);
}

/// Lets our hub agent work until it has nothing left to write.
fn settle_hub(hub: &mut ModelServer) -> usize {
    hub.take_writes();
    let controller = ServiceController::default();
    for _ in 0..20 {
        let schema = HubSchema::view(Some(HubSchema::OURS));
        let seen = HubSnapshot { schema, ..snapshot(&[&*hub], None) };
        let keys = affected_keys(&controller, &HubSnapshot::default(), &seen);
        let plans = keys.iter().map(|key| controller.plan(key, &seen, hub.now()));
        let plans: Vec<_> = plans.filter(|plan| !plan.steps.is_empty()).collect();
        if plans.is_empty() {
            return hub.take_writes().len();
        }
        for plan in plans {
            execute(&plan, &mut [&mut *hub]);
        }
    }
    panic!("no rest");
}

/// Go importers and our hub agent work in turns until none of them writes. Returns the number of their writes.
fn take_turns(member: &mut Member) -> usize {
    let mut count = 0;
    for _ in 0..20 {
        let writes = settle_hub(&mut member.hub) + Agents::of(member).settle().len();
        if writes == 0 {
            return count;
        }
        count += writes;
    }
    panic!("no rest after {count} writes");
}

/// Our hub agent restores the field once after a write of a Go importer, which is no reason for another one.
#[test]
fn a_go_importer_and_our_hub_agent_come_to_rest() {
    let mut member = Member::new();
    export_desk(&mut member.hub);
    let mcs = json!({ "spec": { "serviceImport": { "name": "desk" } } });
    member.own.create(kinds::MULTI_CLUSTER_SERVICE, &desk(), mcs).unwrap();
    take_turns(&mut member);
    assert!(member.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &copy()).is_some());

    member.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &exported(), drain).unwrap();
    // The copy; the imported slice, and the mark of what was measured, which drops the field; the field.
    assert_eq!(take_turns(&mut member), 4);
    let restored = member.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &copy()).unwrap();
    assert_eq!(restored["spec"]["drainingEndpoints"], json!([{ "addresses": ["10.2.0.1"] }]));
}

/// The original's hub agent copies slices to member "b", and adds its finalizer where it is missing. It writes what differs in
/// the fields that it knows.
fn settle_go_hub(hub: &mut ModelServer) -> usize {
    let mut writes = 0;
    for name in hub.names(kinds::ENDPOINT_SLICE_EXPORT) {
        let slice = known(hub.get(kinds::ENDPOINT_SLICE_EXPORT, &name).unwrap());
        let held = json!([finalizers::ENDPOINT_SLICE_EXPORT]);
        if slice["metadata"]["finalizers"] != held {
            let guard = |object: &mut Value| {
                *object = slice.clone();
                object["metadata"]["finalizers"] = held;
            };
            hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &name, guard).unwrap();
            writes += 1;
        }
        let copy = ObjectName::new("fleet-member-b", &*name.name);
        let kind = kinds::ENDPOINT_SLICE_IMPORT;
        match hub.get(kind, &copy).map(known) {
            None => hub.create(kind, &copy, json!({ "spec": slice["spec"] })).unwrap(),
            Some(present) if present["spec"] != slice["spec"] => {
                let put = |object: &mut Value| object["spec"] = slice["spec"].clone();
                hub.edit(kind, &copy, put).unwrap();
            }
            Some(_) => continue,
        }
        writes += 1;
    }
    writes
}

/// Our member agent restores the field once after a write of a Go hub agent, which is no reason for another one.
#[test]
fn a_go_hub_agent_and_our_member_agent_come_to_rest() {
    let mut member = Member::exporting();
    member.hub.create(kinds::NAMESPACE, &ObjectName::cluster("fleet-member-b"), json!({})).unwrap();
    member.schema = Some(HubSchema::OURS);
    let drain = |slice: &mut Value| {
        slice["endpoints"][0]["conditions"] =
            json!({ "ready": false, "serving": true, "terminating": true });
    };
    member.own.edit(kinds::ENDPOINT_SLICE, &slice(), drain).unwrap();
    for round in 0..3 {
        // The PUT of the finalizer drops the field.
        for name in member.hub.names(kinds::ENDPOINT_SLICE_EXPORT) {
            let bare = |slice: &mut Value| slice["metadata"]["finalizers"] = json!([]);
            member.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &name, bare).unwrap();
        }
        let mut counts = Vec::new();
        while counts.last() != Some(&0) {
            assert!(counts.len() < 20, "no rest: {counts:?}");
            counts.push(settle_go_hub(&mut member.hub) + member.settle().len());
        }
        let writes: usize = counts.iter().sum();
        assert!(writes <= 4, "round {round}: {counts:?}");
        let name = member.hub.names(kinds::ENDPOINT_SLICE_EXPORT).remove(0);
        let copy = member.hub.get(kinds::ENDPOINT_SLICE_EXPORT, &name).unwrap();
        assert_eq!(copy["spec"]["drainingEndpoints"], json!([{ "addresses": ["10.1.0.1"] }]));
    }
}
