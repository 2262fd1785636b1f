//! `fleetctl doctor`: what keeps Services, the standard API, names in clusterset.local, and Pods in other members from working.
//!
//! - [`seen`]: what hub and members showed at one moment; `gather` reads it with the user's rights, `project` takes from each object
//!   what checks look at.
//! - [`checks`]: the table of checks, each a pure function from that to findings. [`report`]: their results.
//! - `plan`: the commands that mend what was found, as a script to be read.
//! - `run`: the command.

mod account;
pub mod check;
pub mod checks;
pub mod corefile;
mod fields;
pub mod finding;
mod gather;
mod list;
mod mend;
mod plan;
mod project;
mod reader;
pub mod report;
mod rights;
mod run;
mod schema;
pub mod seen;
pub mod subject;
#[cfg(test)]
mod testing;

pub(crate) use run::run;
