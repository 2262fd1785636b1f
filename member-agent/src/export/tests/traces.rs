//! A change of an exported slice begins a trace, whatever its copy on the hub bears.

use fleet_api::{ObjectName, annotations, kinds};
use fleet_plan::Trace;
use serde_json::{Value, json};

use super::world::{World, slice};

const CONTEXT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn traces(world: &World) -> Vec<Trace> {
    world.plan().steps.iter().filter_map(|step| step.trace).collect()
}

fn copy(world: &World) -> ObjectName {
    let [name] = world.hub.names(kinds::ENDPOINT_SLICE_EXPORT).try_into().expect("one copy");
    name
}

fn mark(world: &mut World, context: &str) {
    let set = |copy: &mut Value| {
        copy["metadata"]["annotations"][annotations::TRACEPARENT] = json!(context);
    };
    let name = copy(world);
    world.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &name, set).unwrap();
}

fn change(world: &mut World) {
    let set = |slice: &mut Value| slice["endpoints"] = json!([{ "addresses": ["10.1.0.9"] }]);
    world.own.edit(kinds::ENDPOINT_SLICE, &slice(), set).unwrap();
}

#[test]
fn a_first_export_begins_one() {
    let mut world = World::pending();
    world.judge("False");
    assert_eq!(traces(&world), [Trace::Begins]);
}

#[test]
fn a_change_begins_one_and_the_one_before_is_over() {
    let mut world = World::exported();
    mark(&mut world, CONTEXT);
    change(&mut world);
    assert_eq!(traces(&world), [Trace::Begins]);
    world.settle();
    let copy = world.hub.get(kinds::ENDPOINT_SLICE_EXPORT, &copy(&world)).unwrap();
    assert_eq!(copy["metadata"]["annotations"][annotations::TRACEPARENT], Value::Null);
}

#[test]
fn a_context_is_no_reason_for_a_write() {
    let mut world = World::exported();
    for context in [CONTEXT, "no context"] {
        mark(&mut world, context);
        assert!(world.plan().is_empty(), "{context}");
    }
}
