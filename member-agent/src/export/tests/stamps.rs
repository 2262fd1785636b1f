//! The time since which a generation is exported (M6).

use fleet_api::kinds;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::world::{World, slice};

/// Generation and time of the only copy.
fn noted(world: &World) -> (i64, Timestamp) {
    let reference = world.copies()[0]["spec"]["endpointSliceReference"].clone();
    let since = reference["exportedSince"].as_str().unwrap().parse().unwrap();
    (reference["generation"].as_i64().unwrap(), since)
}

/// What may happen between two writes of the copy.
const CHANGES: [fn(&mut World); 5] = [
    // The endpoints of the slice.
    |world| {
        let change = |slice: &mut Value| {
            let generation = slice["metadata"]["generation"].as_i64().unwrap();
            slice["endpoints"] = json!([{ "addresses": [format!("10.1.9.{generation}")] }]);
        };
        world.own.edit(kinds::ENDPOINT_SLICE, &slice(), change).unwrap();
    },
    // Something of the slice that is not exported: another generation all the same.
    |world| {
        let change = |slice: &mut Value| {
            let generation = slice["metadata"]["generation"].clone();
            slice["metadata"]["labels"]["example.com/note"] = json!(generation.to_string());
        };
        world.own.edit(kinds::ENDPOINT_SLICE, &slice(), change).unwrap();
    },
    // A user changes the copy.
    |world| {
        let name = world.hub.names(kinds::ENDPOINT_SLICE_EXPORT).remove(0);
        let spoil = |copy: &mut Value| copy["spec"]["endpoints"] = json!([]);
        world.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &name, spoil).unwrap();
    },
    |world| world.own.advance(7),
    // The clock is set back.
    |world| world.own.advance(-5),
];

/// M6: over every order of such changes, the time changes with the generation only, never decreases,
/// and is never further ahead than a clock was.
#[test]
fn the_time_of_export_changes_with_the_generation_and_never_decreases() {
    let count = CHANGES.len();
    for order in 0..count.pow(4) {
        let mut world = World::exported();
        let mut latest = world.own.now();
        let mut before = noted(&world);
        for at in 0..4 {
            CHANGES[order / count.pow(at) % count](&mut world);
            latest = latest.max(world.own.now());
            world.settle();
            let now = noted(&world);
            assert!(now.0 >= before.0 && now.1 >= before.1, "{order}: {before:?} {now:?}");
            assert!(now.0 != before.0 || now.1 == before.1, "{order}: {before:?} {now:?}");
            assert!(now.1 <= latest, "{order}: {now:?}");
            before = now;
        }
    }
}
