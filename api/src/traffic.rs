//! Kinds of `traffic.networking.fleet.azure.com/v1alpha1`: which endpoints of a Service of the fleet get new connections.
//!
//! The owner of a Service asks with a [`ServiceTraffic`], in an importing cluster or, for all importers, on the hub. Administrators
//! of the hub set the rest: defaults and limits of the fleet in [`FleetTraffic`], drains and properties of a member in
//! [`MemberTraffic`], whose status carries the decisions of the hub agent to all importers.

mod drain;
mod fleet_traffic;
mod lease;
mod member_traffic;
mod policy;
mod selector;
mod service_traffic;
mod silence;

pub use drain::{ALL_SERVICES, DrainReason, DrainRequest, DrainStatus};
pub use fleet_traffic::{
    FLEET_TRAFFIC, FleetTraffic, FleetTrafficPhase, FleetTrafficSpec, FleetTrafficStatus,
    MASS_SILENCE, ROLLED_BACK,
};
pub use lease::{
    APPLIED, CLUSTER_PROPERTY, DRAINS, FOLLOWED, OWN_PROPERTIES, PROPERTIES, PUBLISHED,
    PUBLISHED_SLICES, REACHED, VERDICTS, WENT_BACK, own_properties,
};
pub use member_traffic::{
    DRAIN_REFUSED, MAX_HELD_SERVICES, MemberTraffic, MemberTrafficSpec, MemberTrafficStatus,
};
pub use policy::{
    ClusterWeight, DEFAULT_MIN_SUBSET_PERCENT, Fallback, LocalEndpoints, OnSilence, Preference,
    SilenceAction, SpillPolicy, Weighting,
};
pub use selector::{ClusterSelector, PropertyRequirement, PropertySelector, SelectorOperator};
pub use service_traffic::{
    ClusterTraffic, FieldSource, LocalEndpointsInForce, PolicySource, ServedBy, ServiceTraffic,
    ServiceTrafficSpec, ServiceTrafficStatus, Slot,
};
pub use silence::{SilenceInstruction, SilenceState, SilenceStatus};

#[cfg(test)]
mod tests;
