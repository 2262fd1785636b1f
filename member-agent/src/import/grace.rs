//! How long a derived Service outlives the last exporter, so that its address survives a redeploy.

use fleet_accumulator::Object;
use fleet_api::{conditions, labels};
use fleet_model::objects::Service;
use fleet_plan::conditions::find;
use jiff::Timestamp;

use super::state::{Mcs, ServiceState};

/// Until when the derived Service of a MultiClusterService that has lost its import stays. `None` if it goes now.
///
/// Counted from the transition of the MultiClusterService's `Valid` condition, so that a restart does not start
/// it anew. Only the Service of this import stays: one of an earlier import of a re-pointed MultiClusterService
/// has an address that stood for something else.
pub(super) fn end(
    state: &ServiceState<'_>,
    mcs: &Mcs,
    derived: &Object<Service>,
) -> Option<Timestamp> {
    let of_this_import = match derived.imports() {
        Some(service) => service == *state.service,
        // Made by a Go agent, which notes the import on the MultiClusterService.
        None => mcs.meta.label(labels::SERVICE_IMPORT) == Some(&state.service.name),
    };
    let lost = find(&mcs.conditions, conditions::VALID)
        .filter(|valid| valid.status != conditions::TRUE)
        .map_or(state.now, |valid| valid.last_transition_time.0);
    // Conditions have whole seconds: what the MultiClusterService will say is what is counted from.
    let lost = Timestamp::from_second(lost.as_second()).unwrap_or(lost);
    let end = lost.checked_add(state.settings.derived_service_grace).unwrap_or(Timestamp::MAX);
    (of_this_import && end > state.now).then_some(end)
}
