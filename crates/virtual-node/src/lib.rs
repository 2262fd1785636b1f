//! Pods of one member that run in another: all decisions, without I/O.
//!
//! - [`pod`]: what of a Pod crosses, by one table for origin, hub and executor.
//! - [`config`]: config maps and Secrets that cross with it and follow their source.
//! - [`environment`]: the environment of containers, for providers without a kubelet.
//! - [`life`]: what is to be done about one Pod, by its uid.
//! - [`status`]: the status of a Pod, from the executor to the origin.
//! - [`node`]: the Node that stands for an executor.
//! - [`hub`]: what the hub agent makes of offers and exports.
//! - [`executor`]: what an executor makes of a Pod, and reports.
//! - [`provider`]: the seam for other backends, and the two that there are.
//! - [`names`]: names of it all.
//!
//! A Pod is read as JSON, not as a type of Kubernetes: a type drops fields that are newer than itself, and each of these has to
//! refuse the Pod, by its name.

mod condition;
pub mod config;
pub mod environment;
pub mod executor;
pub mod hub;
pub mod life;
pub mod names;
pub mod node;
pub mod pod;
pub mod provider;
pub mod status;

pub use condition::Condition;

#[cfg(test)]
mod protocol_tests;
