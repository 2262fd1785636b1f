//! The environment of a container, resolved as a kubelet does: for providers that run Pods without one.
//!
//! Executors of the fleet have kubelets, which resolve what crosses; of this, the origin uses only the fields that it knows
//! better ([`origin_value`](crate::pod::origin_value)). Whatever depends on where a Pod runs is handed on as it is, so that a
//! Pod that asks for its own address starts like any other.

mod expand;
mod fields;
mod resolve;
mod services;

pub use expand::expand;
pub use fields::{as_lines, subscript};
pub use resolve::{
    Environment, MissingConfig, Resolved, Sources, Texts, Variable, Warning, resolve,
};
pub use services::{ServiceLink, ServicePort};

#[cfg(test)]
mod tests;
