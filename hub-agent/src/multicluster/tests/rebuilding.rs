//! A hub that is being rebuilt: members come back to it one after the other.

use fleet_api::traffic::FLEET_TRAFFIC;
use fleet_api::{ObjectName, kinds};
use fleet_plan::affected_keys;
use serde_json::{Value, json};

use super::world::{World, of_web};
use crate::multicluster::{Key, MulticlusterController};

/// Fields of an export, and what the younger and the older of two have there.
fn contradictions() -> [(&'static str, Value, Value); 2] {
    [
        ("type", json!("Headless"), json!("ClusterSetIP")),
        ("ipFamilies", json!(["IPv4"]), json!(["IPv6", "IPv4"])),
    ]
}

/// The hub agent has decided about the phase of the hub.
fn phase(world: &mut World, phase: &str) {
    let name = ObjectName::cluster(FLEET_TRAFFIC);
    if world.hub.get(kinds::FLEET_TRAFFIC, &name).is_none() {
        world.hub.create(kinds::FLEET_TRAFFIC, &name, json!({ "spec": {} })).unwrap();
    }
    let status = json!({ "epoch": 0, "phase": phase });
    world.edit(kinds::FLEET_TRAFFIC, &name, |fleet| fleet["status"] = status);
}

/// An export comes back. Of two members, the one whose name is the first has the older one.
fn comes_back(world: &mut World, member: &str, field: &str, value: &Value) {
    world.export(member, 80);
    world.edit(kinds::EXPORTED_SERVICE, &of_web(member), |export| {
        export["spec"][field] = value.clone();
    });
    world.settle();
}

fn in_force<'a>(world: &'a World, field: &str) -> &'a Value {
    &world.resolved().unwrap()["spec"][field]
}

fn rebuilding() -> World {
    let mut world = World::new();
    world.settings.traffic = true;
    phase(&mut world, "Rebuilding");
    world
}

/// First come is not first served: importers have addresses by what the older one decided.
#[test]
fn the_oldest_export_decides_whenever_it_comes_back() {
    for (field, younger, older) in contradictions() {
        let mut world = rebuilding();
        comes_back(&mut world, "b", field, &younger);
        assert_eq!(*in_force(&world, field), younger);
        comes_back(&mut world, "a", field, &older);
        assert_eq!(*in_force(&world, field), older);
        comes_back(&mut world, "c", field, &younger);
        assert_eq!(*in_force(&world, field), older);
    }
}

/// What is in force is of exports that were there together: one that comes later takes no address away.
#[test]
fn what_a_complete_hub_has_decided_stays() {
    for (field, younger, older) in contradictions() {
        let mut world = rebuilding();
        phase(&mut world, "Settled");
        comes_back(&mut world, "b", field, &younger);
        comes_back(&mut world, "a", field, &older);
        assert_eq!(*in_force(&world, field), younger, "it is complete");
        let mut world = rebuilding();
        comes_back(&mut world, "b", field, &younger);
        world.hub.advance(3600);
        comes_back(&mut world, "a", field, &older);
        assert_eq!(*in_force(&world, field), younger, "it was restored");
    }
}

#[test]
fn the_phase_concerns_all_services() {
    let mut world = rebuilding();
    world.export("a", 80);
    world.settle();
    let before = world.snapshot();
    phase(&mut world, "Settled");
    let controller = MulticlusterController { settings: world.settings.clone() };
    let keys = affected_keys(&controller, &before, &world.snapshot());
    assert_eq!(keys, [Key::Service(ObjectName::new("shop", "web"))].into());
}
