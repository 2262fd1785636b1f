//! When absence is a reason to take something out of force.

use fleet_accumulator::{Snapshot as _, SourceSet};

use crate::snapshot::HubSnapshot;

/// The sources whose objects keep an export in force.
fn sources() -> SourceSet {
    SourceSet::from([HubSnapshot::exported_services(), HubSnapshot::resolved_services()])
}

/// Whether both kinds are served and seen as they are: an export that is not there has been withdrawn. Definitions that are being
/// deleted, watches that have broken off and an API server that went back in time withdraw nothing.
pub(super) fn shows_absence(snapshot: &HubSnapshot) -> bool {
    let live = [snapshot.exported_services.state(), snapshot.resolved_services.state()];
    live.iter().all(|state| state.is_live()) && !snapshot.is_settling(sources())
}
