//! Fleets in one process, whose API servers are models in memory: what a fleet converges to, whole agents at the protocol,
//! and members that run the Go agents' rules beside ours.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy takes only #[test] functions for tests"
)]

#[path = "../../examples/replay/agent.rs"]
mod agent;
mod agents;
mod convergence;
#[path = "../../examples/replay/fleet.rs"]
#[allow(dead_code, reason = "the replay uses the rest")]
mod fleet;
mod growth;
mod mixed_fleet;
#[path = "../../examples/replay/server.rs"]
mod server;
