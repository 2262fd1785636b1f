//! Runs a target.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use crate::corpus;
use crate::input::recipes;
use crate::targets::Target;

/// Changed inputs of a batch: all with one seed of the generator.
const BATCH: u32 = 200;

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Effort {
    /// In `cargo test`: the same inputs each time.
    Short,
    Seconds(u64),
}

/// Reads all inputs that are kept, and then changed copies.
///
/// # Panics
/// If one of them fails.
pub(crate) fn run(target: &Target, effort: Effort) {
    let mut seeds = Vec::new();
    for (name, input) in corpus::files(target.name) {
        read(target, &input).unwrap_or_else(|why| panic!("{} {name}: {why}", target.name));
        seeds.push(input);
    }
    for input in (target.examples)() {
        read(target, &input).unwrap_or_else(|why| panic!("{}: an example: {why}", target.name));
        seeds.push(input);
    }
    let (until, first) = match effort {
        Effort::Short => (None, 0),
        Effort::Seconds(seconds) => {
            let until = Instant::now() + Duration::from_secs(seconds);
            let now = new_seed();
            eprintln!("{}: seeds from {now}", target.name);
            (Some(until), now)
        }
    };
    let mut batches = 0;
    loop {
        batch(target, &seeds, first + batches, until.map_or(target.short, |_| BATCH));
        batches += 1;
        if until.is_none_or(|until| Instant::now() >= until) {
            break;
        }
    }
    if until.is_some() {
        eprintln!("{}: {} inputs", target.name, batches * u64::from(BATCH));
    }
}

/// Another seed each time. It is printed, and what fails is kept.
#[expect(clippy::disallowed_methods, reason = "no decision depends on it")]
fn new_seed() -> u64 {
    jiff::Timestamp::now().as_millisecond().unsigned_abs() * 1000
}

fn batch(target: &Target, seeds: &[Vec<u8>], seed: u64, cases: u32) {
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 2000, ..Config::default() };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(config, random);
    let result = runner.run(&recipes(target.is_json), |recipe| {
        read(target, &recipe.make(seeds)).map_err(TestCaseError::fail)
    });
    if let Err(TestError::Fail(why, recipe)) = result {
        let input = recipe.make(seeds);
        let path = corpus::keep(target.name, &input);
        let text = String::from_utf8_lossy(&input[..input.len().min(2000)]).into_owned();
        panic!("{}: {why}\n{text}\nkept in {}", target.name, path.display());
    }
}

fn read(target: &Target, input: &[u8]) -> Result<(), String> {
    let result = catch_unwind(AssertUnwindSafe(|| match target.bound {
        Some(bound) => bound.check(input, target.read),
        None => (target.read)(input),
    }));
    result.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        text.unwrap_or_else(|| "a panic".to_owned())
    })
}
