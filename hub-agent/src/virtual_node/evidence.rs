//! When absence is a reason to stop or withdraw something.
//!
//! Members write again what the hub has lost, within seconds. So what is absent counts only where the kind was followed for a
//! while without a break, and then with a pause, in which it would come back.

use std::time::Duration;

use fleet_accumulator::{Snapshot as _, SourceSet};

use crate::snapshot::HubSnapshot;

/// How long something that is gone without having been deleted may come back.
pub(super) const PAUSE: Duration = Duration::from_mins(1);
/// The same where so much is gone at once that more probably the hub was restored from a backup.
pub(super) const LONG_PAUSE: Duration = Duration::from_mins(10);

/// The sources whose objects keep Pods running.
pub(super) fn sources() -> SourceSet {
    SourceSet::from([
        HubSnapshot::offload_offers(),
        HubSnapshot::virtual_nodes(),
        HubSnapshot::pod_exports(),
        HubSnapshot::pod_imports(),
    ])
}

/// Whether all of it is seen as it is: an object that is not there does not exist.
pub(super) fn shows_absence(snapshot: &HubSnapshot) -> bool {
    let states = [
        snapshot.offload_offers.state(),
        snapshot.virtual_nodes.state(),
        snapshot.pod_exports.state(),
        snapshot.pod_imports.state(),
    ];
    let settled = snapshot.offload_offers.is_settled()
        && snapshot.virtual_nodes.is_settled()
        && snapshot.pod_exports.is_settled()
        && snapshot.pod_imports.is_settled();
    settled && states.iter().all(|state| state.is_live()) && !snapshot.is_settling(sources())
}
