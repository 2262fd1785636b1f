//! Our reconciler of EndpointSlices against Kubernetes' own, on random scenarios.
//!
//! Two programs answer the same lines: `endpointslice-oracle`, built from Kubernetes' published modules, and the example
//! `reconcile-jsonl` of our crate. Their outcomes must be equal but for the [`differences`] that were decided. The
//! original chooses at random in places, so it answers each scenario several times, and one equal outcome is enough.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use serde_json::{Value, json};

mod compare;
mod decided;
mod differences;
mod operations;
mod program;
mod sanity;
mod written;

use compare::Comparison;
use program::{ask_oracle, ask_ours, generate};

/// As often as the original must choose differently to be believed to have no other choice.
const DOUBT: u32 = 64;

/// The same scenarios every time.
#[test]
fn two_thousand_scenarios_come_to_the_same() {
    compare_random(2000, 1);
}

/// Other scenarios every time. The seed is printed; `FLEET_SEED` takes it, and `endpointslice-oracle -gen 400 -seed SEED`
/// makes the same scenarios.
#[test]
fn fresh_scenarios_come_to_the_same() {
    let given = std::env::var("FLEET_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| RandomState::new().build_hasher().finish() % 1_000_000_000);
    eprintln!("seed {seed}");
    compare_random(400, seed);
}

fn compare_random(count: usize, seed: u64) {
    let scenarios = generate(count, seed);
    assert_eq!(scenarios.len(), count);
    let theirs = ask_oracle(&["-brief", "-runs", "2"], &scenarios);
    let ours = ask_ours(&["-brief"], &scenarios);
    let mut explained: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for ((scenario, theirs), ours) in scenarios.iter().zip(&theirs).zip(&ours) {
        sanity::check(scenario, ours);
        match compare::judge(scenario, theirs, ours) {
            Comparison::Equal => {}
            Comparison::Explained(difference) => *explained.entry(difference).or_default() += 1,
            Comparison::Different(_) => match doubt(scenario, ours) {
                Comparison::Equal => {}
                Comparison::Explained(difference) => *explained.entry(difference).or_default() += 1,
                Comparison::Different(how) => wrong.push(format!("{scenario}\n{how}")),
            },
        }
    }
    eprintln!("seed {seed}: {count} scenarios, decided differences in {explained:?}");
    assert!(
        wrong.is_empty(),
        "{} of {count} scenarios of seed {seed} differ, first:\n{}",
        wrong.len(),
        wrong[0]
    );
    let explained: usize = explained.values().sum();
    assert!(
        explained * 20 < count,
        "{explained} of {count} differ as decided: too many to be that"
    );
}

/// Asks the original again, often and in other orders, before it is believed to differ.
fn doubt(scenario: &Value, ours: &Value) -> Comparison {
    let mut again = scenario.clone();
    again["config"]["runs"] = json!(DOUBT);
    again["config"]["shuffle"] = json!(true);
    let theirs = ask_oracle(&[], std::slice::from_ref(&again)).remove(0);
    compare::judge(scenario, &theirs, ours)
}
