//! Which ports a Service has in the fleet, and which exports have them.

use std::collections::BTreeMap;

use fleet_api::{ClusterStatus, ServiceImportStatus, ServiceImportType, ServicePort};
use fleet_model::ports;

use super::state::{Export, ServiceState};

/// The ports in force, and the exports that have them.
#[derive(Debug)]
pub struct PortResolution<'a> {
    /// Ports in force.
    pub ports: &'a [ServicePort],
    /// The oldest export with these ports.
    pub winner: Export<'a>,
    /// Exports with these ports, oldest first.
    pub accepted: Vec<Export<'a>>,
    /// Exports with other ports.
    pub conflicting: Vec<Export<'a>>,
    /// Desired status of the ServiceImport.
    pub status: ServiceImportStatus,
}

/// Compares the exports of a Service; `None` if no member exports it.
///
/// The ports in force stay while an export has them; otherwise the oldest export decides
/// (docs/design/rules.md#conflicts). Exports that are being deleted do not count.
pub fn resolve<'a>(state: &ServiceState<'a>) -> Option<PortResolution<'a>> {
    let in_force = state.import.map(|import| import.object.status.ports.as_slice());
    let in_force = in_force.filter(|ports| !ports.is_empty());
    let has = |export: &Export<'a>, wanted| ports::same(&export.object.object.ports, wanted);
    let kept = in_force.filter(|ports| state.live_exports().any(|export| has(&export, ports)));
    let oldest = state.live_exports().next()?;
    let ports = kept.unwrap_or(&oldest.object.object.ports);
    let (accepted, conflicting): (Vec<_>, Vec<_>) =
        state.live_exports().partition(|export| has(export, ports));
    let status = import_status(state, ports, &accepted);
    Some(PortResolution { ports, winner: *accepted.first()?, accepted, conflicting, status })
}

/// Clusters that the status lists already keep their positions, as with the Go hub: taking over from a
/// Go hub writes nothing.
fn import_status(
    state: &ServiceState<'_>,
    ports: &[ServicePort],
    accepted: &[Export<'_>],
) -> ServiceImportStatus {
    let listed = state.import.map(|import| import.object.status.clusters.as_slice());
    let listed = listed.unwrap_or_default().iter().map(|listed| listed.cluster.as_str());
    let positions: BTreeMap<_, _> = listed.zip(0_usize..).collect();
    let mut clusters: Vec<_> = accepted.iter().map(|export| export.member).collect();
    clusters.sort_by_cached_key(|member| {
        (positions.get(member).copied().unwrap_or(usize::MAX), *member)
    });
    let clusters =
        clusters.into_iter().map(|cluster| ClusterStatus { cluster: cluster.to_owned() });
    ServiceImportStatus {
        type_: Some(ServiceImportType::ClusterSetIP),
        ports: ports.to_vec(),
        clusters: clusters.collect(),
        ..ServiceImportStatus::default()
    }
}
