//! Decides which members are silent, and how far drains are. Pure: it is handed what watches show, and the time of a clock that
//! runs evenly. The rules are in docs/design/traffic.md.
//!
//! Its decisions depend on what it saw before, so that a task calls it and hands the decisions to the controller, which writes
//! them. A decision follows from what is stored and from what this process has seen: one that was not written, by a process that
//! stopped, is made again by the next.

mod decider;
mod drains;
mod exporters;
mod history;
mod lanes;
mod progress;
mod renewals;
mod reported;
mod serials;
mod settings;
mod standpoint;
mod subject;

#[cfg(test)]
mod tests;

pub use decider::{Decider, Decisions};
pub use exporters::{ServiceExporter, exporters_of, services_of, unserved};
pub use lanes::Lane;
