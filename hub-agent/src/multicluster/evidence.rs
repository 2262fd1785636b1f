//! When absence is a reason to take something out of force.
//!
//! Members believe at once what the hub agent states to be withdrawn, so it has to be certain. An ExportedService has no finalizer: one
//! that is absent was withdrawn by its member, or was lost, and its member is about to write it again.

use std::collections::HashSet;

use fleet_accumulator::{Object, Snapshot as _, SourceSet};
use fleet_api::names::member_namespace;
use fleet_api::{ObjectName, labels};
use fleet_model::objects::EndpointSliceExport;
use fleet_model::objects::traffic::FleetTraffic;

use crate::snapshot::HubSnapshot;

/// The sources whose objects keep an export in force.
fn sources() -> SourceSet {
    SourceSet::from([HubSnapshot::exported_services(), HubSnapshot::resolved_services()])
}

/// Whether both kinds are served and seen as they are: an export that is not there has been withdrawn. Definitions that are being
/// deleted or were just made again, watches that have broken off and an API server that went back in time withdraw nothing.
pub(super) fn shows_absence(snapshot: &HubSnapshot) -> bool {
    let live = [snapshot.exported_services.state(), snapshot.resolved_services.state()];
    live.iter().all(|state| state.is_live())
        && snapshot.exported_services.is_settled()
        && !snapshot.is_settling(sources())
}

/// Whether exporters may be missing that are about to come back to the hub: what is in force was decided without them. Before that is
/// known the hub counts as complete, by which no address changes.
pub(super) fn is_being_rebuilt(snapshot: &HubSnapshot) -> bool {
    FleetTraffic::is_rebuilding(&snapshot.fleet_traffics, false)
}

/// Whether one of these exporters has withdrawn one half of a Service only: its export is absent, and its slices are there. A
/// member deletes both; who deletes the one alone is another user or program.
pub(super) fn is_doubtful(service: &ObjectName, lost: &[&str], snapshot: &HubSnapshot) -> bool {
    let mut absent: HashSet<_> = lost.iter().map(|cluster| member_namespace(cluster)).collect();
    for export in snapshot.exported_services.by(service) {
        absent.remove(&*export.name.namespace);
    }
    let mut slices = snapshot.slice_exports.by(service).filter(|_| !absent.is_empty());
    slices.any(|slice| absent.contains(&*slice.name.namespace) && belongs(slice))
}

/// Whether a slice is exported through the standard API.
pub(super) fn belongs(slice: &Object<EndpointSliceExport>) -> bool {
    slice.meta.label(labels::MULTICLUSTER_NAMESPACE).is_some() && !slice.meta.is_terminating()
}
