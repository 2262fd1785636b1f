//! `--denied-namespaces`: nothing new is exported or imported there, and what is in force stays.

use fleet_api::kinds;
use fleet_model::denied_namespaces::DeniedNamespaces;

use super::world::{World, of_shop, port};
use crate::service::Key;

fn deny(world: &mut World) {
    let denied: DeniedNamespaces = "tea*".parse().unwrap();
    world.controller.settings.denied_namespaces = denied;
}

fn is_denied(world: &World, member: &str) -> bool {
    world.condition(member, "Valid").is_some_and(|valid| {
        let message = valid["message"].as_str().unwrap();
        valid["status"] == "False"
            && valid["reason"] == "NamespaceDenied"
            && message.contains("team")
    })
}

#[test]
fn a_new_export_is_rejected_and_released() {
    let mut world = World::new();
    deny(&mut world);
    world.export("a", 80);
    world.request("b");
    world.settle_all();
    assert!(is_denied(&world, "a") && world.import().is_none() && world.granted().is_empty());
    assert_eq!(world.condition("a", "Conflict"), None);
    let plan = world.plan_of(&Key::Service(super::world::shop()));
    assert!(plan.steps.is_empty(), "reported once: {plan:#?}");
    let events: Vec<_> = plan.events.iter().map(|event| (event.reason, event.kind.kind)).collect();
    let kinds = ["InternalServiceExport", "InternalServiceImport"];
    assert_eq!(events, kinds.map(|kind| ("NamespaceDenied", kind)));

    world.delete_export("a");
    world.delete_request("b");
    world.settle_all();
    assert!(!world.exists(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("a")));
    assert!(!world.exists(kinds::INTERNAL_SERVICE_IMPORT, &of_shop("b")));
}

#[test]
fn what_is_in_force_stays_and_changes_without_the_new() {
    let mut world = World::shared();
    deny(&mut world);
    world.settle_all();
    assert!(world.plan().steps.is_empty() && world.plan().events.is_empty(), "nothing is written");
    world.export("c", 80);
    world.request("d");
    world.slice("a", "s2", "10.1.0.2");
    world.settle_all();
    assert!(is_denied(&world, "c"));
    assert_eq!((world.clusters(), world.granted()), (vec!["a"], vec!["b".to_owned()]));
    assert_eq!(world.copies(), ["fleet-member-b/a-s1", "fleet-member-b/a-s2"]);
    world.set_ports("a", port(81));
    world.settle_all();
    assert_eq!((world.clusters(), world.conflict("a")), (vec!["a"], "False"));

    world.delete_export("a");
    world.settle_all();
    assert!(world.import().is_none() && is_denied(&world, "c"), "the next is not the old one");
}

#[test]
fn an_export_is_accepted_once_its_namespace_is() {
    let mut world = World::new();
    deny(&mut world);
    world.export("a", 80);
    world.settle_all();
    world.controller.settings.denied_namespaces = DeniedNamespaces::default();
    world.settle_all();
    assert_eq!((world.clusters(), world.conflict("a")), (vec!["a"], "False"));
    assert_eq!(world.condition("a", "Valid"), None);
}
