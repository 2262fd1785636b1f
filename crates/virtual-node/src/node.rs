//! The Node that stands for an executor in the cluster of an origin.

mod amount;
mod conditions;
mod document;
mod lease;
mod pause;

pub use amount::{Amount, least};
pub use conditions::{NodeHealth, conditions, ready_reason};
pub use document::{DesiredNode, is_recreated, labels, node_document, taints};
pub use lease::{LEASE_DURATION, LEASE_RENEWAL, Renewal, lease_document, renewal};
pub use pause::{PENDING_TIMEOUT, pause};

#[cfg(test)]
mod tests;
