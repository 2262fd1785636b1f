//! The life of a Pod on a virtual node: what is to be done about one uid now.
//!
//! Everything is found by the uid of the Pod, so a Pod that was made again under the same name is another one (V3). A decision
//! depends on what is observed and on times that were measured, never on what happened before: after a restart, or after any
//! sequence of events, it is the same.

mod dangling;
mod decide;
mod decision;
mod deleting;
mod export;
mod living;
mod observed;
mod state;
mod stop_after;

pub use dangling::{Fuse, Leftover, leftover};
pub use decide::decide;
pub use decision::{Action, Decision, Notice};
pub use observed::{ExportState, NodeState, Observed, Views};
pub use state::{State, state};
pub use stop_after::{CUT_OFF_GRACE_SECONDS, NOTICED, has_ended, stops};

#[cfg(test)]
mod tests;
