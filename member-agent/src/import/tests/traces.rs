//! The trace of a change ends with its import, and decides nothing.

use fleet_api::{TraceContext, annotations};
use fleet_plan::Trace;

use super::*;

const CONTEXT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn marked(context: &str) -> impl FnOnce(&mut Value) {
    move |object| object["metadata"]["annotations"][annotations::TRACEPARENT] = json!(context)
}

fn change(world: &mut World) {
    world.change_copy(|copy| copy["spec"]["endpoints"] = json!([{ "addresses": ["10.1.0.9"] }]));
}

fn traces(world: &World) -> Vec<Trace> {
    world.plan().steps.iter().filter_map(|step| step.trace).collect()
}

#[test]
fn an_import_ends_the_trace_of_the_copy() {
    let mut world = World::importing();
    world.change_copy(marked(CONTEXT));
    change(&mut world);
    assert_eq!(traces(&world), [Trace::Ends(TraceContext::parse(CONTEXT))]);
    world.settle();
    let slice = world.slice().unwrap();
    assert_eq!(slice["metadata"]["annotations"][annotations::TRACEPARENT], Value::Null);
}

#[test]
fn what_is_no_context_is_not_followed() {
    let mut world = World::importing();
    world.change_copy(marked(&CONTEXT.to_uppercase()));
    change(&mut world);
    assert_eq!(traces(&world), [Trace::Ends(None)]);
}

#[test]
fn a_context_is_no_reason_for_a_write() {
    let mut world = World::importing();
    world.change_copy(marked(CONTEXT));
    assert!(world.plan().is_empty());
    world.edit(kinds::ENDPOINT_SLICE, &imported(), marked(CONTEXT));
    assert!(world.plan().is_empty());
}
