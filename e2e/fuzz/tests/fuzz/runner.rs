//! How many cases run, and where those are kept that have failed.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{
    Config, FileFailurePersistence, RngAlgorithm, TestCaseError, TestRng, TestRunner,
};

/// Cases between two looks at the clock.
const ROUND: u32 = 64;

/// Asks `test` of values of a strategy: of `cases` of them, or of as many as time allows. `seeds` is a file of the corpus.
#[track_caller]
pub(crate) fn check<S: Strategy>(
    seeds: &'static str,
    cases: u32,
    strategy: &S,
    test: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let seconds = std::env::var("FLEET_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let config = Config {
        cases: if seconds.is_some() { ROUND } else { cases },
        max_shrink_iters: 4096,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(seeds))),
        ..Config::default()
    };
    let Some(seconds) = seconds else {
        // Always the same: a test that fails from time to time is of no use to who changes something else.
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        return run(&mut TestRunner::new_with_rng(config, rng), strategy, &test);
    };
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut rounds = 0;
    while Instant::now() < end {
        run(&mut TestRunner::new(config.clone()), strategy, &test);
        rounds += 1;
    }
    println!("{seeds}: {} cases", rounds * ROUND);
}

#[track_caller]
fn run<S: Strategy>(
    runner: &mut TestRunner,
    strategy: &S,
    test: &impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    if let Err(error) = runner.run(strategy, test) {
        panic!("{error}");
    }
}
