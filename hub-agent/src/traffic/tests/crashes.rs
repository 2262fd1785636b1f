//! The hub agent stops after any write, is late, and members and administrators do what they like: it always gets to the same end,
//! and keeps what it promises on the way.

use serde_json::json;

use super::world::World;

const MEMBERS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// A small deterministic source of choices.
struct Choices(u64);

impl Choices {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn member(&mut self) -> &'static str {
        MEMBERS[usize::try_from(self.below(6)).unwrap()]
    }
}

/// A process that sends so many writes of each plan and ends, and one that takes over.
fn crash(world: &mut World, writes: usize) {
    world.writes_sent = writes;
    world.pass(1);
    world.restart();
    world.writes_sent = usize::MAX;
}

/// Drain, undrain, ejection and return, each with a crash at each write.
#[test]
fn every_prefix_of_the_writes_leads_to_the_same_end() {
    let end = |writes: usize| {
        let mut world = World::settled(&MEMBERS);
        for member in ["a", "b"] {
            world.export(member, "web", 3);
        }
        let mut seen = Vec::new();
        world.drain("a", "*", 100, 60);
        for _ in 0..3 {
            crash(&mut world, writes);
            world.pass(62);
        }
        seen.push(json!(world.status("a").drains));
        world.drain("a", "*", 0, 60);
        for _ in 0..3 {
            crash(&mut world, writes);
            world.pass(62);
        }
        seen.push(json!(world.status("a").drains));
        world.alive.remove("c");
        world.pass(59);
        for _ in 0..3 {
            crash(&mut world, writes);
            world.pass(62);
        }
        seen.push(json!(world.verdict("c")));
        world.alive.insert("c");
        for _ in 0..6 {
            crash(&mut world, writes);
            world.pass(62);
        }
        seen.push(json!(world.verdict("c")));
        seen
    };
    let expected = end(usize::MAX);
    assert_eq!(expected[0][0]["percent"], 100);
    assert_eq!(expected[1], json!([]));
    assert_eq!(expected[2], json!(["Silent", 100]));
    assert_eq!(expected[3], json!(["Heard", 0]));
    assert_eq!(end(0), expected);
    assert_eq!(end(1), expected);
}

/// Something that a member, an administrator, a failure or the agent does.
fn act(world: &mut World, choices: &mut Choices) {
    let member = choices.member();
    match choices.below(9) {
        0 | 1 => drop(world.alive.remove(member)),
        2 | 3 => drop(world.alive.insert(member)),
        4 => {
            let percent = i64::try_from(choices.below(3)).unwrap() * 50;
            let over = i64::try_from(choices.below(3)).unwrap() * 60;
            world.drain(member, "*", percent, over);
        }
        5 => world.export(member, "web", usize::try_from(choices.below(3)).unwrap()),
        6 => world.restart(),
        7 => world.leads = !world.leads,
        _ => world.writes_sent = usize::try_from(choices.below(2)).unwrap(),
    }
}

#[test]
fn whatever_happens_the_bounds_hold_and_all_returns() {
    for seed in 0..4 {
        let (mut world, mut choices) = (World::settled(&MEMBERS), Choices(seed));
        let mut serials = MEMBERS.map(|member| world.status(member).serial);
        for _ in 0..25 {
            act(&mut world, &mut choices);
            world.pass(1 + choices.below(40));
            let silent = MEMBERS.iter().filter(|member| world.verdict(member).0 == "Silent");
            assert!(silent.count() <= 1, "seed {seed}: 20 percent of six is one");
            let now = MEMBERS.map(|member| world.status(member).serial);
            assert!(now.iter().zip(serials).all(|(new, old)| *new >= old), "seed {seed}");
            serials = now;
        }
        world.alive.extend(MEMBERS);
        (world.leads, world.writes_sent) = (true, usize::MAX);
        for member in MEMBERS {
            world.request(member, json!([]));
        }
        world.pass(900);
        for member in MEMBERS {
            let status = world.status(member);
            assert_eq!(world.verdict(member), ("Heard", 0), "seed {seed} {member}");
            assert!(status.drains.is_empty() && status.held_services.is_empty(), "seed {seed}");
        }
        let mut all: Vec<_> = MEMBERS.map(|member| world.status(member).serial).into();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), MEMBERS.len(), "seed {seed}: no two changes have one serial");
        world.writes();
        world.pass(120);
        assert_eq!(world.writes(), 0, "seed {seed}");
    }
}
