//! `fleetctl doctor`: what keeps the standard API, and names in clusterset.local, from working.
//!
//! - [`seen`]: what hub and members showed at one moment; `gather` reads it with the user's rights, `project` takes from each object
//!   what checks look at.
//! - [`checks`]: the table of checks, each a pure function from that to findings. [`report`]: their results.
//! - `run`: the command.

pub mod check;
pub mod checks;
pub mod corefile;
pub mod finding;
mod gather;
mod list;
mod project;
mod reader;
pub mod report;
mod run;
pub mod seen;
pub mod subject;
#[cfg(test)]
mod testing;

pub(crate) use run::run;
