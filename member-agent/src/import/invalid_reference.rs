//! Objects in this member's namespace on the hub whose reference names no Service.

use fleet_api::{ObjectName, ResourceKind, finalizers, kinds};
use fleet_model::steps::HUB;

use crate::measurement::Plan;
use crate::snapshot::MemberSnapshot;

/// Deletes a request that names no Service, and removes the finalizer from a slice of the hub that names none
/// and is being deleted.
pub(super) fn plan(kind: ResourceKind, name: &ObjectName, snapshot: &MemberSnapshot) -> Plan {
    let mut plan = Plan::default();
    if kind == kinds::INTERNAL_SERVICE_IMPORT {
        delete_request(name, snapshot, &mut plan);
    } else {
        release_slice(name, snapshot, &mut plan);
    }
    plan
}

fn delete_request(name: &ObjectName, snapshot: &MemberSnapshot, plan: &mut Plan) {
    let request = snapshot
        .internal_imports
        .get(name)
        .filter(|request| request.reference.object().is_none() && !request.meta.is_terminating());
    plan.steps.extend(request.map(|request| HUB.delete(request)));
}

fn release_slice(name: &ObjectName, snapshot: &MemberSnapshot, plan: &mut Plan) {
    let slice = snapshot.slice_imports.get(name).filter(|slice| {
        slice.spec.owner_service_reference.object().is_none() && slice.meta.is_terminating()
    });
    let release =
        slice.and_then(|slice| HUB.remove_finalizer(slice, finalizers::ENDPOINT_SLICE_IMPORT));
    plan.steps.extend(release);
}
