//! The agent is killed after any write: a plan computed from what is there then leads to the same end.

use fleet_api::kinds;
use serde_json::{Value, json};

use super::world::World;
use crate::measurement::Plan;

/// What counts in the end.
fn end(world: &World) -> Value {
    let import = world.import().map(|import| {
        json!([import["spec"], import["metadata"]["annotations"], import["status"]["clusters"]])
    });
    let services: Vec<_> =
        world.own.names(kinds::SERVICE).iter().map(ToString::to_string).collect();
    json!([import, services, world.slices()])
}

/// Runs to rest, but writes only `allowed` steps before the agent starts anew.
fn run(world: &mut World, mut allowed: Option<usize>) -> usize {
    let mut written = 0;
    for _ in 0..30 {
        let plan = world.plan();
        if plan.steps.is_empty() {
            return written;
        }
        let count = allowed.map_or(plan.steps.len(), |left| left.min(plan.steps.len()));
        let steps = plan.steps[..count].to_vec();
        assert_eq!(world.execute(&Plan { steps, ..Plan::default() }), []);
        written += count;
        allowed = allowed.map(|left| left - count).filter(|left| *left > 0);
    }
    panic!("no rest: {:#?}", world.plan());
}

type Story = fn(&mut World);

const STORY: [Story; 6] = [
    |world| {
        world.resolve(&["b"]);
        world.export_slice("b", "web-1", &["10.1.0.1"]);
    },
    |world| {
        world.export_own(&["10.9.0.1"]);
        world.resolve(&["a", "b"]);
    },
    |world| {
        world.export_slice("c", "web-1", &["10.2.0.1"]);
        world.resolve(&["a", "b", "c"]);
        world.respec("ports", json!([super::world::port("http", 80), super::world::port("x", 81)]));
    },
    |world| world.respec("type", json!("Headless")),
    |world| world.respec("type", json!("ClusterSetIP")),
    |world| world.withdraw(),
];

#[test]
fn every_prefix_of_the_writes_leads_to_the_same_end() {
    let mut whole = World::new();
    for (at, change) in STORY.iter().enumerate() {
        let before = whole.clone();
        change(&mut whole);
        let writes = run(&mut whole, None);
        assert!(writes > 0, "{at}");
        for crash in 1..=writes {
            let mut world = before.clone();
            change(&mut world);
            run(&mut world, Some(crash));
            assert_eq!(end(&world), end(&whole), "change {at}, killed after {crash} writes");
        }
    }
    assert!(whole.is_clean());
}
