//! One sample of the export histogram per generation of an export (docs/design/contract.md#latency-samples).

use fleet_api::kinds;
use serde_json::{Value, json};

use super::world::{World, on_hub};

#[test]
fn the_first_verdict_that_the_user_reads_is_measured() {
    for verdict in ["False", "True"] {
        let mut world = World::pending();
        world.judge(verdict);
        world.settle();
        assert_eq!(world.samples.len(), 1, "{verdict}");
        assert_eq!(world.samples[0].origin, "a");
        assert_eq!(world.samples[0].since, world.own.now());
    }
}

#[test]
fn a_verdict_after_a_long_silence_is_measured_once() {
    let mut world = World::pending();
    world.settle_patiently();
    assert_eq!(world.samples, []);
    let since = world.own.now();
    world.own.advance(30);
    world.judge("False");
    world.settle();
    assert_eq!(world.samples.len(), 1);
    assert_eq!(world.samples[0].since, since);
}

#[test]
fn another_verdict_on_the_same_ports_is_not_measured() {
    let mut world = World::exported();
    for verdict in ["True", "False"] {
        world.judge(verdict);
        world.settle();
    }
    assert_eq!(world.samples, []);
}

/// The status stays the same, so that no status write shows when.
#[test]
fn a_change_of_ports_is_measured_when_the_hub_has_it() {
    let mut world = World::exported();
    world.own.advance(60);
    world.respec("ports", json!([{ "protocol": "TCP", "port": 81 }]));
    world.settle();
    assert_eq!(world.samples.len(), 1);
    assert_eq!(world.samples[0].since, world.own.now());
    world.judge("True");
    world.settle();
    assert_eq!(world.samples.len(), 1, "the same generation");
}

#[test]
fn a_change_before_the_first_verdict_is_part_of_the_first_export() {
    let mut world = World::pending();
    world.respec("ports", json!([{ "protocol": "TCP", "port": 81 }]));
    world.settle();
    assert_eq!(world.samples, []);
    world.judge("False");
    world.settle();
    assert_eq!(world.samples.len(), 1);
}

/// An export already settled when the agent starts, and one whose exporter noted no time.
#[test]
fn what_was_settled_before_and_what_has_no_time_is_not_measured() {
    let world = World::exported();
    assert!(world.plan().is_empty());

    let mut world = World::pending();
    let forget = |export: &mut Value| {
        export["spec"]["serviceReference"].as_object_mut().unwrap().remove("exportedSince");
    };
    world.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &on_hub(), forget).unwrap();
    world.judge("False");
    world.settle();
    assert_eq!(world.samples, []);
    assert_eq!(world.condition("Conflict").0, "False");
}

/// M7: the origin is the member's own name, even if others change its export.
#[test]
fn the_origin_is_no_claim() {
    let mut world = World::pending();
    let claim = |export: &mut Value| export["spec"]["serviceReference"]["clusterId"] = json!("z");
    world.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &on_hub(), claim).unwrap();
    world.judge("False");
    world.settle();
    let origins: Vec<_> = world.samples.iter().map(|sample| sample.origin.as_str()).collect();
    assert_eq!(origins, ["a"]);
}
