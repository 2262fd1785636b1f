//! Which endpoints of a Service get new connections in an importing cluster.
//!
//! Data and pure functions of it: no clock, no client, no object of Kubernetes. A caller passes what it knows of the exporting
//! clusters, and writes what [`decide`] returns into EndpointSlices; kube-proxy then chooses. The rules are in
//! docs/design/traffic.md.

mod apportion;
mod assignment;
mod decision;
mod drain;
mod encoding;
mod found;
mod handover;
mod layout;
mod local;
mod portion;
mod promotion;
mod rank;
mod rendezvous;
mod selector;
mod shape;
mod share;
mod silence;
mod slot;
mod source;
mod spill;
mod subset;
mod tier;
mod zones;

#[cfg(test)]
mod tests;

pub use apportion::{Part, apportion};
pub use decision::{Decision, Policy, State, decide};
pub use drain::{
    Acknowledged, Drain, DrainPermission, DrainStep, Exporter, MOST_HELD_SERVICES,
    permission as drain_permission,
};
pub use encoding::{DataPlane, Encoding};
pub use found::Found;
pub use handover::{Handover, HandoverSteps};
pub use local::{LocalEndpoints, LocalFacts, NotEligible};
pub use portion::last_resort_of;
pub use promotion::{DEMOTE_AFTER, PROMOTE_AFTER, Promotion};
pub use rank::{Fallback, Preference};
pub use rendezvous::{Family, Seed};
pub use selector::{ClusterSelector, Operator, Properties, Requirement, SAME_AS_IMPORTER};
pub use shape::{Shape, shape};
pub use share::{Share, shares};
pub use silence::action::{Effect, SilenceAction, SilenceLimits, SilencePolicy};
pub use silence::importer::{SilentMember, applied as applied_verdicts};
pub use silence::judgement::{
    Instruction, Judgement, MemberVerdict, ObservedMember, Observer, Verdict, judge,
};
pub use silence::member::MemberState;
pub use silence::settings::SilenceSettings;
pub use slot::Slot;
pub use source::{Conditions, Endpoint, Source, Withdrawal};
pub use spill::{Fill, Spill, SpillPolicy};
pub use subset::{MAX_WEIGHTED_ENDPOINTS, Reason, Sizes, Subset, Weighting};
pub use tier::Tier;
pub use zones::{MAX_ZONES, REMOTE_ZONE, named_zones, zones_of_own};
