//! The agent is killed after any write: a plan computed from what is there then leads to the same end.

use fleet_api::kinds;
use serde_json::{Value, json};

use super::world::{World, service, web};
use crate::measurement::Plan;

/// What counts in the end: the objects, without versions and times.
fn end(world: &World) -> Vec<Value> {
    let mut objects = Vec::new();
    for (server, kind) in [
        (&world.hub, kinds::EXPORTED_SERVICE),
        (&world.hub, kinds::ENDPOINT_SLICE_EXPORT),
        (&world.own, kinds::MCS_SERVICE_EXPORT),
    ] {
        for (name, object) in server.objects(kind) {
            let status = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let conditions: Vec<_> = status
                .iter()
                .map(|condition| {
                    json!([condition["type"], condition["status"], condition["reason"]])
                })
                .collect();
            objects.push(json!([name.to_string(), kind.kind, conditions]));
        }
    }
    objects
}

/// Runs until rest, with a hub agent that answers, but writes only `allowed` steps before it starts anew.
fn run(world: &mut World, mut allowed: Option<usize>) -> usize {
    let mut written = 0;
    for _ in 0..40 {
        let mut idle = true;
        for plan in [world.plan(), world.slices()] {
            let count = allowed.map_or(plan.steps.len(), |left| left.min(plan.steps.len()));
            let cut = Plan { steps: plan.steps[..count].to_vec(), ..Plan::default() };
            idle &= plan.steps.is_empty();
            world.execute(&cut);
            written += count;
            allowed = allowed.map(|left| left - count).filter(|left| *left > 0);
        }
        world.resolve(&json!([]));
        if idle {
            return written;
        }
    }
    panic!("no rest: {:#?}", world.plan());
}

fn begin() -> World {
    let mut world = World::new();
    world.add(kinds::SERVICE, &web(), service(&json!({})));
    world.add_slice();
    world.export();
    world
}

fn unexport(world: &mut World) {
    world.own.delete(kinds::MCS_SERVICE_EXPORT, &web()).unwrap();
}

#[test]
fn every_prefix_of_the_writes_leads_to_the_same_end() {
    let mut whole = begin();
    let writes = run(&mut whole, None);
    assert!(writes >= 3, "{writes}");
    let expected = end(&whole);
    unexport(&mut whole);
    let undone = run(&mut whole, None);
    assert!(undone >= 2 && end(&whole).is_empty(), "{:?}", end(&whole));
    for crash in 1..=writes {
        let mut world = begin();
        run(&mut world, Some(crash));
        assert_eq!(end(&world), expected, "killed after {crash} writes");
        unexport(&mut world);
        for crash in 1..=undone {
            run(&mut world, Some(crash));
        }
        assert!(end(&world).is_empty(), "killed while it withdraws");
    }
}
