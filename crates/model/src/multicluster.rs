//! What is in force for a Service that several clusters export by the standard API: a pure function of their exports and of
//! what was in force before.
//!
//! - [`metadata`]: which exported labels and annotations may be on imports.
//! - [`export`]: an export, with the defaults of Kubernetes, and which export is older.
//! - [`mode`]: whether an agent serves the standard API.
//! - [`ports`]: the union of the ports.
//! - [`conflicts`]: in what exports differ, for their users.
//! - [`resolution`]: all of it.

pub mod conflicts;
pub mod export;
pub mod metadata;
pub mod mode;
pub mod ports;
pub mod resolution;
mod room;
mod yielding;

#[cfg(test)]
mod tests;
