//! The content of an endpoint.

use fleet_api::{events, kinds};
use serde_json::json;

use super::world::{World, addresses, endpoints, machine};

const V4: &str = "192.0.2.1";
const V6: &str = "fd08::5678:0000:0000:9abc:def0";

/// EW-10: an IPv6 Service: the text of the address stays as it is.
#[test]
fn an_ipv6_service_has_ipv6_endpoints_as_they_are_written() {
    let mut world = World::with(&json!({ "ipFamilies": ["IPv6"] }));
    world.add("vm-1", machine(&[V4]), true);
    world.add("vm-2", machine(&["192.0.2.2", V6]), true);
    assert_eq!(world.verbs(), ["create"]);
    let slice = world.slice();
    assert_eq!((slice["addressType"].as_str(), addresses(&slice)), (Some("IPv6"), vec![V6.into()]));
}

/// EW-11: ready and not ready.
#[test]
fn a_machine_that_is_not_ready_is_an_endpoint_that_takes_nothing() {
    let mut world = World::new();
    world.add("vm-1", machine(&[V4]), true);
    world.add("vm-2", machine(&["192.0.2.2"]), false);
    world.settle();
    let slice = world.slice();
    for (endpoint, ready) in endpoints(&slice).iter().zip([true, false]) {
        let conditions = json!({ "ready": ready, "serving": ready, "terminating": false });
        assert_eq!(endpoint["conditions"], conditions);
        assert!(endpoint["nodeName"].is_null() && endpoint["hints"].is_null());
    }
    world.set_ready("vm-1", false);
    let plan = world.plan();
    assert!(matches!(&plan.steps[..], [step] if step.urgent), "{plan:#?}");
    assert_eq!(world.verbs(), ["update"]);
}

/// EW-12: one address twice.
#[test]
fn machines_that_share_an_address_are_two_endpoints() {
    let mut world = World::new();
    world.add("vm-1", machine(&[V4]), true);
    world.add("vm-2", machine(&[V4]), true);
    world.settle();
    assert_eq!(addresses(&world.slice()), [V4, V4]);
}

/// EW-27: an IPv4 Service.
#[test]
fn an_ipv4_service_has_one_slice() {
    let mut world = World::new();
    world.add("vm", machine(&[V4, V6]), true);
    assert_eq!(world.verbs(), ["create"]);
    assert_eq!(addresses(&world.slice()), [V4]);
    assert_eq!(world.slice()["addressType"], "IPv4");
}

/// EW-28: an IPv6 Service.
#[test]
fn an_ipv6_service_has_one_slice() {
    let mut world = World::with(&json!({ "ipFamilies": ["IPv6"] }));
    world.add("vm", machine(&[V4, V6]), true);
    assert_eq!(world.verbs(), ["create"]);
    assert_eq!(world.slice()["addressType"], "IPv6");
}

/// EW-29: both families, and none named, which means both.
#[test]
fn a_service_of_both_families_has_a_slice_for_each() {
    for families in [json!(["IPv4", "IPv6"]), json!(null)] {
        let mut world = World::with(&json!({ "ipFamilies": families }));
        world.add("vm", machine(&[V4, V6]), true);
        assert_eq!(world.verbs(), ["create", "create"]);
        assert_eq!(world.sizes(), [1, 1]);
    }
}

/// EW-30: a headless Service names its endpoints.
#[test]
fn behind_a_headless_service_machines_have_host_names() {
    let mut world = World::with(&json!({ "clusterIP": "None" }));
    world.add("vm", machine(&[V4]), true);
    world.settle();
    let slice = world.slice();
    assert_eq!(endpoints(&slice)[0]["hostname"], "vm");
    assert_eq!(slice["metadata"]["labels"]["service.kubernetes.io/headless"], "");
    // EW-D8: the server would refuse the slice.
    world.add("vm.example", machine(&["192.0.2.2"]), true);
    world.settle();
    assert!(endpoints(&world.slice())[1]["hostname"].is_null());
}

/// EW-31: machines of one family each join the slice of it.
#[test]
fn each_family_grows_in_place() {
    let mut world = World::with(&json!({ "ipFamilies": ["IPv4", "IPv6"] }));
    world.add("vm-1", machine(&[V4, V6]), true);
    world.settle();
    world.add("vm-2", machine(&["192.0.2.2"]), true);
    world.add("vm-3", machine(&["2001:db8::3"]), true);
    assert_eq!(world.verbs(), ["update", "update"]);
    assert_eq!(world.sizes(), [2, 2]);
}

/// EW-32: a machine gets a zone. (A view holds it once, so it cannot be listed twice.)
#[test]
fn a_zone_is_taken_over() {
    let mut world = World::new();
    world.add("vm", machine(&[V4]), true);
    world.settle();
    let before = world.slice()["metadata"]["generation"].as_i64();
    world.edit(kinds::EXTERNAL_WORKLOAD, "vm", |vm| {
        vm["metadata"]["labels"]["topology.kubernetes.io/zone"] = json!("rack-1");
    });
    assert_eq!(world.verbs(), ["update"]);
    let slice = world.slice();
    assert_eq!((endpoints(&slice).len(), &endpoints(&slice)[0]["zone"]), (1, &json!("rack-1")));
    assert!(slice["metadata"]["generation"].as_i64() > before);
}

/// EW-D7: an address that an endpoint cannot have is skipped, with an Event.
#[test]
fn an_unusable_address_does_not_spoil_the_slice() {
    for wrong in [
        "vm.example.com",
        "192.0.2.999",
        "127.0.0.1",
        "169.254.1.1",
        "::1",
        "::ffff:1.2.3.4",
        "168.63.129.16",
        "fd00:ec2::254",
    ] {
        let mut world = World::with(&json!({ "ipFamilies": ["IPv4", "IPv6"] }));
        world.add("vm-1", machine(&[V4]), true);
        world.add("vm-2", machine(&[wrong]), true);
        world.add("vm-3", machine(&[]), true);
        world.settle();
        assert_eq!(addresses(&world.slice()), [V4]);
        let told = &world.events[0];
        assert_eq!((told.reason, &*told.name.name), (events::ADDRESS_IGNORED, "vm-2"));
        assert!(told.note.contains(wrong));
    }
}

#[test]
fn only_machines_in_the_ranges_of_the_administrator_are_endpoints() {
    let mut world = World::new();
    world.add("vm-1", machine(&[V4]), true);
    world.add("vm-2", machine(&["198.51.100.7"]), true);
    world.settle();
    assert_eq!(endpoints(&world.slice()).len(), 2, "without ranges any address serves");
    assert!(world.events.is_empty());

    world.cidrs = "192.0.2.0/24".parse().unwrap();
    world.settle();
    assert_eq!(addresses(&world.slice()), [V4]);
    let told = &world.events[0];
    assert_eq!((told.reason, &*told.name.name), (events::ADDRESS_IGNORED, "vm-2"));
    let note =
        "skipped addresses outside of --external-workload-cidrs (192.0.2.0/24): 198.51.100.7";
    assert_eq!(told.note, note);
}
