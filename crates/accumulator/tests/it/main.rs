//! Whole accumulators with events fed by hand and time that stands still.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod back_in_time;
mod calm;
mod cursors;
mod gate;
mod kube_feed;
mod lists;
mod mass_deletion;
mod properties;
mod speed;
mod states;
mod support;
mod waits;
