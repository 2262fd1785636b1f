//! Samples of the latency histogram (spec 6.2, reliability M1 to M6).

use fleet_api::{annotations, kinds};
use serde_json::{Value, json};

use super::{World, imported};

fn generation(world: &mut World, generation: i64) {
    world.change_copy(|copy| {
        let address = format!("10.1.0.{generation}");
        copy["spec"]["endpoints"] = json!([{ "addresses": [address] }]);
        copy["spec"]["endpointSliceReference"]["generation"] = json!(generation);
    });
}

#[test]
fn the_first_import_is_sampled_as_first() {
    let mut world = World::importing();
    assert_eq!(world.samples(), []);
    world.own.delete(kinds::ENDPOINT_SLICE, &imported()).unwrap();
    let samples = world.samples();
    assert_eq!(samples.len(), 1);
    assert!(samples[0].first);
    assert_eq!(samples[0].origin, "a");
}

#[test]
fn each_later_generation_is_sampled_once() {
    let mut world = World::importing();
    generation(&mut world, 2);
    let samples = world.samples();
    assert_eq!((samples.len(), samples[0].first), (1, false));
    world.settle();
    // The same generation written again, because somebody changed the slice: no sample.
    world.edit(kinds::ENDPOINT_SLICE, &imported(), |slice| slice["endpoints"] = json!([]));
    assert_eq!(world.plan().steps.len(), 1);
    assert_eq!(world.samples(), []);
}

#[test]
fn a_generation_that_a_go_agent_counted_is_not_sampled() {
    let mut world = World::importing();
    world.own.delete(kinds::ENDPOINT_SLICE, &imported()).unwrap();
    world.change_copy(|copy| {
        copy["metadata"]["annotations"] = json!({ annotations::LAST_OBSERVED_GENERATION: "1" });
    });
    assert_eq!(world.samples(), []);
}

#[test]
fn a_copy_without_export_time_is_not_sampled() {
    let mut world = World::importing();
    world.own.delete(kinds::ENDPOINT_SLICE, &imported()).unwrap();
    world.change_copy(|copy| {
        copy["spec"]["endpointSliceReference"]["exportedSince"] = Value::Null;
    });
    assert_eq!(world.samples(), []);
}
