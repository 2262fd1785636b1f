//! Decisions as writes.

use std::sync::Arc;

use fleet_accumulator::Object;
use fleet_api::offload::PodImportSpec;
use fleet_api::{ObjectName, finalizers};
use fleet_model::objects::offload::{PodExport, PodImport};
use fleet_model::steps::{HUB, to_json};
use fleet_plan::{Plan, Step};
use fleet_virtual_node::hub::HubAction;
use serde_json::json;

/// The import of a Pod. The finalizer is set by who creates an object, for who has to undo its effect.
pub(super) fn create(name: ObjectName, spec: &PodImportSpec, origin: &Arc<str>) -> Step {
    let metadata = json!({ "finalizers": [finalizers::POD_IMPORT] });
    let body = json!({ "metadata": metadata, "spec": spec });
    HUB.create::<PodImport>(name, body).on_account_of(origin)
}

/// What is to be done with an import that there is.
pub(super) fn of_import(import: &Object<PodImport>, action: HubAction) -> Option<Step> {
    match action {
        HubAction::Update(spec) => {
            let replace = json!({ "op": "replace", "path": "/spec", "value": to_json(&*spec) });
            Some(HUB.patch(import, vec![replace]))
        }
        HubAction::Drop if import.meta.is_terminating() => {
            HUB.remove_finalizer(import, finalizers::POD_IMPORT)
        }
        HubAction::Delete | HubAction::Drop => Some(HUB.delete(import)),
        HubAction::Import(_) | HubAction::Report(_) | HubAction::Release => None,
    }
}

/// What is to be done with an export. That its import is gone is read from the API server before the origin learns it, or the export
/// goes: nothing else would stop the Pod.
pub(super) fn of_export(
    export: &Object<PodExport>,
    import: (&ObjectName, bool),
    action: HubAction,
    plan: &mut Plan,
) {
    let (name, there_is_one) = import;
    let step = match action {
        HubAction::Report(status) => {
            // Reports come as often as the executor makes them: on its own account.
            let step = HUB.status(export, &*status).on_account_of(&name.namespace);
            if !status.released || there_is_one {
                plan.push(step);
                return;
            }
            Some(step)
        }
        HubAction::Release => HUB.remove_finalizer(export, finalizers::POD_EXPORT),
        _ => None,
    };
    if let Some(step) = step {
        let absent = plan.push(HUB.confirm_absent::<PodImport>(name.clone()));
        plan.push(step.after([absent]));
    }
}
