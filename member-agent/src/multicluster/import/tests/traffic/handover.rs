//! Any order in which users, kube-controller-manager and an agent that is killed after any write act on one import: an own endpoint
//! that is ready all the time serves all the time, and the end is that of the mode asked for last.

use proptest::prelude::*;
use serde_json::json;

use super::kubernetes::allowed;
use crate::measurement::Plan;
use crate::multicluster::import::tests::world::{World, port};
use crate::traffic_memory::TrafficMemory;

#[derive(Clone, Copy, Debug)]
enum Act {
    /// The agent plans, and writes so many steps before it is killed; all of them if there are fewer.
    Write(usize),
    Kubernetes,
    Ask(bool),
    /// Another Pod comes or goes.
    Pods(bool),
    /// The exported Service gets another selector and target port.
    Select(bool),
    /// Others export another port.
    Ports(bool),
    /// The hub is away.
    Heard(bool),
    Drain(bool),
    Second,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (1..8usize).prop_map(Act::Write),
        4 => Just(Act::Kubernetes),
        3 => any::<bool>().prop_map(Act::Ask),
        2 => any::<bool>().prop_map(Act::Pods),
        2 => any::<bool>().prop_map(Act::Select),
        1 => any::<bool>().prop_map(Act::Ports),
        1 => any::<bool>().prop_map(Act::Heard),
        1 => any::<bool>().prop_map(Act::Drain),
        1 => Just(Act::Second),
    ]
}

fn write(world: &mut World, allowed: usize) {
    let plan = world.plan();
    if plan.steps.len() <= allowed {
        world.execute(&plan);
        return;
    }
    let steps = plan.steps[..allowed].to_vec();
    world.execute(&Plan { steps, ..Plan::default() });
    world.memory = TrafficMemory::new(world.clock.clone());
}

fn apply(world: &mut World, act: Act) {
    match act {
        Act::Write(steps) => write(world, steps),
        Act::Kubernetes => world.kubernetes(),
        Act::Ask(true) => world.ask(json!({ "localEndpoints": "Kubernetes" })),
        Act::Ask(false) => world.ask(json!({})),
        Act::Pods(true) => world.own_pods(&["10.9.0.1", "10.9.0.2"], &[]),
        Act::Pods(false) => world.own_pods(&["10.9.0.1"], &["10.9.0.2"]),
        Act::Select(others) => {
            world.select(others);
            // What it finds of the selector that the derived Service has is back as soon.
            if world.follows() {
                world.kubernetes();
            }
        }
        Act::Ports(true) => world.respec("ports", json!([port("http", 80), port("other", 81)])),
        Act::Ports(false) => world.respec("ports", json!([port("http", 80)])),
        Act::Heard(heard) => world.heard = heard,
        Act::Drain(drained) => world.drain("a", 1, if drained { 10 } else { 0 }),
        Act::Second => world.clock.advance(std::time::Duration::from_secs(1)),
    }
}

fn serves(world: &World) -> bool {
    let serving = world.serving();
    let own = || serving.iter().filter(|it| it.starts_with("10.9."));
    // One that is drained to ten percent is last resort.
    let slots = world.slots_of("a");
    let is_drained = !slots.is_empty() && slots.iter().all(|slot| slot.ends_with("last"));
    // Pods of the selector that the derived Service has still may go before the agent looks.
    let is_behind = !world.derived_service()["spec"]["selector"].is_null() && !world.follows();
    let is_there = own().any(|it| it.starts_with("10.9.0.1:"));
    let is_excused = is_drained || is_behind && !world.binds_own();
    (is_excused || is_there) && own().all(|it| it.ends_with(":8080") || it.ends_with(":9090"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn own_endpoints_serve_at_every_moment(acts in prop::collection::vec(act(), 1..40), last in any::<bool>(), others in any::<bool>()) {
        let mut world = allowed();
        for (at, act) in acts.iter().enumerate() {
            apply(&mut world, *act);
            prop_assert!(serves(&world), "after {at}: {:?}", world.serving());
        }
        for act in [Act::Heard(true), Act::Drain(false), Act::Ports(false), Act::Select(others), Act::Ask(last)] {
            apply(&mut world, act);
        }
        for _ in 0..36 {
            write(&mut world, usize::MAX);
            prop_assert!(serves(&world), "at the end: {:?}", world.serving());
            world.kubernetes();
            world.clock.advance(std::time::Duration::from_secs(1));
        }
        prop_assert_eq!(world.local(), if last { "Kubernetes" } else { "Agent" });
        prop_assert_eq!(world.is_agents(), !last);
        prop_assert_eq!(world.binds_own(), !last);
        let port = if others { ":9090" } else { ":8080" };
        let serving = world.serving();
        prop_assert!(serving.iter().any(|it| it.starts_with("10.9.")));
        prop_assert!(serving.iter().all(|it| !it.starts_with("10.9.") || it.ends_with(port)), "{serving:?}");
        world.rest();
        world.select(!others);
        world.kubernetes();
        write(&mut world, usize::MAX);
        prop_assert!(serves(&world), "other Pods: {:?}", world.serving());
    }
}
