//! The program `member-agent` as its users start it, and the references that are generated from both agents.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking; clippy takes only #[test] functions for tests"
)]

mod cli;
mod flags;
mod metrics;
mod secrets;
mod signals;
