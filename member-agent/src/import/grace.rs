//! How long a derived Service is kept without an exporter, so that its address survives a redeployment.

use fleet_accumulator::Object;
use fleet_api::{conditions, labels};
use fleet_model::objects::Service;
use fleet_plan::conditions::find;
use jiff::Timestamp;

use super::state::{Mcs, ServiceState};

/// Until when the derived Service of a MultiClusterService without a grant is kept; `None` if it is deleted now.
///
/// It counts from the transition of the condition `Valid`, so that a restart does not restart it. Only the Service of
/// this import is kept: if the MultiClusterService named another Service before, the address meant that one.
pub(super) fn end(
    state: &ServiceState<'_>,
    mcs: &Mcs,
    derived: &Object<Service>,
) -> Option<Timestamp> {
    let of_this_import = match derived.imports() {
        Some(service) => service == *state.service,
        // Made by a Go agent, which sets a label on the MultiClusterService instead.
        None => mcs.meta.label(labels::SERVICE_IMPORT) == Some(&state.service.name),
    };
    let lost = find(&mcs.conditions, conditions::VALID)
        .filter(|valid| valid.status != conditions::TRUE)
        .map_or(state.now, |valid| valid.last_transition_time.0);
    // Conditions have whole seconds: the time that will be in the condition counts.
    let lost = Timestamp::from_second(lost.as_second()).unwrap_or(lost);
    let end = lost.checked_add(state.settings.derived_service_grace).unwrap_or(Timestamp::MAX);
    (of_this_import && end > state.now).then_some(end)
}
