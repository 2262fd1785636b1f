//! Objects in this member's namespace on the hub whose reference names no Service.

use fleet_accumulator::{Object, Tracked};
use fleet_api::{ObjectName, ResourceKind, events, kinds};
use fleet_model::objects::HasMeta;
use fleet_model::steps::HUB;

use crate::measurement::Plan;
use crate::snapshot::MemberSnapshot;

/// Deletes the object `name` of `kind` if its reference still names no Service: it exports nothing.
pub(super) fn plan(kind: ResourceKind, name: &ObjectName, snapshot: &MemberSnapshot) -> Plan {
    let mut plan = Plan::default();
    if kind == kinds::INTERNAL_SERVICE_EXPORT {
        let export = snapshot.internal_exports.get(name);
        let invalid = export.filter(|export| export.reference.object().is_none());
        delete(invalid, &mut plan);
    } else {
        let slice = snapshot.slice_exports.get(name);
        let invalid = slice.filter(|slice| slice.spec.owner_service_reference.object().is_none());
        delete(invalid, &mut plan);
    }
    plan
}

fn delete<T: Tracked + HasMeta>(invalid: Option<&Object<T>>, plan: &mut Plan) {
    let Some(object) = invalid.filter(|object| !object.meta().is_terminating()) else { return };
    plan.push(HUB.delete(object));
    let note = "deleted: its reference names no Service";
    plan.events.push(HUB.warning(object, events::REFERENCE_REFUSED, note));
}
