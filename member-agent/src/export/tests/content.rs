//! What travels of a slice.

use fleet_api::{ObjectName, annotations, kinds};
use serde_json::{Value, json};

use super::world::{World, slice};

/// MES-12: a slice of an accepted export. Its copy has a name of its own and the full reference; the
/// slice itself stays as it is (docs/design/rules.md#user-objects): no unique name, no last-seen annotations.
#[test]
fn the_copy_of_a_slice_says_whose_it_is() {
    let world = World::exported();
    let copies = world.copies();
    assert_eq!(copies.len(), 1);
    let name = copies[0]["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("a-team-shop-x1-"), "{name}");
    let spec = &copies[0]["spec"];
    assert_eq!(spec["addressType"], "IPv4");
    assert_eq!(spec["ports"][0]["appProtocol"], "http");
    assert_eq!(spec["ownerServiceReference"]["namespacedName"], "team/shop");
    let reference = &spec["endpointSliceReference"];
    assert_eq!(reference["clusterId"], "a");
    assert_eq!(reference["kind"], "EndpointSlice");
    assert_eq!(reference["namespacedName"], "team/shop-x1");
    assert_eq!(reference["generation"], json!(1));
    assert_eq!(reference["uid"], world.uid(kinds::ENDPOINT_SLICE, &slice()));
    assert!(reference["exportedSince"].is_string());
    assert!(
        world.own.get(kinds::ENDPOINT_SLICE, &slice()).unwrap()["metadata"]["annotations"]
            .is_null()
    );
    assert!(world.plan().is_empty());
}

/// MES-13: an endpoint joins. The copy follows in one write, with reference and time.
#[test]
fn a_change_of_endpoints_follows() {
    let mut world = World::exported();
    let before = world.copies()[0]["spec"]["endpointSliceReference"].clone();
    world.own.advance(60);
    let join = |slice: &mut Value| {
        slice["endpoints"].as_array_mut().unwrap().push(json!({ "addresses": ["10.1.0.9"] }));
    };
    world.own.edit(kinds::ENDPOINT_SLICE, &slice(), join).unwrap();
    world.settle();
    let spec = world.copies()[0]["spec"].clone();
    assert_eq!(spec["endpoints"].as_array().unwrap().len(), 3);
    assert_eq!(spec["endpointSliceReference"]["generation"], json!(2));
    assert_ne!(spec["endpointSliceReference"]["exportedSince"], before["exportedSince"]);
    assert_eq!(world.writes().len(), 1);
}

/// S03: whose watch of the slices lags behind that of the copies takes nothing back, unless that stays so.
#[test]
fn a_copy_of_a_later_generation_is_not_replaced_at_once() {
    let mut world = World::exported();
    let name = world.copies()[0]["metadata"]["name"].as_str().unwrap().to_owned();
    let name = ObjectName::new("fleet-member-a", &*name);
    for (generation, at_once) in [(2, false), (1, true)] {
        let edit = |copy: &mut Value| {
            copy["spec"]["endpoints"] = json!([{ "addresses": ["10.1.0.9"] }]);
            copy["spec"]["endpointSliceReference"]["generation"] = json!(generation);
        };
        world.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &name, edit).unwrap();
        let plan = world.plan();
        let found = (plan.steps.len(), plan.debounced.len());
        assert_eq!(found, (at_once.into(), (!at_once).into()), "{plan:#?}");
    }
}

/// MES-19: an endpoint that is ready, one without that condition, and one that is not ready.
#[test]
fn ready_endpoints_travel() {
    let world = World::exported();
    let ready = json!([{ "addresses": ["10.1.0.1"] }, { "addresses": ["10.1.0.2"] }]);
    assert_eq!(world.copies()[0]["spec"]["endpoints"], ready);
}

#[test]
fn a_slice_without_ready_endpoints_travels_empty() {
    let mut world = World::exported();
    let empty = |slice: &mut Value| slice["endpoints"] = json!([]);
    world.own.edit(kinds::ENDPOINT_SLICE, &slice(), empty).unwrap();
    world.settle();
    assert_eq!(world.copies()[0]["spec"]["endpoints"], json!([]));
}

/// MES-21: when a generation was first seen is kept on the copy, not on the slice: the same
/// generation keeps its time, another one and a copy without one get the present. Annotations that a
/// Go agent left on the slice, right or wrong, are not read.
#[test]
fn the_time_of_export_stays_with_its_generation() {
    let mut world = World::exported();
    let since = |world: &World| {
        world.copies()[0]["spec"]["endpointSliceReference"]["exportedSince"].clone()
    };
    let resend = |world: &mut World, forget: bool| {
        // A user changes the copy, so that it is written again.
        let name = world.hub.names(kinds::ENDPOINT_SLICE_EXPORT).remove(0);
        let tamper = |copy: &mut Value| {
            copy["spec"]["endpoints"] = json!([]);
            if forget {
                let reference = &mut copy["spec"]["endpointSliceReference"];
                reference.as_object_mut().unwrap().remove("exportedSince");
            }
        };
        world.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &name, tamper).unwrap();
        world.own.advance(60);
        world.settle();
    };
    let first = since(&world);
    for (generation, time) in
        [("1", "2020-01-01T00:00:00Z"), ("x", "now"), ("7", "2099-01-01T00:00:00Z")]
    {
        let set = |slice: &mut Value| {
            slice["metadata"]["annotations"] = json!({
                annotations::LAST_SEEN_GENERATION: generation,
                annotations::LAST_SEEN_TIMESTAMP: time,
            });
        };
        world.own.edit(kinds::ENDPOINT_SLICE, &slice(), set).unwrap();
        resend(&mut world, false);
        assert_eq!(since(&world), first);
    }
    resend(&mut world, true);
    let second = since(&world);
    assert_ne!(second, first);
    let change = |slice: &mut Value| slice["endpoints"] = json!([{ "addresses": ["10.1.0.9"] }]);
    world.own.advance(60);
    world.own.edit(kinds::ENDPOINT_SLICE, &slice(), change).unwrap();
    world.settle();
    assert_ne!(since(&world), second);
}
