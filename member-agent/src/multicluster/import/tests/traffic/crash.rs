//! The agent is killed after any write of a drain, an undrain, an ejection or a return: the next one gets to the same end.

use fleet_model_server::execute;

use super::super::world::World;
use super::given::local_first;
use crate::traffic_memory::TrafficMemory;

/// Something that is decided about "b" and "c", and where their endpoints are then.
type Act = (&'static str, fn(&mut World), &'static str);

fn drain(world: &mut World, serial: i64, percent: i64) {
    world.drain("b", serial, percent);
    world.drain("c", serial + 1, percent);
}

/// Of three members one may be silent.
fn silence(world: &mut World, serial: i64, percent: i64) {
    world.decide("a", serde_json::json!({ "serial": 1 }));
    world.decide("c", serde_json::json!({ "serial": 1 }));
    world.silence("b", serial, percent);
}

const ACTS: [Act; 4] = [
    ("drain", |world| drain(world, 11, 100), "last"),
    ("undrain", |world| drain(world, 13, 0), "second"),
    ("ejection", |world| silence(world, 15, 100), "last"),
    ("return", |world| silence(world, 16, 0), "second"),
];

/// The slots of "b" after all acts up to one, the last of which is interrupted after so many writes.
fn end(act: usize, written: usize) -> (Vec<String>, usize) {
    let mut world = local_first();
    // Several slices, so that a change takes several writes.
    world.export_slice("b", "web-2", &["10.1.0.3"]);
    world.settle();
    for (_, happen, _) in &ACTS[..act] {
        happen(&mut world);
        world.settle();
    }
    ACTS[act].1(&mut world);
    let mut plan = world.plan();
    let steps = plan.steps.len();
    plan.steps.truncate(written);
    execute(&plan, &mut [&mut world.own, &mut world.hub]);
    world.memory = TrafficMemory::new(world.clock.clone());
    world.settle();
    world.rest();
    (world.slots_of("b"), steps)
}

#[test]
fn every_prefix_of_the_writes_leads_to_the_same_end() {
    for (act, (what, _, slot)) in ACTS.into_iter().enumerate() {
        let (whole, steps) = end(act, usize::MAX);
        assert!(steps >= 2, "{what}: {steps} writes");
        assert!(whole.len() == 3 && whole.iter().all(|it| it.ends_with(slot)), "{what}: {whole:?}");
        for written in 0..steps {
            assert_eq!(end(act, written).0, whole, "{what} {written}");
        }
    }
}
