//! Proof of reachability: what is dialled next, and what the results mean. Pure; the dials are made in `reach_tasks`.
//!
//! - [`targets`]: what may be dialled, by what is imported here. Nothing else is.
//! - [`prober`]: which of them is next, at a bounded rate, and the results of each.
//! - [`evidence`]: when results of one target are enough to call it unreachable, and when it is reached again.
//! - [`verdict`]: where it stops: the name, the address, the route, or the endpoint.
//! - [`report`]: the object on the hub, and when it is written.

pub(crate) mod cell;
pub(crate) mod evidence;
pub(crate) mod outcome;
pub(crate) mod prober;
pub(crate) mod report;
pub(crate) mod targets;
pub(crate) mod verdict;

#[cfg(test)]
mod tests;
