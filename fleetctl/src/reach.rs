//! What members reach of what they import, by the reports of their agents on the hub.
//!
//! - [`reached`]: what reports mean. Pure.
//! - `snapshot`: the reports as a watch shows them. `run`: `fleetctl status --reach`.

pub mod reached;
mod run;
pub(crate) mod snapshot;

pub(crate) use run::run;
