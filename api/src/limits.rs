//! Bounds of what members write to the hub, in one table. The definitions of the kinds, the hub's admission policies and
//! the agents' checks on reading come from it.
//!
//! Agents of the original copy what their API servers accept, so no bound is lower than that of Kubernetes for the same
//! field, but for the number of ports that is accepted.

mod bound;
mod fields;
mod table;

pub use bound::{Bound, Unit};
pub use fields::of_kind;
pub use table::{
    SERVICE_PORTS, SERVICE_PORTS_IN_FORCE, exported, port, reference, report, resolved, service,
    slice,
};
