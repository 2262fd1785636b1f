//! The ExportedService of a Service on the hub.

use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::{ObjectName, conditions, names};
use fleet_model::objects::multicluster::ExportedService;
use fleet_model::steps::{HUB, to_json};
use fleet_plan::Step;
use fleet_plan::conditions::find;
use serde_json::json;

use super::content;
use super::state::ServiceState;
use crate::hub_side::HubSide;
use crate::intent::{Hold, Intent};
use crate::measurement::Plan;

/// How soon it is tried again to offer a Service whose names are taken: nothing about it changes when one becomes free.
const NAME_RETRY: Duration = Duration::from_mins(1);

/// Brings the ExportedService up to date. Nothing is done while the hub's side is not known.
pub(super) fn sync(state: &ServiceState<'_>, plan: &mut Plan) {
    let Some(hub) = state.hub else { return };
    let exported = state.export.zip(state.exported);
    let kept = exported.and(state.current);
    let live = hub.exported(state.name).filter(|exported| !exported.meta.is_terminating());
    let surplus = live.filter(|exported| kept.is_none_or(|kept| kept.uid != exported.uid));
    plan.steps.extend(surplus.map(|surplus| HUB.delete(surplus)));
    let waits = matches!(state.intent, Intent::Hold(_, Hold::NoAddress | Hold::Unclaimed));
    let Some((export, service)) = exported.filter(|_| !waits) else { return };
    let wanted = content::spec(state, export, service);
    match kept {
        Some(kept) if kept.to_spec().as_ref() == Some(&wanted) => {}
        Some(kept) => {
            let step = HUB.replace(kept, json!({ "spec": to_json(&wanted) }));
            plan.push(step.stage("mcs_export"));
        }
        // One that is being deleted blocks its successor.
        None if hub.exported(state.name).next().is_some() => {}
        None => match create(state, hub, &json!(wanted)) {
            Some(step) => {
                plan.push(step.stage("mcs_export"));
            }
            None => plan.wake_within(NAME_RETRY),
        },
    }
}

fn create(state: &ServiceState<'_>, hub: HubSide<'_>, spec: &serde_json::Value) -> Option<Step> {
    let namespace = state.settings.identity.hub_namespace.as_str();
    let mut candidates = names::internal_export_candidates(state.name);
    let name = candidates.find_map(|name| {
        let name = ObjectName::new(namespace, name);
        hub.is_free(&name).then_some(name)
    })?;
    Some(HUB.create::<ExportedService>(name, json!({ "spec": spec })))
}

/// Whether the hub refuses the export, and why.
pub(super) fn refusal(current: &Object<ExportedService>) -> Option<&str> {
    let ready = find(&current.object.conditions, conditions::READY)?;
    (ready.status == conditions::FALSE).then_some(&ready.message)
}
