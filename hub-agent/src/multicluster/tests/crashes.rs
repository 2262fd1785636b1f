//! The agent stops after any write, sees the hub late, and members do what they like: it always gets to the same end.

use fleet_api::{ObjectName, kinds};
use fleet_model_server::execute;
use serde_json::{Value, json};

use super::world::{World, export, in_member, of_web};

const MEMBERS: [&str; 4] = ["a", "b", "c", "d"];

/// A small deterministic source of choices.
struct Choices(u64);

impl Choices {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn seconds(&mut self, limit: usize) -> i64 {
        i64::try_from(self.below(limit)).unwrap()
    }
}

/// Executes plans until they are empty, but the first one only up to a number of steps.
fn settle_after_a_crash(world: &mut World, steps: usize) {
    for mut plan in world.plans(&world.snapshot()) {
        plan.steps.truncate(steps);
        execute(&plan, &mut [&mut world.hub]);
    }
    world.settle();
}

#[test]
fn every_prefix_of_the_writes_leads_to_the_same_end() {
    let end = |steps: usize| {
        let mut world = World::exported();
        world.export("b", 81);
        world
            .hub
            .create(kinds::EXPORTED_SERVICE, &in_member("b", "twin"), export("b", 82))
            .unwrap();
        settle_after_a_crash(&mut world, steps);
        world.unexport("a");
        settle_after_a_crash(&mut world, steps);
        let [resolved, twin] = [
            world.resolved().unwrap().clone(),
            world.hub.get(kinds::EXPORTED_SERVICE, &in_member("b", "twin")).unwrap().clone(),
        ];
        world.unexport("b");
        world.hub.delete(kinds::EXPORTED_SERVICE, &in_member("b", "twin")).unwrap();
        settle_after_a_crash(&mut world, steps);
        world.hub.advance(4000);
        settle_after_a_crash(&mut world, steps);
        assert_eq!(world.hub.names(kinds::RESOLVED_SERVICE), [] as [ObjectName; 0]);
        [resolved["spec"].clone(), twin["status"].clone()]
    };
    let expected = end(10);
    for steps in 0..3 {
        assert_eq!(end(steps), expected, "{steps}");
    }
}

/// Something that a member, an administrator or the agent does.
fn act(world: &mut World, choices: &mut Choices) {
    let member = MEMBERS[choices.below(4)];
    let (name, number) = (of_web(member), [80, 81, 82][choices.below(3)]);
    let there = world.hub.get(kinds::EXPORTED_SERVICE, &name).is_some();
    let report = in_member(member, member);
    match choices.below(8) {
        0 | 1 if !there => world.export(member, number),
        2 if there => world.unexport(member),
        3 if there => world.edit(kinds::EXPORTED_SERVICE, &name, |export: &mut Value| {
            export["spec"]["ports"][0]["port"] = json!(number);
            export["spec"]["type"] = json!(if number == 80 { "Headless" } else { "ClusterSetIP" });
        }),
        4 if world.hub.get(kinds::CLUSTER_REPORT, &report).is_some() => {
            world.hub.delete(kinds::CLUSTER_REPORT, &report).unwrap();
        }
        5 if world.hub.get(kinds::CLUSTER_REPORT, &report).is_none() => {
            let spec = json!({ "spec": { "clusterUid": format!("{member}-cluster") } });
            world.hub.create(kinds::CLUSTER_REPORT, &report, spec).unwrap();
        }
        6 => world.hub.advance(choices.seconds(4000)),
        _ => {
            let plans = world.plans(&world.snapshot());
            for mut plan in plans {
                plan.steps.truncate(choices.below(3));
                execute(&plan, &mut [&mut world.hub]);
            }
        }
    }
}

/// Plans of an older snapshot are refused where they no longer fit, and do no harm where they do.
#[test]
fn whatever_happens_the_end_is_what_is_exported() {
    for seed in 0..60 {
        let (mut world, mut choices) = (World::new(), Choices(seed));
        for _ in 0..40 {
            let late = world.plans(&world.snapshot());
            act(&mut world, &mut choices);
            if choices.below(3) == 0 {
                for plan in late {
                    execute(&plan, &mut [&mut world.hub]);
                }
            }
        }
        for member in MEMBERS {
            let spec = json!({ "spec": { "clusterUid": format!("{member}-cluster") } });
            world.hub.create(kinds::CLUSTER_REPORT, &in_member(member, member), spec).ok();
        }
        world.settle();
        let exported = world.hub.names(kinds::EXPORTED_SERVICE);
        let expected: Vec<_> =
            MEMBERS.into_iter().filter(|it| exported.contains(&of_web(it))).collect();
        assert_eq!(world.exporters(), expected, "seed {seed}");
        assert!(world.hub.names(kinds::RESOLVED_SERVICE).len() <= 1, "seed {seed}");
        world.writes();
        world.settle();
        assert_eq!(world.writes(), [""; 0], "seed {seed}");
    }
}
