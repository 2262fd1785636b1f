use fleet_api::names::member_namespace;
use fleet_api::traffic::{CLUSTER_PROPERTY, PROPERTIES};
use fleet_api::{ObjectName, kinds};
use serde_json::{Value, json};

use super::world::{World, lease};

fn names(world: &World) -> Vec<String> {
    world.hub.names(kinds::MEMBER_TRAFFIC).iter().map(|name| name.name.to_string()).collect()
}

#[test]
fn each_member_with_a_lease_gets_an_object_and_at_rest_nothing_is_written() {
    let mut world = World::of(&["east", "west"]);
    world.pass(1);
    assert_eq!(names(&world), ["east", "west"]);
    world.pass(70);
    assert_eq!(world.verdict("east"), ("Heard", 0));
    let serials = ["east", "west"].map(|member| world.status(member).serial);
    assert_eq!(serials, [1, 2], "no two changes have one serial");
    world.writes();
    world.pass(100);
    assert_eq!(world.writes(), 0);
}

#[test]
fn a_member_without_a_lease_is_unmanaged_and_never_judged() {
    let mut world = World::settled(&["east", "west"]);
    let north = ObjectName::cluster(member_namespace("north"));
    world.hub.create(kinds::NAMESPACE, &north, json!({})).unwrap();
    let object = json!({ "spec": { "drains": [] } });
    world.hub.create(kinds::MEMBER_TRAFFIC, &ObjectName::cluster("north"), object).unwrap();
    world.pass(200);
    assert_eq!(world.verdict("north"), ("Unmanaged", 0));
    assert_eq!(world.fleet().unmanaged, 0, "numbers wait for a minute of their own");
}

/// An object of no member is left alone.
#[test]
fn a_name_that_is_no_member_gets_no_status() {
    let mut world = World::settled(&["east"]);
    let object = json!({ "spec": {} });
    world.hub.create(kinds::MEMBER_TRAFFIC, &ObjectName::cluster("nowhere"), object).unwrap();
    world.pass(5);
    assert_eq!(names(&world), ["east"], "nothing is decided in it, and it is no member");
}

#[test]
fn the_object_of_a_member_that_has_left_is_deleted_unless_something_is_decided_in_it() {
    let mut world = World::settled(&["east", "west"]);
    world.drain("west", "*", 100, 0);
    world.pass(2);
    for member in ["east", "west"] {
        world.alive.remove(member);
        world.hub.delete(kinds::LEASE, &lease(member)).unwrap();
        let namespace = ObjectName::cluster(member_namespace(member));
        world.hub.delete(kinds::NAMESPACE, &namespace).unwrap();
    }
    world.pass(2);
    assert_eq!(names(&world), ["west"]);
    world.request("west", json!([]));
    world.pass(2);
    assert_eq!(names(&world), [""; 0]);
}

/// The hub is older than what is in it: the lost namespace of a member that is still there takes nothing away.
#[test]
fn a_member_whose_namespace_exists_keeps_its_object_without_a_lease() {
    let mut world = World::settled(&["east", "west"]);
    world.alive.remove("east");
    world.hub.delete(kinds::LEASE, &lease("east")).unwrap();
    world.pass(100);
    assert_eq!(names(&world), ["east", "west"]);
    assert_eq!(world.verdict("east"), ("Unmanaged", 0));
}

#[test]
fn properties_are_the_members_own_within_limits_and_the_administrators() {
    let mut world = World::settled(&["east"]);
    let region = "topology.kubernetes.io/region";
    let own = json!({ region: "north", "tier": "gold", CLUSTER_PROPERTY: "west" });
    world.edit(kinds::LEASE, &lease("east"), |lease| {
        lease["metadata"]["annotations"] = json!({ PROPERTIES: own.to_string() });
    });
    world.late.insert("east");
    world.pass(1);
    let properties = |world: &World| json!(world.status("east").properties);
    assert_eq!(properties(&world), json!({ region: "north", CLUSTER_PROPERTY: "east" }));
    let serial = world.status("east").serial;
    world.decide("east", |spec: &mut Value| {
        spec["properties"] = json!({ region: "south", "tier": "gold" });
    });
    world.pass(1);
    let expected = json!({ region: "south", "tier": "gold", CLUSTER_PROPERTY: "east" });
    assert_eq!(properties(&world), expected);
    assert!(world.status("east").serial > serial);
}

#[test]
fn without_the_object_of_the_fleet_nothing_is_decided_and_nothing_is_lost() {
    let mut world = World::settled(&["east", "north", "south", "west"]);
    world.alive.remove("east");
    world.pass(80);
    assert_eq!(world.verdict("east"), ("Silent", 100));
    world.drain("west", "*", 100, 600);
    world.pass(2);
    let before = ["east", "west"].map(|member| world.status(member));
    world.writes();
    world.hub.delete(kinds::FLEET_TRAFFIC, &ObjectName::cluster("fleet")).unwrap();
    world.alive.insert("east");
    world.pass(200);
    assert_eq!(["east", "west"].map(|member| world.status(member)), before);
    assert_eq!(world.writes(), 0);
}
