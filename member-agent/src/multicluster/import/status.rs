//! The status of the ServiceImport.

use fleet_api::conditions::standard as reasons;
use fleet_api::multicluster::standard::{ClusterStatus, EndpointSliceObjects, ServiceImportStatus};
use fleet_api::{conditions, kinds};
use fleet_model::steps::LOCAL;
use fleet_plan::conditions::{Wanted, apply, find};
use fleet_plan::{Action, Step, WAITING_STATUS_DELAY};

use super::state::{Import, ServiceState};
use super::target::Target;
use crate::measurement::Plan;

/// Whether clients can use the import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ready {
    /// They can.
    Yes,
    /// It has no address yet.
    Waiting,
    /// This cluster has no addresses of the exported families.
    NoFamily,
}

/// Plans the status.
pub(super) fn write(
    state: &ServiceState<'_>,
    import: &Import,
    target: &Target,
    ready: Ready,
    plan: &mut Plan,
) {
    let seen = &import.status;
    let wanted = condition(import, ready);
    let is_reported = find(&seen.conditions, wanted.type_).is_some_and(|seen| {
        (&seen.status, &seen.reason, &seen.message)
            == (&wanted.status, &wanted.reason, &wanted.message)
            && seen.observed_generation == Some(wanted.generation)
    });
    let status = |cluster: &String| ClusterStatus { cluster: cluster.clone() };
    let clusters: Vec<_> = target.clusters.iter().map(status).collect();
    if is_reported && seen.clusters == clusters {
        return;
    }
    let awaits_slices = awaits_first_slice(state, plan);
    // The watch of slices shows the first one, and plans this again.
    if awaits_slices && ready == Ready::Yes {
        return;
    }
    let conditions = apply(&seen.conditions, [wanted], state.now);
    let status = ServiceImportStatus {
        clusters,
        // A definition without the field drops it: that alone is no reason to write.
        endpoint_slice_objects: (!awaits_slices).then_some(EndpointSliceObjects::Present),
        conditions: conditions.unwrap_or_else(|| seen.conditions.clone()),
    };
    let step = LOCAL.status(import, &status);
    if ready == Ready::Waiting {
        plan.debounce(WAITING_STATUS_DELAY, "waiting for an address", step);
    } else {
        plan.push(step);
    }
}

/// Whether slices are on their way, and none is there. Programs that read slices do so from the first status on, so it follows the
/// first one; one that the API server refuses does not hold it up if others are there.
fn awaits_first_slice(state: &ServiceState<'_>, plan: &Plan) -> bool {
    let comes = |step: &Step| {
        step.kind == kinds::ENDPOINT_SLICE && matches!(step.action, Action::Create(_))
    };
    state.imported.is_empty() && plan.steps.iter().any(comes)
}

fn condition(import: &Import, ready: Ready) -> Wanted {
    let (status, reason, message) = match ready {
        Ready::Yes => (conditions::TRUE, reasons::READY, "Clients in this cluster can use it."),
        Ready::Waiting => (
            conditions::FALSE,
            reasons::PENDING,
            "It has no address in this cluster yet; Events show if the API server refuses one.",
        ),
        Ready::NoFamily => (
            conditions::FALSE,
            reasons::IP_FAMILY_NOT_SUPPORTED,
            "This cluster gives Services no address of a family that the exporting clusters have.",
        ),
    };
    Wanted {
        type_: conditions::READY,
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        generation: import.meta.generation,
    }
}
