//! Random plans for a hub and twenty members of both front ends, with virtual time: crashes at any write, watches that are late,
//! silent or interrupted, lost requests, changes of the leader, clocks that are off, drains, silences, and hubs that are lost or
//! restored. The agents' own controllers and plans run, on API servers in memory. `docs/simulation.md` has more.
//!
//! `FLEET_SEED=17` repeats one plan, makes it shorter if it fails, and prints its steps.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "clippy takes only #[test] functions for tests"
)]

mod act;
mod base;
mod bookmarks;
mod desk;
mod effects;
mod env;
mod fleet;
mod hub;
mod late;
mod member;
mod process;
mod questions;
mod random;
mod record;
mod run;
mod servers;
mod shrink;
mod truth;
mod watch;
mod world;

use env::Moment;
use run::{Size, Totals, kill_at_each_write, run_all};

/// In `make test`.
const FEW: u64 = 40;
/// Of these each is run twice, in `make test`.
const REPEATED: u64 = 3;
/// In `make soak-plans`.
const MANY: u64 = 10_000;
/// Plans of which writes are tried, in `make soak-plans`.
const TRIED: u64 = 12;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

/// Small fleets and short plans: this is built without optimization.
#[test]
fn some_random_plans_hold() {
    check(Size::SMALL, FEW, |first, plans| run_all(Size::SMALL, first, plans));
}

#[test]
#[ignore = "half an hour"]
fn thousands_of_random_plans_hold() {
    check(Size::WHOLE, MANY, |first, plans| run_all(Size::WHOLE, first, plans));
}

/// Otherwise a seed that has failed may hold when it is repeated.
#[test]
fn a_seed_is_the_same_plan_each_time() {
    for seed in 1..=REPEATED {
        let [first, second] = [(), ()].map(|()| run::steps(Size::SMALL, seed));
        assert!(first.len() > 100, "seed {seed} has {} steps", first.len());
        let differs = first.iter().zip(&second).find(|(first, second)| first != second);
        assert_eq!(differs, None, "seed {seed}");
        assert_eq!(first.len(), second.len(), "seed {seed}");
    }
}

/// A process may die before, after and during any write.
#[test]
#[ignore = "minutes"]
fn a_death_at_any_write_changes_nothing() {
    let kill = |first, plans| kill_at_each_write(Size::SMALL, first, plans, 1);
    check(Size::SMALL, TRIED, kill);
}

/// The same in fleets of twenty, of which a tenth of the writes is tried.
#[test]
#[ignore = "minutes"]
fn a_death_in_a_whole_fleet_changes_nothing() {
    let kill = |first, plans| kill_at_each_write(Size::WHOLE, first, plans, 10);
    check(Size::WHOLE, TRIED, kill);
}

/// `run` gets the first seed, and how many there are.
#[track_caller]
fn check(size: Size, plans: u64, run: impl FnOnce(u64, u64) -> Totals) {
    if let Some(seed) = number("FLEET_SEED") {
        return run::repeat(size, seed, death());
    }
    let first = number("FLEET_FIRST_SEED").unwrap_or(1);
    let totals = run(first, number("FLEET_PLANS").unwrap_or(plans));
    eprintln!("{totals}");
    let missing = totals.missing();
    assert!(missing.is_empty(), "these disturbances never had an effect: {missing:?}");
    assert!(totals.failed.is_empty(), "{}", totals.failures());
}

/// The write at which a process is to die in a plan that is repeated.
fn death() -> Option<(usize, Moment)> {
    let write = usize::try_from(number("FLEET_WRITE")?).unwrap();
    let named = std::env::var("FLEET_MOMENT").unwrap_or_default();
    let moment = Moment::ALL.into_iter().find(|moment| format!("{moment:?}") == named);
    let moment = moment.unwrap_or_else(|| panic!("{named:?} is none of {:?}", Moment::ALL));
    Some((write, moment))
}
