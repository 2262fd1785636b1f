//! The status of the ServiceExport.

use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::conditions::standard as reasons;
use fleet_api::{conditions, events};
use fleet_model::objects::multicluster::standard;
use fleet_model::steps::LOCAL;
use fleet_plan::conditions::{Wanted, apply, find};
use fleet_plan::{Debounced, Event, WAITING_STATUS_DELAY};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::json;

use super::offer;
use super::state::ServiceState;
use super::words;
use crate::hub_side::HubSide;
use crate::intent::{Hold, Intent, Withdrawal};
use crate::measurement::Plan;

type Export = Object<standard::ServiceExport>;

/// How long a hub that has not answered since the agent started may take before that is reported.
const HUB_PATIENCE: Duration = Duration::from_secs(30);
/// How often a condition that another client writes is written.
const CONTESTED: Duration = Duration::from_secs(30);
/// How often the numbers in the message about a conflict are written.
const NUMBERS: Duration = Duration::from_secs(10);

/// A condition, and the reason of the Event about it, which is a warning.
struct Report {
    condition: Wanted,
    event: Option<&'static str>,
}

/// How a condition should read.
type Text = (&'static str, String, String);

/// Plans the status.
pub(super) fn write(state: &ServiceState<'_>, export: &Export, plan: &mut Plan) {
    let reports = [Some(valid(state, export)), Some(ready(state, export)), conflict(state, export)];
    let is_new = |report: &Report| !is_reported(export, &report.condition);
    let changed: Vec<_> = reports.into_iter().flatten().filter(is_new).collect();
    let kept = kept(state, export);
    let dropped = kept.len() < export.conditions.len();
    let delay = delay(state, export, &changed);
    let events: Vec<_> = changed.iter().filter_map(|report| event(export, report)).collect();
    let wanted = changed.into_iter().map(|report| report.condition);
    let written = apply(&kept, wanted, state.now).or_else(|| dropped.then_some(kept));
    let Some(conditions) = written else { return };
    let step = LOCAL.status(export, &json!({ "conditions": conditions }));
    if let Some((delay, purpose)) = delay {
        plan.debounced.push(Debounced { events, ..Debounced::new(delay, purpose, step) });
    } else {
        plan.push(step);
        plan.events.extend(events);
    }
}

fn valid(state: &ServiceState<'_>, export: &Export) -> Report {
    let invalid = match state.intent {
        Intent::Withdraw(withdrawal) => words::invalid(withdrawal).map(|why| (withdrawal, why)),
        Intent::Export(_) | Intent::Hold(..) => None,
    };
    let (text, event) = match invalid {
        None => ((conditions::TRUE, reasons::VALID, words::VALID), None),
        Some((Withdrawal::NoService, why)) => {
            ((conditions::FALSE, reasons::NO_SERVICE, why), Some(events::SERVICE_NOT_FOUND))
        }
        Some((_, why)) => {
            let reason = reasons::INVALID_SERVICE_TYPE;
            ((conditions::FALSE, reason, why), Some(events::SERVICE_NOT_ELIGIBLE))
        }
    };
    let (status, reason, message) = text;
    let condition = wanted(export, conditions::VALID, (status, reason.into(), message.into()));
    Report { condition, event }
}

fn ready(state: &ServiceState<'_>, export: &Export) -> Report {
    let (text, event) = readiness(state);
    Report { condition: wanted(export, conditions::READY, text), event }
}

fn readiness(state: &ServiceState<'_>) -> (Text, Option<&'static str>) {
    let failed = |message| (conditions::FALSE, reasons::FAILED.to_owned(), message);
    let pending =
        |status, message: &str| ((status, reasons::PENDING.to_owned(), message.to_owned()), None);
    if let Intent::Withdraw(withdrawal) = state.intent {
        return (failed(words::withdrawn(withdrawal)), withdrawal_event(withdrawal));
    }
    let held = match state.intent {
        Intent::Hold(_, hold @ (Hold::Denied | Hold::OtherId(_))) => Some(hold),
        _ => None,
    };
    if let Some(hold) = held.filter(|_| state.exported.is_none() && state.hub.is_some()) {
        let denied = matches!(hold, Hold::Denied).then_some(events::NAMESPACE_DENIED);
        return (failed(words::held(hold)), denied);
    }
    let Some(hub) = state.hub else { return pending(conditions::UNKNOWN, words::UNKNOWN) };
    if hub.is_stale() {
        return pending(conditions::UNKNOWN, words::STALE);
    }
    if let Some(why) = state.current.and_then(offer::refusal) {
        return (failed(words::refused(why)), Some(events::EXPORT_REFUSED));
    }
    if state.resolved.is_some() {
        let message = held.map_or_else(|| words::EXPORTED.to_owned(), words::stays);
        return ((conditions::TRUE, reasons::EXPORTED.to_owned(), message), None);
    }
    match state.intent {
        Intent::Hold(_, Hold::Unclaimed) => pending(conditions::UNKNOWN, words::UNCLAIMED),
        Intent::Hold(_, why @ Hold::NoAddress) => pending(conditions::FALSE, &words::held(why)),
        _ => pending(conditions::FALSE, words::WAITING),
    }
}

fn withdrawal_event(withdrawal: Withdrawal<'_>) -> Option<&'static str> {
    match withdrawal {
        Withdrawal::NoMember => Some(events::MEMBER_LEFT),
        Withdrawal::Refused(_) => Some(events::CLUSTER_REFUSED),
        Withdrawal::TooManyPorts(_) => Some(events::SERVICE_NOT_ELIGIBLE),
        // The condition Valid has its own Event; the others are no news to the user.
        Withdrawal::NoService
        | Withdrawal::ExternalName
        | Withdrawal::Imported
        | Withdrawal::CleanUp
        | Withdrawal::SystemNamespace => None,
    }
}

/// Only while the hub lists this cluster: alone it cannot differ from others.
fn conflict(state: &ServiceState<'_>, export: &Export) -> Option<Report> {
    let resolved = state.resolved?;
    let (text, event) = if resolved.conflicts.is_empty() {
        let reason = reasons::NO_CONFLICTS.to_owned();
        ((conditions::FALSE, reason, words::NO_CONFLICTS.to_owned()), None)
    } else {
        let (reason, message) = words::conflicts(resolved);
        ((conditions::TRUE, reason, message), Some(events::SERVICE_EXPORT_CONFLICT_FOUND))
    };
    Some(Report { condition: wanted(export, conditions::CONFLICT, text), event })
}

/// The conditions that stay: all but that of a conflict among exports of which this cluster's is none any more.
fn kept(state: &ServiceState<'_>, export: &Export) -> Vec<Condition> {
    let is_known = state.hub.is_some_and(HubSide::is_live);
    let withdrawn = matches!(state.intent, Intent::Withdraw(_));
    let over = withdrawn || (is_known && state.resolved.is_none());
    let stays = |condition: &&Condition| !over || condition.type_ != conditions::CONFLICT;
    export.conditions.iter().filter(stays).cloned().collect()
}

fn wanted(export: &Export, type_: &'static str, (status, reason, message): Text) -> Wanted {
    let generation = export.meta.generation;
    Wanted { type_, status: status.to_owned(), reason, message, generation }
}

fn is_reported(export: &Export, wanted: &Wanted) -> bool {
    find(&export.conditions, wanted.type_).is_some_and(|seen| {
        (&seen.status, &seen.reason, &seen.message)
            == (&wanted.status, &wanted.reason, &wanted.message)
            && seen.observed_generation == Some(wanted.generation)
    })
}

/// For how long the status must be due before it is written, and why.
fn delay(
    state: &ServiceState<'_>,
    export: &Export,
    changed: &[Report],
) -> Option<(Duration, &'static str)> {
    let seen = |report: &Report| find(&export.conditions, report.condition.type_);
    let waits = |report: &Report| {
        report.condition.type_ == conditions::READY && report.condition.reason == reasons::PENDING
    };
    let in_numbers = |report: &Report| {
        let now = &report.condition;
        seen(report).is_some_and(|seen| {
            (&seen.status, &seen.reason) == (&now.status, &now.reason)
                && seen.observed_generation == Some(now.generation)
                && words::differ_in_numbers(&seen.message, &now.message)
        })
    };
    if changed.iter().filter_map(seen).any(is_foreign) {
        Some((CONTESTED, "another client writes the status"))
    } else if state.hub.is_none() && changed.iter().any(waits) {
        Some((HUB_PATIENCE, "the hub is not known"))
    } else if changed.iter().any(waits) {
        Some((WAITING_STATUS_DELAY, "waiting for the hub"))
    } else if !changed.is_empty() && changed.iter().all(in_numbers) {
        Some((NUMBERS, "numbers in the message about a conflict"))
    } else {
        None
    }
}

/// Whether another client wrote a condition of ours. Messages about conflicts are the hub agent's; their reasons are ours.
fn is_foreign(seen: &Condition) -> bool {
    use fleet_api::multicluster::ConflictReason;
    let is_conflict =
        |reason: &str| ConflictReason::ALL.iter().any(|known| known.as_str() == reason);
    let conflicts = seen.type_ == conditions::CONFLICT && seen.reason.split(',').all(is_conflict);
    !conflicts && !words::is_ours(&seen.message)
}

fn event(export: &Export, report: &Report) -> Option<Event> {
    Some(LOCAL.warning(export, report.event?, report.condition.message.as_str()))
}
