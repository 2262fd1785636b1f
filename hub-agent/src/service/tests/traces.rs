//! Copies carry the trace context of their slice, which has no influence on plans.

use fleet_api::{TraceContext, annotations, kinds};
use fleet_plan::Trace;
use serde_json::{Value, json};

use super::world::{World, in_member};

const CONTEXT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn mark(world: &mut World, context: &str) {
    let set = |slice: &mut Value| {
        slice["metadata"]["annotations"][annotations::TRACEPARENT] = json!(context);
    };
    world.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &in_member("a", "a-s1"), set).unwrap();
}

fn change(world: &mut World, address: &str) {
    let set = |slice: &mut Value| slice["spec"]["endpoints"] = json!([{ "addresses": [address] }]);
    world.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &in_member("a", "a-s1"), set).unwrap();
}

fn traces(world: &World) -> Vec<Trace> {
    world.plan().steps.iter().filter_map(|step| step.trace).collect()
}

fn copies_mark(world: &World, member: &str) -> Value {
    let copy = world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &in_member(member, "a-s1")).unwrap();
    copy["metadata"]["annotations"][annotations::TRACEPARENT].clone()
}

#[test]
fn every_importers_copy_continues_the_trace_of_the_slice() {
    let mut world = World::shared();
    world.request("c");
    world.settle();
    mark(&mut world, CONTEXT);
    change(&mut world, "10.1.0.9");
    assert_eq!(traces(&world), [Trace::Continues(TraceContext::parse(CONTEXT)); 2]);
}

#[test]
fn the_first_copy_continues_the_trace_too() {
    let mut world = World::exported();
    mark(&mut world, CONTEXT);
    world.request("b");
    // The claim comes first.
    while traces(&world).is_empty() {
        assert!(!world.plan().steps.is_empty());
        fleet_model_server::execute(&world.plan(), &mut [&mut world.hub]);
    }
    assert_eq!(traces(&world), [Trace::Continues(TraceContext::parse(CONTEXT))]);
}

#[test]
fn an_invalid_trace_context_is_ignored() {
    let mut world = World::shared();
    for text in ["", "00-1-1-01", "x; DROP", &CONTEXT.replace("00-4", "01-4")] {
        mark(&mut world, text);
        change(&mut world, "10.1.0.9");
        assert_eq!(traces(&world), [Trace::Continues(None)], "{text:?}");
    }
}

#[test]
fn a_new_trace_context_alone_causes_no_write() {
    let mut world = World::shared();
    mark(&mut world, CONTEXT);
    assert!(world.plan().is_empty());
    let copy = in_member("b", "a-s1");
    let set = |copy: &mut Value| {
        copy["metadata"]["annotations"][annotations::TRACEPARENT] = json!("anything");
    };
    world.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &copy, set).unwrap();
    assert!(world.plan().is_empty());
}

#[test]
fn without_traces_a_copy_has_no_trace_context() {
    let mut world = World::shared();
    mark(&mut world, CONTEXT);
    change(&mut world, "10.1.0.9");
    world.settle();
    assert_eq!(copies_mark(&world, "b"), Value::Null);

    let set = |copy: &mut Value| {
        copy["metadata"]["annotations"][annotations::TRACEPARENT] = json!(CONTEXT);
        copy["metadata"]["annotations"]["kept"] = json!("yes");
    };
    world.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &in_member("b", "a-s1"), set).unwrap();
    change(&mut world, "10.1.0.8");
    world.settle();
    assert_eq!(copies_mark(&world, "b"), Value::Null);
    let copy = world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &in_member("b", "a-s1")).unwrap();
    assert_eq!(copy["metadata"]["annotations"]["kept"], "yes");
}
