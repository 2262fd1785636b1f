//! Fleets in one process, whose API servers are models in memory: what a fleet converges to, whole agents at the protocol,
//! and members that run the Go agents' rules beside ours.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy takes only #[test] functions for tests"
)]

mod agents;
mod convergence;
mod mixed_fleet;
