//! Notes of the process that led, in the Lease by which the agents of a cluster elect a leader.

use std::collections::BTreeMap;

use fleet_accumulator::{ClusterId, Reached, Snapshot as _};
use fleet_api::traffic::{DRAINS, FOLLOWED, VERDICTS};
use member_agent::app::embedded::{hand_on, take_over};
use member_agent::snapshot::MemberSnapshot;
use member_agent::traffic_memory::TrafficMemory;
use proptest::prelude::*;
use serde_json::{Value, json};

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
        "reverted_in": "hub/1",
    } });
    let many = (0_usize..6000).prop_map(|count| {
        let entry =
            |at| json!({ "service": format!("shop/web-{at}"), "percent": 1, "reason": "Drained" });
        let entries: Vec<_> = (0..count).map(entry).collect();
        json!({ "east": { "uid": "u", "serial": 7, "held": [], "entries": entries } }).to_string()
    });
    prop_oneof![6 => changed(sample), 1 => many, 3 => strange()]
}

fn verdicts() -> impl Strategy<Value = String> {
    let sample = json!({
        "east": { "uid": "u", "serial": 7, "seconds": 900 },
        "west": { "uid": "v", "serial": 9, "seconds": 3 },
    });
    let many = (0_usize..4000).prop_map(|count| {
        let verdict = json!({ "uid": "u", "serial": 7, "seconds": 900 });
        let all = (0..count).map(|at| (format!("member-{at}"), verdict.clone()));
        all.collect::<Value>().to_string()
    });
    prop_oneof![6 => changed(sample), 1 => many, 3 => strange()]
}

/// A note, or what mutations make of it.
fn changed(sample: Value) -> impl Strategy<Value = String> {
    prop::collection::vec(any_mutation(), 0..4).prop_map(move |mutations| {
        let mut note = sample.clone();
        for mutation in &mutations {
            mutation.apply(&mut note);
        }
        note.to_string()
    })
}

/// What is no note at all.
fn strange() -> impl Strategy<Value = String> {
    prop_oneof![text(), (0_usize..4000).prop_map(|deep| "[".repeat(deep))]
}

/// The next process knows what this one knew, as far as it fits into a Lease, and hands on the same.
#[test]
fn what_was_noted_is_handed_on() {
    check(SEEDS, 64, &(drains(), verdicts(), text()), |(drains, verdicts, followed)| {
        let noted =
            [(DRAINS, &drains), (VERDICTS, &verdicts), (FOLLOWED, &followed), ("other", &followed)];
        let noted: BTreeMap<_, _> =
            noted.into_iter().map(|(name, text)| (name.to_owned(), text.clone())).collect();
        let size = drains.len() + verdicts.len() + followed.len();
        let first = TrafficMemory::default();
        let handed_on = bounded(size, 64, || {
            take_over(&first, noted);
            hand_on(&first)
        })?;
        let known = [DRAINS, VERDICTS, FOLLOWED];
        prop_assert!(handed_on.keys().all(|name| known.contains(&name.as_str())));
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

/// Sources with versions, and whatever others have written there.
fn reached() -> impl Strategy<Value = String> {
    let sources = MemberSnapshot::sources();
    let known = (0..sources.len()).prop_map(move |at| sources[at].field.to_owned());
    let version = prop_oneof![
        6 => any::<u64>().prop_map(|version| version.to_string()),
        1 => (0_usize..400).prop_map(|digits| "9".repeat(digits)),
        1 => text(),
    ];
    let name = prop_oneof![8 => known, 1 => text()];
    let part = (name, version).prop_map(|(name, version)| format!("{name}={version}"));
    prop::collection::vec(part, 0..40).prop_map(|parts| parts.join(","))
}

/// How far the hub was is about sources of the hub, fits into a Lease beside the rest, and is the same for the next process.
#[test]
fn how_far_the_hub_was_is_handed_on() {
    let sources = MemberSnapshot::sources();
    check(SEEDS, 64, &reached(), |note| {
        let handed_on = |note: &str| {
            let process = Reached::by(sources);
            process.take_over(ClusterId::Hub, note);
            (process.hand_on(ClusterId::Hub).unwrap_or_default(), process.hand_on(ClusterId::Local))
        };
        let (first, of_own) = bounded(note.len(), 64, || handed_on(&note))?;
        prop_assert!(first.len() < 4 << 10, "{}", first.len());
        prop_assert_eq!(of_own, None);
        prop_assert_eq!(handed_on(&first).0, first);
        Ok(())
    });
}
