//! Packs endpoints into the EndpointSlices of a Service, as the controller of Kubernetes does.
//!
//! ```text
//! Service + source of endpoints ─▶ groups of equal ports ─▶ packing ─▶ placeholder ─▶ hints ─▶ recycling ─▶ Outcome
//!                existing slices ─┘
//! ```
//!
//! [`reconcile`] is a function of its input: no clock, no client, no chance. It says which slices to create, update and
//! delete; the caller sends them, and remembers between calls what only it can know: the answers to its writes
//! ([`Tracker`]), what it saw last time ([`TriggerTimes`]), how the nodes are spread ([`TopologyCache`]) and how well
//! all Services are packed ([`Efficiency`]).
//!
//! Where endpoints come from is a [`Source`]; [`Pods`] is one.

mod address_type;
mod changes;
mod config;
mod desired;
mod efficiency;
mod endpoint;
mod event;
mod groups;
mod hints;
mod labels;
mod names;
mod ownership;
mod packing;
mod placeholder;
pub mod pods;
mod ports;
mod reconcile;
mod recycling;
mod slice;
mod source;
mod tracker;
mod trigger_time;

#[cfg(test)]
mod tests;

pub use address_type::AddressType;
pub use changes::{Changes, GroupSize, Measures, Update};
pub use config::{Config, Headless, Hints};
pub use efficiency::{Efficiency, Totals};
pub use endpoint::{Desired, Target};
pub use event::{Cause, Event};
pub use hints::annotation::follows_capacity;
pub use hints::topology::{Overview, ServiceHints, TopologyCache};
pub use hints::zones::{Capacity, Zones};
pub use names::MANAGER;
pub use pods::{NodeView, PodView, Pods};
pub use ports::PortKey;
pub use reconcile::{Input, Outcome, reconcile};
pub use source::{Candidate, Numbers, Problem, Source};
pub use tracker::{Deletion, Tracker};
pub use trigger_time::{Seen, TriggerTimes, annotation as trigger_time_annotation};
