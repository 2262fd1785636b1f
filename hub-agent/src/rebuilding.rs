//! Whether members have yet to bring back to this hub what it had: it was built anew, or restored from a backup.

use fleet_api::traffic::FleetTrafficPhase;
use fleet_model::objects::traffic::FleetTraffic;

use crate::Settings;
use crate::snapshot::HubSnapshot;

/// Whether the hub is being rebuilt. What it lacks then was not necessarily withdrawn.
pub(crate) fn is_under_way(settings: &Settings, snapshot: &HubSnapshot) -> bool {
    let fleets = &snapshot.fleet_traffics;
    if settings.traffic && !fleets.has_answered() {
        return true;
    }
    // Without the kind, no agent decides when it is over.
    let fleet = FleetTraffic::of(fleets).filter(|_| !fleets.state().cannot_be_had());
    // One without a phase is new, as that of a hub that was built anew.
    fleet.is_some_and(|fleet| fleet.status.phase != Some(FleetTrafficPhase::Settled))
}
