//! Tests of the program and of its documentation, without a cluster.

#![allow(clippy::unwrap_used, reason = "clippy takes only #[test] functions for tests")]

mod cli;
mod docs;
mod doctor;
mod graph;
