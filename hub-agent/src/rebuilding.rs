//! Whether members have yet to bring back to this hub what it had: it was built anew, or restored from a backup.

use fleet_accumulator::{SourceState, View};
use fleet_api::traffic::FleetTrafficPhase;
use fleet_model::objects::traffic::FleetTraffic;

use crate::Settings;
use crate::snapshot::HubSnapshot;

/// Whether the hub is being rebuilt. What it lacks then was not necessarily withdrawn.
pub(crate) fn is_under_way(settings: &Settings, snapshot: &HubSnapshot) -> bool {
    let fleets = &snapshot.fleet_traffics;
    if settings.traffic && !is_answered(fleets) {
        return true;
    }
    let fleet = FleetTraffic::of(fleets).filter(|_| !is_refused(fleets));
    // One without a phase is new, as that of a hub that was built anew.
    fleet.is_some_and(|fleet| fleet.status.phase != Some(FleetTrafficPhase::Settled))
}

fn is_answered(fleets: &View<FleetTraffic>) -> bool {
    fleets.bootstrapped() || is_refused(fleets)
}

/// Without the kind, no agent decides when it is over.
fn is_refused(fleets: &View<FleetTraffic>) -> bool {
    matches!(fleets.state(), SourceState::Missing { .. } | SourceState::Forbidden { .. })
}
