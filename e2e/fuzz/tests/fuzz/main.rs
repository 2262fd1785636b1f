//! Whatever others have written is read: texts, names, tokens, certificates and requests for them, kubeconfigs, objects of every
//! kind, answers of API servers, schemas of hubs, configurations of CoreDNS and kube-proxy, addresses of the map, notes, and recordings, as hostile as chance makes them. Each file asks of one kind of input what has to hold for any of it.
//!
//! Without variables few cases run, always the same. `FLEET_FUZZ_SECONDS=60` tries new ones for so long in each test. What once
//! failed is in `corpus/`, and is tried first.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "clippy takes only #[test] functions for tests"
)]

mod addresses;
mod agents;
mod answers;
mod certificates;
mod corefiles;
mod corpus;
mod kubeconfigs;
mod lists;
mod memory;
mod mutation;
mod names;
mod notes;
mod objects;
mod pods;
mod proxies;
mod recordings;
mod requests;
mod runner;
mod schemas;
mod texts;
mod tokens;
