//! `fleetctl what-if`: what would become of the fleet after an action, before it is taken.
//!
//! - `action`: what is done; `rehearsal`: servers in memory with the objects of all clusters, and the agents that work on them.
//!   They make the same plans as the agents of the clusters, by the same functions: `agents`, `worker`, `seen`.
//! - `decisions`: what the hub agent decides about drains and silence, by a clock that is moved by hand.
//! - `compare`: which objects differ afterwards; `traffic`: which endpoints importers use; `foresee`: both,
//!   for the fleet with and without the action; `time`: for how long agents work on both; `answer`: the result.
//! - `run`: the command; `refused`: the answer where `fleetctl drain` would refuse.

mod action;
mod addresses;
mod agents;
mod answer;
mod args;
pub(crate) mod compare;
mod decisions;
mod documents;
mod foresee;
mod merged;
pub(crate) mod refused;
mod rehearsal;
mod run;
mod seen;
mod text;
mod time;
mod traffic;
mod worker;

pub use action::Action;
pub use answer::{Answer, ImporterTraffic, ObjectChange};
pub use args::WhatIfCommand;
pub use foresee::what_if;
pub use rehearsal::Rehearsal;
pub(crate) use run::run;
