//! Whatever others wrote is read without a panic, with time and memory in proportion to its size, and what is refused loses nothing.
//!
//! A target reads one kind of input. Inputs are the files of `corpus/TARGET/`, examples that the target makes itself, and changed
//! copies of both: of their bytes, and of their structure where they are JSON. A short run with fixed seeds is part of
//! `cargo test`; `make soak-fuzz` runs each target for minutes, with new seeds. An input that fails is made small and kept in
//! `target/fuzz/`; moved to the corpus, it is read in each run.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "clippy takes only #[test] functions for tests"
)]

mod corpus;
mod cost;
mod examples;
mod input;
mod runner;
mod targets;

use runner::{Effort, run};
use targets::Target;

macro_rules! targets {
    ($($name:ident,)*) => {
        $(
            #[test]
            fn $name() {
                run(&targets::$name::TARGET, Effort::Short);
            }
        )*

        const ALL: &[&Target] = &[$(&targets::$name::TARGET),*];
    };
}

targets! {
    texts,
    names,
    credentials,
    objects,
    plans,
    notes,
    selectors,
    recordings,
}

/// Each target has its share of the time.
#[test]
#[ignore = "minutes"]
fn soak() {
    let seconds = std::env::var("FLEET_FUZZ_SECONDS").ok();
    let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(600);
    let share = seconds / u64::try_from(ALL.len()).unwrap();
    for target in ALL {
        run(target, Effort::Seconds(share.max(1)));
    }
}
