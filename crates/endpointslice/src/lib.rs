//! Packs endpoints into the EndpointSlices of a Service, as Kubernetes' EndpointSlice controller does.
//!
//! ```text
//! Service + source of endpoints ─▶ groups of equal ports ─▶ packing ─▶ placeholder ─▶ hints ─▶ recycling ─▶ Outcome
//!                existing slices ─┘
//! ```
//!
//! [`reconcile`] is a pure function of its input: it uses no clock, no client and no random numbers. It returns the
//! slices to create, update and delete. The caller sends these writes and keeps the state between calls: responses to its
//! writes ([`Tracker`]), the last observed times ([`TriggerTimes`]), the capacity of the zones ([`TopologyCache`]) and the
//! packing efficiency of all Services ([`Efficiency`]).
//!
//! Endpoints come from a [`Source`], for example [`Pods`].

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
