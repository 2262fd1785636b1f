//! Notes of the process that led, in the Lease by which the agents of a cluster elect a leader.

use std::collections::BTreeMap;

use fleet_api::traffic::{DRAINS, FOLLOWED};
use member_agent::app::embedded::{hand_on, take_over};
use member_agent::traffic_memory::TrafficMemory;
use proptest::prelude::*;
use serde_json::json;

use crate::memory::bounded;
use crate::mutation::{any_mutation, text};
use crate::runner::check;

const SEEDS: &str = "corpus/notes.txt";

fn drains() -> impl Strategy<Value = String> {
    let sample = json!({ "east": {
        "uid": "u", "serial": 7, "held": ["shop/db"],
        "entries": [
            { "service": "*", "percent": 100, "reason": "Drained" },
            { "service": "shop/web", "percent": 50, "removed": true, "reason": "Draining" },
        ],
        "reverted": ["v", [{ "service": "*", "percent": 10 }]],
    } });
    let changed = prop::collection::vec(any_mutation(), 0..4).prop_map(move |mutations| {
        let mut drains = sample.clone();
        for mutation in &mutations {
            mutation.apply(&mut drains);
        }
        drains.to_string()
    });
    let many = (0_usize..6000).prop_map(|count| {
        let entry =
            |at| json!({ "service": format!("shop/web-{at}"), "percent": 1, "reason": "Drained" });
        let entries: Vec<_> = (0..count).map(entry).collect();
        json!({ "east": { "uid": "u", "serial": 7, "held": [], "entries": entries } }).to_string()
    });
    prop_oneof![6 => changed, 1 => many, 1 => text(), 1 => (0_usize..4000).prop_map(|deep| "[".repeat(deep))]
}

/// The next process knows what this one knew, as far as it fits into a Lease, and hands on the same.
#[test]
fn what_was_noted_is_handed_on() {
    check(SEEDS, 64, &(drains(), text()), |(drains, followed)| {
        let noted = [(DRAINS, &drains), (FOLLOWED, &followed), ("other", &followed)];
        let noted: BTreeMap<_, _> =
            noted.into_iter().map(|(name, text)| (name.to_owned(), text.clone())).collect();
        let size = drains.len() + followed.len();
        let first = TrafficMemory::default();
        let handed_on = bounded(size, 64, || {
            take_over(&first, noted);
            hand_on(&first)
        })?;
        prop_assert!(handed_on.keys().all(|name| [DRAINS, FOLLOWED].contains(&name.as_str())));
        let length: usize = handed_on.values().map(String::len).sum();
        prop_assert!(length < 200 << 10, "a Lease would be refused: {}", length);
        let followed = Some(followed).filter(|followed| followed.contains('/'));
        prop_assert_eq!(handed_on.get(FOLLOWED), followed.as_ref());

        let second = TrafficMemory::default();
        take_over(&second, handed_on.clone());
        prop_assert_eq!(hand_on(&second), handed_on);
        Ok(())
    });
}
