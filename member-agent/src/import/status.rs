//! What the user reads on the MultiClusterService.

use std::time::Duration;

use fleet_accumulator::{ClusterId, Record};
use fleet_api::conditions::{self, reasons};
use fleet_api::{events, kinds};
use fleet_model::conditions::{Wanted, apply, is};
use fleet_model::records::ServiceRecord;
use fleet_model::steps::{LOCAL, to_json};
use fleet_runtime::plan::{Event, EventType, Plan, Step, StepId};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::LoadBalancerStatus;
use serde_json::json;

use super::subject::{Subject, Wish};
use super::wish::Prepared;

/// "Waiting" is written only after it has lasted this long (design 3a).
const PATIENCE: Duration = Duration::from_millis(500);

/// The import is live; addresses of its derived Service are the user's to use.
pub(super) fn resolved(
    subject: &Subject<'_>,
    wish: &Wish,
    derived: Option<&Record<ServiceRecord>>,
    written: Option<StepId>,
    plan: &mut Plan,
) {
    let addresses = derived.map(|derived| derived.load_balancer.clone()).unwrap_or_default();
    let message = format!("service {} is imported", subject.service);
    let wanted = valid(wish, conditions::TRUE, reasons::FOUND_SERVICE_IMPORT, message);
    let Some(step) = step(wish, wanted, &addresses, subject.now) else { return };
    plan.push(step.after(written));
    if !is(&wish.conditions, conditions::VALID, conditions::TRUE) {
        let note = format!("service {} is imported", subject.service);
        plan.events.push(event(wish, EventType::Normal, events::FOUND_VALID_SERVICE, note));
    }
}

/// Nobody exports the Service yet, or any more.
pub(super) fn unresolved(subject: &Subject<'_>, wish: &Wish, prepared: &Prepared, plan: &mut Plan) {
    if prepared.write.is_none() {
        let message = format!("service {} is not exported to this cluster", subject.service);
        later(wish, message, subject.now, plan);
    }
}

/// Another MultiClusterService of this cluster holds the import.
pub(super) fn held_elsewhere(
    subject: &Subject<'_>,
    wish: &Wish,
    holder: Option<&Wish>,
    plan: &mut Plan,
) {
    let message = match holder {
        Some(holder) => {
            format!("service {} is imported by {} already", subject.service, holder.name)
        }
        None => format!("a previous import of service {} is being withdrawn", subject.service),
    };
    later(wish, message, subject.now, plan);
}

/// Every name that its derived Service could have is taken by somebody else.
pub(super) fn no_name(subject: &Subject<'_>, wish: &Wish, plan: &mut Plan) {
    let message = format!(
        "no free name for its derived service in namespace {}",
        subject.identity.system_namespace
    );
    later(wish, message, subject.now, plan);
}

/// It asks for no Service.
pub(super) fn names_nothing(wish: &Wish, now: Timestamp, plan: &mut Plan) {
    later(wish, "spec.serviceImport names no service".to_owned(), now, plan);
}

fn later(wish: &Wish, message: String, now: Timestamp, plan: &mut Plan) {
    let reason = reasons::UNKNOWN_SERVICE_IMPORT;
    let wanted = valid(wish, conditions::UNKNOWN, reason, message);
    if let Some(step) = step(wish, wanted, &LoadBalancerStatus::default(), now) {
        plan.push_later(PATIENCE, "not imported", step);
    }
}

fn valid(wish: &Wish, status: &str, reason: &str, message: String) -> Wanted {
    let (status, reason) = (status.to_owned(), reason.to_owned());
    let generation = wish.meta.generation;
    Wanted { type_: conditions::VALID, status, reason, message, generation }
}

fn step(
    wish: &Wish,
    wanted: Wanted,
    load_balancer: &LoadBalancerStatus,
    now: Timestamp,
) -> Option<Step> {
    let changed = apply(&wish.conditions, [wanted], now);
    if changed.is_none() && wish.load_balancer == *load_balancer {
        return None;
    }
    let conditions = changed.unwrap_or_else(|| wish.conditions.clone());
    let status = json!({ "loadBalancer": to_json(load_balancer), "conditions": conditions });
    Some(LOCAL.status(wish, &status))
}

fn event(wish: &Wish, event_type: EventType, reason: &'static str, note: String) -> Event {
    Event {
        cluster: ClusterId::Local,
        kind: kinds::MULTI_CLUSTER_SERVICE,
        name: wish.name.clone(),
        uid: wish.uid.clone(),
        event_type,
        reason,
        note,
    }
}
