//! The status of the MultiClusterService.
//!
//! `Valid` is `True` while the import works and `Unknown` otherwise, never `False`, as with the original. The message
//! contains the reason.

use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::conditions::{self, reasons};
use fleet_api::{annotations, events};
use fleet_model::objects::{InternalServiceImport, Service, by_age};
use fleet_model::steps::{LOCAL, to_json};
use fleet_plan::conditions::{Wanted, apply, find, is};
use fleet_plan::text::truncate;
use fleet_plan::{Debounced, Event, Step, StepId, WAITING_STATUS_DELAY};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::LoadBalancerStatus;
use serde_json::json;

use super::served;
use super::state::{Mcs, ServiceState};
use super::system_namespace::SystemNamespaceError;
use crate::measurement::Plan;

/// Maximum length of what the hub reports, in bytes.
const MAX_REJECTION: usize = 512;
/// How long another message about endpoints must be due before it is written: a Service whose only Pod is replaced is not
/// worth two writes.
const ENDPOINT_NOTE_DELAY: Duration = Duration::from_secs(5);

/// The import works: reports the load balancer of its derived Service, too, and what of it serves. Endpoints come after the
/// derived Service, so that the first status has no note on them.
pub(super) fn resolved(
    state: &ServiceState<'_>,
    mcs: &Mcs,
    derived: Option<&Object<Service>>,
    written: Option<StepId>,
    plan: &mut Plan,
) {
    let addresses = derived.map(|derived| derived.load_balancer.clone()).unwrap_or_default();
    let denied = state.settings.denied_namespaces.include(&state.service.namespace);
    let note = if denied {
        "; its namespace is denied, so it will not be imported again once it is withdrawn"
    } else {
        ""
    };
    let text = format!("service {} is imported{note}", state.service);
    let served = derived.map(|derived| served::note(state, derived)).unwrap_or_default();
    if !is(&mcs.conditions, conditions::VALID, conditions::TRUE) {
        if let Some(step) = resolved_step(state, mcs, &text, &addresses) {
            plan.push(step.after(written));
            plan.events.push(LOCAL.normal(mcs, events::FOUND_VALID_SERVICE, text));
        }
        return;
    }
    let message = text + &served;
    let Some(step) = resolved_step(state, mcs, &message, &addresses) else { return };
    let event = LOCAL.normal(mcs, events::SUCCESSFUL_UPDATE_STATUS, message);
    if mcs.load_balancer == addresses && is_current(mcs) {
        let (delay, purpose) = (ENDPOINT_NOTE_DELAY, "what serves");
        let events = vec![event];
        plan.debounced.push(Debounced { events, ..Debounced::new(delay, purpose, step) });
    } else {
        plan.push(step.after(written));
        plan.events.push(event);
    }
}

fn resolved_step(
    state: &ServiceState<'_>,
    mcs: &Mcs,
    message: &str,
    addresses: &LoadBalancerStatus,
) -> Option<Step> {
    let reason = reasons::FOUND_SERVICE_IMPORT;
    let wanted = valid(mcs, conditions::TRUE, reason, message.to_owned());
    step(mcs, wanted, addresses, state.now)
}

/// Whether the condition `Valid` is about the current generation.
fn is_current(mcs: &Mcs) -> bool {
    let valid = find(&mcs.conditions, conditions::VALID);
    valid.is_some_and(|valid| valid.observed_generation == Some(mcs.meta.generation))
}

/// No cluster exports the Service, or another cluster imports it exclusively.
pub(super) fn unresolved(state: &ServiceState<'_>, mcs: &Mcs, plan: &mut Plan) {
    later(mcs, not_available(state), &LoadBalancerStatus::default(), state.now, plan);
}

/// The hub grants what exceeds a bound. A derived Service that is there stays as it is.
pub(super) fn excessive(
    state: &ServiceState<'_>,
    mcs: &Mcs,
    derived: Option<&Object<Service>>,
    excess: &str,
    plan: &mut Plan,
) {
    let kept = if derived.is_some() { "; its derived service stays as it is" } else { "" };
    let message = format!(
        "service {} cannot be imported as the hub grants it: {excess}{kept}",
        state.service
    );
    let addresses = derived.map(|derived| derived.load_balancer.clone()).unwrap_or_default();
    warn(mcs, events::LIMIT_EXCEEDED, &message, plan);
    later(mcs, message, &addresses, state.now, plan);
}

/// As [`unresolved`], but the derived Service is kept for its grace period.
pub(super) fn leaving(
    state: &ServiceState<'_>,
    mcs: &Mcs,
    derived: &Object<Service>,
    end: Timestamp,
    plan: &mut Plan,
) {
    let why = not_available(state);
    let message = format!("{why}; its derived service {} is kept until {end}", derived.name);
    later(mcs, message, &derived.load_balancer, state.now, plan);
}

/// A user deletes the derived Service, which blocks the next one until it is gone.
pub(super) fn blocked(
    state: &ServiceState<'_>,
    mcs: &Mcs,
    derived: &Object<Service>,
    plan: &mut Plan,
) {
    let message = format!(
        "derived service {} is being deleted; a new one is created afterwards",
        derived.name
    );
    later(mcs, message, &derived.load_balancer, state.now, plan);
}

/// Other Services have all candidate names of the derived Service.
pub(super) fn no_name(state: &ServiceState<'_>, mcs: &Mcs, plan: &mut Plan) {
    let message = format!(
        "no free name for its derived service in namespace {}",
        state.identity.system_namespace
    );
    warn(mcs, events::NO_FREE_NAME, &message, plan);
    later(mcs, message, &LoadBalancerStatus::default(), state.now, plan);
}

/// Reports Services whose labels name the MultiClusterService and whose mark has another uid.
pub(super) fn estranged(state: &ServiceState<'_>, mcs: &Mcs, plan: &mut Plan) {
    for service in state.estranged_from(mcs) {
        let key = annotations::MULTI_CLUSTER_SERVICE_UID;
        let message = format!(
            "service {} is not used as derived service: its annotation {key} is not the UID of this \
             MultiClusterService",
            service.name
        );
        warn(mcs, events::DERIVED_SERVICE_NOT_OURS, &message, plan);
    }
}

/// No derived Service can be created.
pub(super) fn system_namespace_unavailable(
    state: &ServiceState<'_>,
    mcs: &Mcs,
    error: SystemNamespaceError,
    plan: &mut Plan,
) {
    let namespace = &state.identity.system_namespace;
    let message = format!("namespace {namespace}, which holds derived services, {error}");
    warn(mcs, events::SYSTEM_NAMESPACE_UNAVAILABLE, &message, plan);
    later(mcs, message, &LoadBalancerStatus::default(), state.now, plan);
}

/// It does not hold the import of the Service that it names.
pub(super) fn idle(state: &ServiceState<'_>, mcs: &Mcs, holder: Option<&Mcs>, plan: &mut Plan) {
    let service = state.service;
    let message = if let Some(refusal) = state.refusal {
        let message = refusal.to_string();
        if let Some(reason) = refusal.event() {
            warn(mcs, reason, &message, plan);
        }
        message
    } else if let Some(holder) = holder {
        format!("MultiClusterService {} already imports service {service}", holder.name)
    } else if state.import.is_some() && state.import_owner().is_none() {
        let message = foreign_import(state);
        warn(mcs, events::SERVICE_IMPORT_NOT_OURS, &message, plan);
        message
    } else {
        format!("a previous import of service {service} is being withdrawn")
    };
    later(mcs, message, &LoadBalancerStatus::default(), state.now, plan);
}

/// Reports why the hub rejects the request, which has no conditions: the oldest, which the hub agent would accept.
pub(super) fn report_rejected(state: &ServiceState<'_>, mcs: &Mcs, plan: &mut Plan) {
    let live = state.requests.iter().filter(|request| !request.meta.is_terminating());
    let Some(current) = live.min_by(|a, b| by_age(a, b)) else { return };
    if let Some(why) = current.object.meta.annotation(annotations::REJECTED) {
        let (service, why) = (state.service, truncate(why, MAX_REJECTION));
        let message = format!("the hub does not accept the import of service {service}: {why}");
        warn(mcs, events::IMPORT_REFUSED, &message, plan);
    }
}

/// Its spec names no Service.
pub(super) fn names_nothing(mcs: &Mcs, now: Timestamp, plan: &mut Plan) {
    let message = "spec.serviceImport names no service".to_owned();
    later(mcs, message, &LoadBalancerStatus::default(), now, plan);
}

/// The Event about objects of the import that are deleted.
pub(super) fn unimported(mcs: &Mcs, what: impl Into<String>) -> Event {
    LOCAL.normal(mcs, events::UNIMPORTED_SERVICE, what)
}

fn not_available(state: &ServiceState<'_>) -> String {
    let service = state.service;
    let held = |request: &&Object<InternalServiceImport>| {
        request.object.meta.annotation(annotations::IMPORT_HELD_BY).map(str::to_owned)
    };
    match state.requests.iter().find_map(held) {
        Some(cluster) => format!("service {service} is imported exclusively by cluster {cluster}"),
        // A Go hub does not report which of the two it is.
        None => format!(
            "service {service} is not available: no cluster exports it, or another cluster imports \
             it exclusively"
        ),
    }
}

pub(super) fn foreign_import(state: &ServiceState<'_>) -> String {
    let owner = state.import.and_then(|import| import.object.meta.controller_owner());
    let owner = owner.map_or_else(
        || "no MultiClusterService".to_owned(),
        |owner| format!("{} {}", owner.kind, owner.name),
    );
    format!("ServiceImport {} already exists and belongs to {owner}", state.service)
}

fn later(
    mcs: &Mcs,
    message: String,
    load_balancer: &LoadBalancerStatus,
    now: Timestamp,
    plan: &mut Plan,
) {
    let reason = reasons::UNKNOWN_SERVICE_IMPORT;
    let wanted = valid(mcs, conditions::UNKNOWN, reason, message);
    if let Some(step) = step(mcs, wanted, load_balancer, now) {
        plan.debounce(WAITING_STATUS_DELAY, "not imported", step);
    }
}

fn valid(mcs: &Mcs, status: &str, reason: &str, message: String) -> Wanted {
    let (status, reason) = (status.to_owned(), reason.to_owned());
    let generation = mcs.meta.generation;
    Wanted { type_: conditions::VALID, status, reason, message, generation }
}

fn step(
    mcs: &Mcs,
    wanted: Wanted,
    load_balancer: &LoadBalancerStatus,
    now: Timestamp,
) -> Option<Step> {
    let changed = apply(&mcs.conditions, [wanted], now);
    if changed.is_none() && mcs.load_balancer == *load_balancer {
        return None;
    }
    let conditions = changed.unwrap_or_else(|| mcs.conditions.clone());
    let status = json!({ "loadBalancer": to_json(load_balancer), "conditions": conditions });
    Some(LOCAL.status(mcs, &status))
}

fn warn(mcs: &Mcs, reason: &'static str, message: &str, plan: &mut Plan) {
    plan.events.push(LOCAL.warning(mcs, reason, message));
}
