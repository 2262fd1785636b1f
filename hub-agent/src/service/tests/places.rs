//! `--max-services-per-member`: what is in force stays, and the oldest of the others get the rest.

use std::collections::BTreeSet;

use fleet_api::{ObjectName, finalizers, kinds};
use fleet_plan::affected_keys;
use serde_json::{Value, json};

use super::world::{World, in_member, port, reference};
use crate::service::{Key, limit_named_in, refused};
use crate::snapshot::HubSnapshot;

const EXPORT: fleet_api::ResourceKind = kinds::INTERNAL_SERVICE_EXPORT;

/// A hub whose members may export so many Services each.
fn limited(limit: usize) -> World {
    let mut world = World::new();
    world.controller.settings.max_services_per_member = limit;
    world
}

fn key(service: &str) -> Key {
    Key::Service(ObjectName::new("team", service))
}

fn export_of(member: &str, service: &str) -> ObjectName {
    in_member(member, &format!("team-{service}"))
}

fn export(world: &mut World, member: &str, service: &str) {
    let spec =
        json!({ "ports": port(80), "serviceReference": reference(member, "Service", service) });
    let meta = json!({ "finalizers": [finalizers::INTERNAL_SERVICE_EXPORT] });
    let object = json!({ "metadata": meta, "spec": spec });
    world.hub.create(EXPORT, &export_of(member, service), object).unwrap();
    world.hub.advance(1);
}

fn exported<'a>(world: &mut World, member: &str, services: impl IntoIterator<Item = &'a str>) {
    services.into_iter().for_each(|service| export(world, member, service));
    world.settle_all();
}

fn delete(world: &mut World, member: &str, service: &str) {
    world.delete(EXPORT, &export_of(member, service));
}

/// The message with which an export is rejected.
fn rejection(world: &World, export: &ObjectName) -> Option<String> {
    let export = world.hub.get(EXPORT, export).unwrap();
    let conditions = export["status"]["conditions"].as_array().into_iter().flatten();
    let valid = conditions.into_iter().find(|found| found["type"] == "Valid")?;
    assert_eq!((&valid["status"], &valid["reason"]), (&json!("False"), &json!("LimitExceeded")));
    Some(valid["message"].as_str().unwrap().to_owned())
}

/// The Services of a member that are in force.
fn in_force(world: &World, member: &str) -> String {
    let snapshot = world.snapshot();
    let namespace = format!("fleet-member-{member}");
    let exports = snapshot.internal_exports.in_namespace(&namespace);
    let exports = exports.filter(|it| it.is_in_force() && !it.meta.is_terminating());
    exports.map(|export| &export.name.name["team-".len()..]).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_oldest_exports_of_a_member_count_and_no_other_member_waits() {
    let mut world = limited(2);
    exported(&mut world, "a", ["z", "y", "x"]);
    exported(&mut world, "c", ["x"]);
    assert_eq!((in_force(&world, "a"), in_force(&world, "c")), ("y z".into(), "x".into()));
    let message = rejection(&world, &export_of("a", "x")).unwrap();
    assert!(message.contains("--max-services-per-member=2"), "{message}");
    assert_eq!(limit_named_in(&message), Some(2));
    let plan = world.plan_of(&key("x"));
    assert!(plan.is_empty(), "reported once: {plan:#?}");
    assert_eq!(
        (plan.events[0].reason, &plan.events[0].name),
        ("LimitExceeded", &export_of("a", "x"))
    );
    let counted = refused(&world.controller.settings, &world.snapshot());
    assert_eq!(counted, [("a".to_owned(), EXPORT, 1)]);
}

#[test]
fn the_next_export_counts_when_one_is_deleted() {
    let mut world = limited(2);
    exported(&mut world, "a", ["z", "y", "x", "w"]);
    let old = world.snapshot();
    delete(&mut world, "a", "z");
    let keys = affected_keys(&world.controller, &old, &world.snapshot());
    assert_eq!(keys, BTreeSet::from([key("z"), key("x")]), "the others are not planned again");
    world.settle_all();
    assert_eq!(in_force(&world, "a"), "x y");
    assert_eq!(rejection(&world, &export_of("a", "x")), None);
    assert!(rejection(&world, &export_of("a", "w")).is_some());
}

#[test]
fn what_is_in_force_stays_when_the_limit_is_lowered() {
    let mut world = limited(3);
    exported(&mut world, "a", ["z", "y", "x"]);
    world.controller.settings.max_services_per_member = 1;
    for service in ["x", "y", "z"] {
        assert!(world.plan_of(&key(service)).is_empty());
    }
    exported(&mut world, "a", ["w"]);
    delete(&mut world, "a", "y");
    world.settle_all();
    assert_eq!(in_force(&world, "a"), "x z");
    assert!(rejection(&world, &export_of("a", "w")).is_some(), "two are more than one");
}

#[test]
fn an_export_in_conflict_keeps_its_place() {
    let mut world = limited(2);
    exported(&mut world, "a", ["z", "y", "x"]);
    exported(&mut world, "c", ["z"]);
    let ports = |export: &mut Value| export["spec"]["ports"] = port(81);
    world.hub.edit(EXPORT, &export_of("a", "z"), ports).unwrap();
    world.settle_all();
    assert_eq!((in_force(&world, "a"), in_force(&world, "c")), ("y".into(), "z".into()));
    assert_eq!(rejection(&world, &export_of("a", "z")), None);
    assert!(rejection(&world, &export_of("a", "x")).is_some());
}

#[test]
fn what_does_not_count_takes_no_place() {
    let mut world = limited(1);
    let foreign = json!({ "serviceReference": reference("b", "Service", "v"), "ports": port(80) });
    let broken = json!({ "serviceReference": reference("a", "Service", "u"), "ports": "none" });
    for (name, spec) in [("v", foreign), ("u", broken)] {
        world.hub.create(EXPORT, &export_of("a", name), json!({ "spec": spec })).unwrap();
    }
    world.hub.advance(1);
    exported(&mut world, "a", ["z"]);
    assert_eq!(in_force(&world, "a"), "z");
}

/// The keys that the difference of two snapshots affects are all whose plans differ. Below the limit, that is the Service
/// that has changed, and none else of its member.
#[test]
fn no_more_is_planned_again_than_what_a_change_decides() {
    const SERVICES: [&str; 6] = ["u", "v", "w", "x", "y", "z"];
    for limit in 1..=SERVICES.len() {
        let mut world = limited(limit);
        let mut old = HubSnapshot::default();
        let mut random = 1_u32;
        for _ in 0..120 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let service = SERVICES[(random >> 16) as usize % SERVICES.len()];
            let there = world.exists(EXPORT, &export_of("a", service));
            match (there, (random >> 24) % 3) {
                (false, _) => export(&mut world, "a", service),
                (true, 0) => delete(&mut world, "a", service),
                (true, _) => {
                    let plan = world.plan_of(&key(service));
                    fleet_model_server::execute(&plan, &mut [&mut world.hub]);
                }
            }
            let new = world.snapshot();
            let keys = affected_keys(&world.controller, &old, &new);
            for other in SERVICES {
                let controller = &world.controller;
                let plan = |seen: &HubSnapshot| {
                    fleet_plan::Controller::plan(controller, &key(other), seen, world.hub.now())
                };
                let differs = plan(&old) != plan(&new);
                assert!(!differs || keys.contains(&key(other)), "{other} of {keys:?}");
            }
            assert!(limit < SERVICES.len() || keys.len() <= 1, "{keys:?}");
            old = new;
        }
    }
}
