//! Whole accumulators with events fed by hand and time that stands still.

mod brake;
mod cursors;
mod gate;
mod kube_feed;
mod properties;
mod states;
mod support;
mod waits;
