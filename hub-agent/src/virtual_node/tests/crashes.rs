//! The agent stops after any write, sees the hub late, and members do what they like: it always gets to the same end.

use fleet_api::kinds;
use fleet_api::offload::LinkState;
use fleet_model_server::execute;
use serde_json::json;

use super::world::{World, in_member};

/// A small deterministic source of choices.
struct Choices(u64);

impl Choices {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// Executes the first so many writes of each plan, as an agent that is stopped then, and then rests as one that starts.
fn rest_after_a_crash(world: &mut World, steps: usize) {
    for mut plan in world.plans(&world.snapshot()) {
        plan.steps.truncate(steps);
        execute(&plan, &mut [&mut world.hub]);
    }
    world.obey();
    for mut plan in world.plans(&world.snapshot()) {
        plan.steps.truncate(steps);
        execute(&plan, &mut [&mut world.hub]);
    }
    world.rest();
}

#[test]
fn every_prefix_of_the_writes_leads_to_the_same_end() {
    let end = |steps: usize| {
        let mut world = World::new();
        world.offer("offer", &["east"]);
        rest_after_a_crash(&mut world, steps);
        world.accept("east", true);
        rest_after_a_crash(&mut world, steps);
        world.export("east", "u1");
        world.export("east", "u2");
        rest_after_a_crash(&mut world, steps);
        let running = [world.status("east", "u1"), world.status("east", "u2")];
        world.stop("east", "u1", 5);
        rest_after_a_crash(&mut world, steps);
        assert_eq!(world.hub.names(kinds::POD_IMPORT).len(), 1, "{steps}");
        world.hub.delete(kinds::OFFLOAD_OFFER, &in_member("west", "offer")).unwrap();
        rest_after_a_crash(&mut world, steps);
        assert_eq!(world.phase("east"), Some("Withdrawn"));
        world.stop("east", "u2", 5);
        world.edit(kinds::VIRTUAL_NODE, &in_member("east", "west"), |node| {
            node["status"] = json!({ "accepted": false });
        });
        rest_after_a_crash(&mut world, steps);
        for kind in
            [kinds::POD_EXPORT, kinds::POD_IMPORT, kinds::VIRTUAL_NODE, kinds::OFFLOAD_OFFER]
        {
            assert_eq!(world.hub.names(kind).len(), 0, "{steps} {}", kind.kind);
        }
        running
    };
    let expected = end(10);
    assert_eq!(expected[0]["remote"]["phase"], "Running");
    for steps in 0..3 {
        assert_eq!(end(steps), expected, "{steps}");
    }
}

/// Something that a member, an administrator, a failure or the agent does.
fn act(world: &mut World, choices: &mut Choices, made: &mut usize) {
    let uid = format!("u{}", choices.below(*made + 1));
    let name = in_member("east", &uid);
    let export = world.hub.get(kinds::POD_EXPORT, &name);
    let is_live = export.is_some_and(|export| export["metadata"]["deletionTimestamp"].is_null());
    match choices.below(12) {
        0 | 1 => {
            *made += 1;
            world.export("east", &format!("u{made}"));
        }
        2 if is_live => world.stop("east", &uid, 5),
        3 => world.obey(),
        4 => world.hear("east", Some(LinkState::Silent)),
        5 => world.hear("east", Some(LinkState::Connected)),
        6 => world.hub.advance(i64::try_from(choices.below(4000)).unwrap()),
        7 => world.edit(kinds::OFFLOAD_OFFER, &in_member("west", "offer"), |offer| {
            offer["spec"]["draining"] = json!(choices.below(2) == 0);
        }),
        8 => world.lose([kinds::POD_EXPORT, kinds::POD_IMPORT][choices.below(2)]),
        _ => {
            for mut plan in world.plans(&world.snapshot()) {
                plan.steps.truncate(choices.below(3));
                execute(&plan, &mut [&mut world.hub]);
            }
        }
    }
}

/// Plans of an older snapshot are refused where they no longer fit, and do no harm where they do.
#[test]
fn whatever_happens_imports_are_the_exports_that_are_accepted() {
    for seed in 0..60 {
        let (mut world, mut choices, mut made) = (World::accepted(), Choices(seed), 0);
        for _ in 0..40 {
            let late = world.plans(&world.snapshot());
            act(&mut world, &mut choices, &mut made);
            if choices.below(3) == 0 {
                for plan in late {
                    execute(&plan, &mut [&mut world.hub]);
                }
            }
        }
        world.hear("east", Some(LinkState::Connected));
        world.rest();
        let exports = world.hub.names(kinds::POD_EXPORT);
        let carried = exports.iter().filter(|name| {
            let status = world.status("east", &name.name);
            status["accepted"] == true && status["released"] != true
        });
        let mut expected: Vec<_> = carried.map(|name| format!("{}.east", name.name)).collect();
        expected.sort_unstable();
        let imports: Vec<_> =
            world.hub.names(kinds::POD_IMPORT).iter().map(|name| name.name.to_string()).collect();
        assert_eq!(imports, expected, "seed {seed}");
        world.writes();
        world.rest();
        assert_eq!(world.writes(), [""; 0], "seed {seed}");
    }
}
