//! Exports that do not count: why, and the report of it.

use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{ObjectName, kinds};
use serde_json::{Value, json};

use super::world::{World, export, export_of, in_member, of_web};

/// Exports the Service of "a" after a change; returns the reason of its refusal.
fn refused(change: impl FnOnce(&mut Value)) -> Option<String> {
    let mut world = World::new();
    let mut object = export("a", 80);
    change(&mut object["spec"]);
    world.hub.create(kinds::EXPORTED_SERVICE, &of_web("a"), object).unwrap();
    world.settle();
    assert_eq!(world.writes().len(), 1);
    let refusal = world.refusal("a").map(ToOwned::to_owned);
    assert_eq!(world.resolved().is_some(), refusal.is_none());
    refusal
}

#[test]
fn an_export_that_is_wrong_in_itself_is_refused() {
    let port = |name: &str, number: i32| json!({ "name": name, "port": number });
    for (reason, ports) in [
        (None, json!([port("a", 1), port("b", 2)])),
        (Some("PortsNotUnique"), json!([port("a", 1), port("a", 2)])),
        (Some("PortsNotUnique"), json!([port("a", 1), port("b", 1)])),
        (Some("LimitExceeded"), (0..101).map(|at| port(&at.to_string(), at + 1)).collect()),
    ] {
        assert_eq!(refused(|spec| spec["ports"] = ports).as_deref(), reason);
    }
    let invalid = Some("Invalid".to_owned());
    assert_eq!(refused(|spec| spec["service"]["name"] = json!("Not a name")), invalid);
    assert_eq!(refused(|spec| spec["type"] = json!("Sideways")), invalid);
}

/// Keys that API servers refuse, or that are reserved, are left out; the rest is exported.
#[test]
fn wrong_labels_are_no_reason() {
    let labels = json!({ "team": "a", "kubernetes.io/service-name": "b", "a b": "c" });
    let mut world = World::new();
    let mut object = export("a", 80);
    object["spec"]["labels"] = labels;
    world.hub.create(kinds::EXPORTED_SERVICE, &of_web("a"), object).unwrap();
    world.settle();
    assert_eq!(world.resolved().unwrap()["spec"]["labels"], json!({ "team": "a" }));
}

#[test]
fn a_corrected_export_counts_and_is_no_longer_called_wrong() {
    let mut world = World::exported();
    let ports = |ports: Value| move |export: &mut Value| export["spec"]["ports"] = ports;
    let twice = json!([{ "name": "a", "port": 1 }, { "name": "a", "port": 2 }]);
    world.edit(kinds::EXPORTED_SERVICE, &of_web("a"), ports(twice));
    world.settle();
    assert_eq!((world.refusal("a"), world.exporters()), (Some("PortsNotUnique"), vec![]));
    world.writes();
    world.edit(kinds::EXPORTED_SERVICE, &of_web("a"), ports(json!([{ "port": 1 }])));
    world.settle();
    assert_eq!(world.writes(), ["update ResolvedService", "patch_status ExportedService"]);
    assert_eq!((world.refusal("a"), world.exporters()), (None, vec!["a"]));
}

/// What is in force stays when its namespace is denied; what is new is refused.
#[test]
fn denied_namespaces_get_nothing_new() {
    let mut world = World::exported();
    world.settings.denied_namespaces = "shop".parse().unwrap();
    world.export("b", 80);
    world.settle();
    assert_eq!(world.exporters(), ["a"]);
    assert_eq!((world.refusal("a"), world.refusal("b")), (None, Some("NamespaceDenied")));
}

/// A Service that its member policy does not list is withdrawn; a policy that is gone withdraws nothing.
#[test]
fn the_member_policy_decides_while_it_can_be_read() {
    let mut world = World::exported();
    let policy = in_member("a", "member-policy");
    let lists = |exports: &str| json!({ "data": { "exports": exports, "imports": "*" } });
    world.hub.create(kinds::CONFIG_MAP, &policy, lists("other/*")).unwrap();
    world.settle();
    assert_eq!((world.exporters(), world.refusal("a")), (vec![], Some("PolicyDenied")));
    world.edit(kinds::CONFIG_MAP, &policy, |object| object["data"] = json!({ "exports": "?!" }));
    world.settle();
    assert_eq!((world.exporters(), world.refusal("a")), (vec!["a"], None));
    world.edit(kinds::CONFIG_MAP, &policy, |object| object["data"] = lists("")["data"].clone());
    world.settings.enforce_member_policies = false;
    world.settle();
    assert_eq!(world.exporters(), ["a"]);
}

#[test]
fn a_member_exports_a_service_once() {
    let mut world = World::exported();
    world.hub.advance(1);
    let again = in_member("a", "again");
    world.hub.create(kinds::EXPORTED_SERVICE, &again, export("a", 81)).unwrap();
    world.settle();
    assert_eq!(world.writes(), ["patch_status ExportedService"]);
    let second = world.hub.get(kinds::EXPORTED_SERVICE, &again).unwrap();
    assert_eq!(second["status"]["conditions"][0]["reason"], "Duplicate");
    world.unexport("a");
    world.settle();
    assert_eq!(world.resolved().unwrap()["spec"]["ports"][0]["port"], 81);
}

/// The namespace proves the member, never the text.
#[test]
fn an_export_outside_of_the_members_namespaces_counts_for_nobody() {
    let mut world = World::new();
    let place = ObjectName::new(SYSTEM_NAMESPACE, "shop-web");
    world.hub.create(kinds::EXPORTED_SERVICE, &place, export("a", 80)).unwrap();
    world.settle();
    assert_eq!(world.resolved(), None);
}

#[test]
fn nobody_exports_before_the_hub_has_accepted_the_cluster() {
    let mut world = World::new();
    world.hub.delete(kinds::CLUSTER_REPORT, &in_member("a", "a")).unwrap();
    world.export("a", 80);
    world.settle();
    assert_eq!((world.resolved(), world.refusal("a")), (None, None));
    // Another name for the cluster of "b", which came first.
    let twin = json!({ "spec": { "clusterUid": "b-cluster" } });
    world.hub.advance(1);
    world.hub.create(kinds::CLUSTER_REPORT, &in_member("a", "a"), twin).unwrap();
    world.settle();
    assert_eq!((world.resolved(), world.refusal("a")), (None, Some("ClusterNotAccepted")));
    world.hub.delete(kinds::CLUSTER_REPORT, &in_member("b", "b")).unwrap();
    world.settle();
    assert_eq!((world.exporters(), world.refusal("a")), (vec!["a"], None));
}

/// An accident must not take endpoints away; a refusal does.
#[test]
fn a_missing_report_keeps_what_is_in_force() {
    let mut world = World::exported();
    world.hub.delete(kinds::CLUSTER_REPORT, &in_member("a", "a")).unwrap();
    world.settle();
    assert_eq!(world.writes(), [""; 0]);
    let twin = json!({ "spec": { "clusterUid": "b-cluster" } });
    world.hub.advance(1);
    world.hub.create(kinds::CLUSTER_REPORT, &in_member("a", "a"), twin).unwrap();
    world.settle();
    assert_eq!((world.exporters(), world.refusal("a")), (vec![], Some("ClusterNotAccepted")));
}

/// A member cannot move an object of another Service by naming it.
#[test]
fn an_export_decides_about_its_own_service_alone() {
    let mut world = World::exported();
    let other = export_of("shop", "other", "b", 80);
    world.hub.create(kinds::EXPORTED_SERVICE, &of_web("b"), other).unwrap();
    world.settle();
    assert_eq!(world.exporters(), ["a"]);
    assert_eq!(world.hub.names(kinds::RESOLVED_SERVICE).len(), 2);
}
