//! What is in force for a Service.

use std::collections::BTreeSet;

use fleet_api::ObjectName;
use fleet_api::multicluster::{
    Exporter, IpFamily, ResolvedServiceSpec, ServiceProperties, ServiceReference, ServiceType,
};

use super::conflicts;
use super::export::Export;
use super::room::{United, unite};
use super::yielding::Yielding;

/// What is in force, and which exports find no room in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolution {
    /// What is in force; `withdrawnAt` is not set.
    pub spec: ResolvedServiceSpec,
    /// Clusters whose export would make the object too large.
    pub refused: BTreeSet<String>,
    /// Clusters that are silent and whose ports come after those of others for that.
    pub yielding: BTreeSet<String>,
}

/// What was in force for a Service before.
#[derive(Clone, Copy, Debug)]
pub struct InForce<'a> {
    /// Its properties.
    pub properties: &'a ServiceProperties,
    /// The exporting clusters.
    pub exporters: &'a [Exporter],
    /// Whether other exports may be older that have yet to come: then its type and families need not stay.
    pub is_provisional: bool,
}

/// Resolves a Service from its exports; `None` without any. Of what was in force before, type and families stay while any
/// export has them, so that an address is not taken away because the oldest export left, unless they are provisional; and no exporter
/// loses its place to another one.
///
/// Silence of a member changes the order of its export as [`Precedence`](crate::precedence::Precedence) has it, as long as the age
/// of any export counts.
///
/// The order of `exports` does not matter.
pub fn resolve(
    service: &ObjectName,
    exports: &[Export<'_>],
    in_force: Option<InForce<'_>>,
) -> Option<Resolution> {
    let listed = in_force.map(|in_force| in_force.exporters).unwrap_or_default();
    let before = in_force.map(|in_force| in_force.properties.ports.as_slice()).unwrap_or_default();
    let staying = in_force.filter(|in_force| !in_force.is_provisional);
    let staying = staying.map(|in_force| in_force.properties);
    let type_ = type_in_force(exports, staying)?;
    let mut exports = exports.to_vec();
    exports.sort_by(|a, b| (a.type_() != type_, a.age()).cmp(&(b.type_() != type_, b.age())));
    let yielding = Yielding::of(&exports, before);
    let United { mut ports, exporters, refused } = unite(&exports, listed, &yielding);
    yielding.arrange(&mut ports, &exports);
    let yielding = yielding.lacking(&exporters);
    exports.retain(|export| !refused.contains(export.cluster));
    // The winner is the oldest of the type in force that does not yield, or else the oldest of that type, which comes first.
    let wins = |export: &Export<'_>| export.type_() == type_ && !yielding.contains(export.cluster);
    if let Some(winner) = exports.iter().position(wins) {
        exports[..=winner].rotate_right(1);
    }
    let properties = ServiceProperties {
        type_,
        ports,
        ip_families: families(&exports, staying),
        ..of_winner(exports.first()?)
    };
    let conflicts = conflicts::between(&exports, &properties);
    let winner = exports.first()?.cluster.to_owned();
    let service = ServiceReference::from(service);
    let spec = ResolvedServiceSpec {
        service,
        properties,
        winner,
        exporters,
        conflicts,
        withdrawn_at: None,
    };
    Some(Resolution { spec, refused, yielding })
}

/// The type in force stays while an export has it, silent or not: back and forth with each silence, it would take away or replace the
/// address that clients have. Otherwise it is that of the oldest one whose age counts, or of the oldest one.
fn type_in_force(
    exports: &[Export<'_>],
    in_force: Option<&ServiceProperties>,
) -> Option<ServiceType> {
    let by_age = |export: &&Export<'_>| export.precedence.is_by_age();
    let holds = |export: &Export<'_>, type_| export.type_() == type_;
    let stays = in_force.map(|properties| properties.type_);
    let stays = stays.filter(|type_| exports.iter().any(|export| holds(export, *type_)));
    let oldest = || exports.iter().min_by_key(|export| (!by_age(export), export.age()));
    stays.or_else(|| Some(oldest()?.type_()))
}

/// The families in force that an export still has. None joins them, since importers' addresses would have to change. If none is
/// left, those of the winner, or of the first export that states any.
fn families(exports: &[Export<'_>], in_force: Option<&ServiceProperties>) -> Vec<IpFamily> {
    let stated = || exports.iter().map(|export| &export.properties.ip_families);
    let is_had = |family: &IpFamily| stated().any(|families| families.contains(family));
    let stay = in_force.iter().flat_map(|properties| &properties.ip_families);
    let stay: Vec<_> = stay.copied().filter(is_had).collect();
    let first = || stated().find(|families| !families.is_empty()).cloned().unwrap_or_default();
    if stay.is_empty() { first() } else { stay }
}

/// What the winner alone decides.
fn of_winner(winner: &Export<'_>) -> ServiceProperties {
    let (session_affinity, affinity_timeout_seconds) = winner.affinity();
    ServiceProperties {
        session_affinity,
        affinity_timeout_seconds,
        internal_traffic_policy: winner.properties.internal_traffic_policy,
        traffic_distribution: winner.properties.traffic_distribution.clone(),
        labels: winner.labels(),
        annotations: winner.annotations(),
        ..ServiceProperties::default()
    }
}
