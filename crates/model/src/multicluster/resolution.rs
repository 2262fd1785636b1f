//! What is in force for a Service.

use std::collections::BTreeSet;

use fleet_api::limits::resolved;
use fleet_api::multicluster::{
    Exporter, IpFamily, ResolvedServiceSpec, ServicePort, ServiceProperties, ServiceReference,
    ServiceType,
};
use fleet_api::{ObjectName, limits};

use super::conflicts;
use super::export::Export;
use super::ports::PortUnion;

/// How much all names of withheld ports of one Service may take together, in bytes.
const WITHHELD: usize = 128 << 10;

/// What is in force, and which exports find no room in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolution {
    /// What is in force; `withdrawnAt` is not set.
    pub spec: ResolvedServiceSpec,
    /// Clusters whose export would make the object too large.
    pub refused: BTreeSet<String>,
}

/// Resolves a Service from its exports; `None` without any. `in_force` is what was in force for it before: type and families
/// stay while any export has them, so that an address is not taken away because the oldest export left.
///
/// The order of `exports` does not matter.
pub fn resolve(
    service: &ObjectName,
    exports: &[Export<'_>],
    in_force: Option<&ServiceProperties>,
) -> Option<Resolution> {
    let type_ = type_in_force(exports, in_force)?;
    let mut exports = exports.to_vec();
    // The winner is the oldest of the type in force.
    exports.sort_by(|a, b| (a.type_() != type_, a.age()).cmp(&(b.type_() != type_, b.age())));
    let (ports, exporters, refused) = unite(&exports);
    exports.retain(|export| !refused.contains(export.cluster));
    let properties = ServiceProperties {
        type_,
        ports,
        ip_families: families(&exports, in_force),
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
    Some(Resolution { spec, refused })
}

fn type_in_force(
    exports: &[Export<'_>],
    in_force: Option<&ServiceProperties>,
) -> Option<ServiceType> {
    let stays = in_force.map(|properties| properties.type_);
    let stays = stays.filter(|type_| exports.iter().any(|export| export.type_() == *type_));
    stays.or_else(|| Some(exports.iter().min_by_key(|export| export.age())?.type_()))
}

/// Unites the ports in the order of the exports. Returns them, the exporters by name, so that the object does not change with
/// their age, and those that have no room in it.
fn unite(exports: &[Export<'_>]) -> (Vec<ServicePort>, Vec<Exporter>, BTreeSet<String>) {
    let (mut union, mut size) = (PortUnion::default(), 0);
    let (mut exporters, mut refused) = (Vec::new(), BTreeSet::new());
    for export in exports {
        let before = union.add(&export.properties.ports);
        let withheld = union.withheld(&export.properties.ports);
        let needed = size + withheld.iter().map(|name| written(name)).sum::<usize>();
        let cluster = export.cluster.to_owned();
        if needed <= WITHHELD && exporters.len() < resolved::EXPORTERS.accepted {
            size = needed;
            exporters.push(Exporter { cluster, withheld });
        } else {
            union.undo(before);
            refused.insert(cluster);
        }
    }
    exporters.sort_by(|a, b| a.cluster.cmp(&b.cluster));
    (union.into_ports(), exporters, refused)
}

/// Bytes of a name in a list, with quotation marks and a comma.
fn written(name: &str) -> usize {
    name.len().min(limits::port::NAME.accepted) + 3
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
