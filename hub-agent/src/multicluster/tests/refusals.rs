//! Exports that do not count: why, and the report of it.

use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{ObjectName, kinds};
use fleet_plan::affected_keys;
use serde_json::{Value, json};

use super::world::{World, export, export_of, in_member, of_web};
use crate::multicluster::MulticlusterController;

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
        (Some("PortsInvalid"), json!([port("a", 1), port("Not a name", 2)])),
        (Some("PortsInvalid"), json!([{ "name": "a", "port": 1, "protocol": "TLS" }])),
        (Some("PortsInvalid"), json!([{ "name": "a", "port": 1, "appProtocol": "a b" }])),
        (Some("PortsInvalid"), json!([port("a", 65_536)])),
        (Some("LimitExceeded"), (0..101).map(|at| port(&at.to_string(), at + 1)).collect()),
    ] {
        assert_eq!(refused(|spec| spec["ports"] = ports).as_deref(), reason);
    }
    let notes: serde_json::Map<_, _> =
        (0..5).map(|at| (at.to_string(), json!("x".repeat(2000)))).collect();
    let large = refused(|spec| spec["annotations"] = Value::Object(notes));
    assert_eq!(large.as_deref(), Some("LimitExceeded"));
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
    assert_eq!(world.writes(), ["patch_status ExportedService", "update ResolvedService"]);
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

/// What is in force stays, the oldest of the others come into force, and no other member waits for that.
#[test]
fn a_member_exports_so_many_services() {
    let mut world = World::new();
    world.settings.max_services_per_member = 2;
    let add = |world: &mut World, member: &str, name: &str| {
        world.hub.advance(1);
        let place = in_member(member, name);
        let object = export_of("shop", name, member, 80);
        world.hub.create(kinds::EXPORTED_SERVICE, &place, object).unwrap();
        world.settle();
    };
    for name in ["z", "y", "x", "w"] {
        add(&mut world, "a", name);
    }
    add(&mut world, "b", "x");
    assert_eq!(in_force(&world), ["x b", "y a", "z a"]);
    let refused = world.hub.get(kinds::EXPORTED_SERVICE, &in_member("a", "x")).unwrap();
    let ready = &refused["status"]["conditions"][0];
    assert_eq!(ready["reason"], "LimitExceeded");
    let message = ready["message"].as_str().unwrap();
    assert!(message.contains("--max-services-per-member=2"), "{message}");
    let counted = crate::multicluster::refused(&world.settings, &world.snapshot());
    assert_eq!(counted, [("a".to_owned(), kinds::EXPORTED_SERVICE, 2)]);

    let before = world.snapshot();
    world.hub.delete(kinds::EXPORTED_SERVICE, &in_member("a", "z")).unwrap();
    let controller = MulticlusterController { settings: world.settings.clone() };
    let keys = affected_keys(&controller, &before, &world.snapshot());
    let keys: Vec<_> = keys.iter().map(ToString::to_string).collect();
    assert_eq!(keys, ["shop/x", "shop/z"], "the others are not planned again");
    world.settle();
    assert_eq!(in_force(&world), ["x a", "x b", "y a"]);

    world.settings.max_services_per_member = 1;
    world.settle();
    assert_eq!(in_force(&world), ["x a", "x b", "y a"], "what is in force stays");
}

/// Services and their exporters.
fn in_force(world: &World) -> Vec<String> {
    let mut found = Vec::new();
    for resolved in world.snapshot().resolved_services.iter() {
        let name = &resolved.service.name;
        found.extend(resolved.exporters.iter().map(|it| format!("{name} {}", it.cluster)));
    }
    found.sort();
    found
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
    world.report("a", "a-cluster");
    world.settle();
    assert_eq!((world.exporters(), world.refusal("a")), (vec!["a"], None));
}

/// The record of another name in the member's namespace proves nothing about the member.
#[test]
fn only_the_record_of_the_members_own_name_counts() {
    let mut world = World::new();
    world.hub.delete(kinds::CLUSTER_REPORT, &in_member("a", "a")).unwrap();
    let spec = json!({ "spec": { "clusterUid": "a-cluster" } });
    world.hub.create(kinds::CLUSTER_REPORT, &in_member("a", "b"), spec).unwrap();
    world.export("a", 80);
    world.settle();
    assert_eq!(world.resolved(), None);
}

/// An accident must not take endpoints away.
#[test]
fn a_missing_report_keeps_what_is_in_force() {
    let mut world = World::exported();
    world.hub.delete(kinds::CLUSTER_REPORT, &in_member("a", "a")).unwrap();
    world.settle();
    assert_eq!(world.writes(), [""; 0]);
    assert_eq!((world.exporters(), world.refusal("a")), (vec!["a"], None));
}

/// A member that states the uid of another one's cluster hides nothing of that one, whichever of them came first, and even if the
/// other's record was lost for a while.
#[test]
fn a_forged_uid_hides_no_export() {
    let mut world = World::exported();
    world.hub.delete(kinds::CLUSTER_REPORT, &in_member("a", "a")).unwrap();
    world.hub.delete(kinds::CLUSTER_REPORT, &in_member("b", "b")).unwrap();
    world.report("b", "a-cluster");
    world.settle();
    assert_eq!(world.exporters(), ["a"]);
    world.report("a", "a-cluster");
    world.export("c", 80);
    world.settle();
    assert_eq!((world.exporters(), world.refusal("a")), (vec!["a", "c"], None));
    // Nor does it keep one from coming into force.
    world.unexport("a");
    world.settle();
    world.export("a", 80);
    world.settle();
    assert_eq!((world.exporters(), world.refusal("a")), (vec!["a", "c"], None));
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
