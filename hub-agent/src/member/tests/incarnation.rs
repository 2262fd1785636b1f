//! The hub's name in the ClusterReports of members.

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, kinds};
use fleet_model_server::{ModelServer, execute, snapshot};
use fleet_plan::{Controller, affected_keys};
use serde_json::{Value, json};

use crate::member::{Member, MemberController};
use crate::snapshot::HubSnapshot;

fn report(name: &str) -> ObjectName {
    ObjectName::new("fleet-member-b", name)
}

fn hub() -> ModelServer {
    let mut hub = ModelServer::new(ClusterId::Hub);
    hub.create(kinds::NAMESPACE, &ObjectName::cluster("kube-system"), json!({})).unwrap();
    let spec = json!({ "spec": { "clusterUid": "uid" } });
    hub.create(kinds::CLUSTER_REPORT, &report("b"), spec).unwrap();
    hub
}

/// Plans what a first look at the hub affects, and writes it.
fn act(hub: &mut ModelServer) -> usize {
    let controller = MemberController::default();
    let seen: HubSnapshot = snapshot(&[&*hub], None);
    let keys = affected_keys(&controller, &HubSnapshot::default(), &seen);
    for key in &keys {
        execute(&controller.plan(key, &seen, hub.now()), &mut [&mut *hub]);
    }
    hub.take_writes().len()
}

#[test]
fn a_member_reads_which_hub_it_talks_to() {
    let mut hub = hub();
    hub.take_writes();
    assert_eq!(act(&mut hub), 1);
    let system = ObjectName::cluster("kube-system");
    let uid = hub.get(kinds::NAMESPACE, &system).unwrap()["metadata"]["uid"].as_str().unwrap();
    let expected = json!({ "incarnation": format!("{uid}/0") });
    assert_eq!(hub.get(kinds::CLUSTER_REPORT, &report("b")).unwrap()["status"], expected);
    assert_eq!(act(&mut hub), 0);
}

/// A restored report may name an earlier hub.
#[test]
fn another_name_is_replaced() {
    let mut hub = hub();
    let other = |object: &mut Value| object["status"] = json!({ "incarnation": "other/0" });
    hub.edit(kinds::CLUSTER_REPORT, &report("b"), other).unwrap();
    hub.take_writes();
    assert_eq!(act(&mut hub), 1);
}

/// A member has one report, of its own name, and the hub one name.
#[test]
fn nothing_is_written_where_either_is_missing() {
    let mut hub = hub();
    hub.delete(kinds::CLUSTER_REPORT, &report("b")).unwrap();
    let spec = json!({ "spec": { "clusterUid": "uid" } });
    hub.create(kinds::CLUSTER_REPORT, &report("c"), spec.clone()).unwrap();
    hub.take_writes();
    assert_eq!(act(&mut hub), 0);
    hub.create(kinds::CLUSTER_REPORT, &report("b"), spec).unwrap();
    hub.delete(kinds::NAMESPACE, &ObjectName::cluster("kube-system")).unwrap();
    let seen: HubSnapshot = snapshot(&[&hub], None);
    let plan = MemberController::default().plan(&Member("b".into()), &seen, hub.now());
    assert!(plan.is_empty());
}
