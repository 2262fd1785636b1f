//! The status of the ServiceExport.

use std::iter;
use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::conditions::{self, reasons};
use fleet_api::{ObjectName, events};
use fleet_model::objects::{InternalServiceExport, ServiceExport};
use fleet_model::steps::LOCAL;
use fleet_plan::conditions::{Wanted, apply, find};
use fleet_plan::{Debounced, Event, EventType, Step, WAITING_STATUS_DELAY};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::json;

use super::decision::ExportDecision;
use super::internal;
use super::shortfall::{self, Shortfall};
use super::state::ServiceState;
use crate::measurement::{Measurement, Plan};
use crate::slicing;

type Export = Object<ServiceExport>;

/// How long a hub that lacks a decision which it had may take to make it again, until it is no longer shown: as long as it counts as
/// being rebuilt.
const DECIDED_WITHIN: Duration = Duration::from_mins(5);
/// Between the clauses of a message.
const CLAUSE: &str = "; ";

/// The condition `Conflict` that the hub has set, and its object.
type HubCondition<'a> = (&'a Object<InternalServiceExport>, &'a Condition);

/// A condition, and the Event about a change of it.
struct Report {
    condition: Wanted,
    event: (EventType, &'static str),
}

/// Plans the status. Returns whether it is written at once.
pub(super) fn write(
    state: &ServiceState<'_>,
    export: &Export,
    hub: Option<HubCondition<'_>>,
    plan: &mut Plan,
) -> bool {
    let others = || [Some(valid(state, export)), on_network(state, export)];
    let conflict = conflict(state, export, hub);
    let (conflict, overdue) =
        if internal::is_remembered(state) { (None, conflict) } else { (conflict, None) };
    if overdue.is_some()
        && let Some((step, events)) = change(state, export, others().into_iter().chain([overdue]))
    {
        let overdue = Debounced::new(DECIDED_WITHIN, "the hub does not decide", step);
        plan.debounced.push(Debounced { events, ..overdue });
    }
    let waits = state.exported().is_some()
        && hub.is_none_or(|(_, on)| is_undecided(on))
        && internal::rejection(state).is_none();
    let reports = others().into_iter().chain([conflict]);
    let Some((step, events)) = change(state, export, reports) else { return false };
    if waits {
        let (delay, purpose) = (WAITING_STATUS_DELAY, "waiting for the hub");
        plan.debounced.push(Debounced { events, ..Debounced::new(delay, purpose, step) });
        return false;
    }
    let written = plan.push(step);
    if let Some(exported) = exported(state, export, hub) {
        plan.measure_after(written, exported);
    }
    plan.events.extend(events);
    true
}

/// What reports lead to that are not in the status already, and the Events about them.
fn change(
    state: &ServiceState<'_>,
    export: &Export,
    reports: impl Iterator<Item = Option<Report>>,
) -> Option<(Step, Vec<Event>)> {
    let is_new = |report: &Report| !is_reported(state.name, export, &report.condition);
    let changed: Vec<_> = reports.flatten().filter(is_new).collect();
    let events: Vec<_> = changed.iter().map(|report| event(export, report)).collect();
    let wanted = changed.into_iter().map(|report| report.condition);
    let stay = |condition: &&Condition| {
        state.on_network || condition.type_ != conditions::ENDPOINTS_ON_NETWORK
    };
    let kept: Vec<_> = export.conditions.iter().filter(stay).cloned().collect();
    let dropped = kept.len() < export.conditions.len();
    let conditions = apply(&kept, wanted, state.now).or_else(|| dropped.then_some(kept))?;
    Some((LOCAL.status(export, &json!({ "conditions": conditions })), events))
}

fn valid(state: &ServiceState<'_>, export: &Export) -> Report {
    use conditions::{FALSE, TRUE};
    let service = state.name;
    let rejection = internal::rejection(state);
    let (status, reason, message, event) = match state.decision(export) {
        ExportDecision::Export(_) | ExportDecision::Denied(_) if let Some(hub) = rejection => (
            FALSE,
            hub.reason.as_str(),
            format!("the hub does not accept the export of service {service}: {}", hub.message),
            (EventType::Warning, events::EXPORT_REFUSED),
        ),
        ExportDecision::Export(_) => {
            let shortfalls = shortfall::of(state, export);
            let normal = (EventType::Normal, events::VALID_SERVICE_EXPORT);
            let missing = shortfalls.first().map(|first| (EventType::Warning, first.event));
            (
                TRUE,
                reasons::SERVICE_IS_VALID,
                valid_but(service, &shortfalls),
                missing.unwrap_or(normal),
            )
        }
        ExportDecision::Denied(_) if state.exported().is_some() => (
            TRUE,
            reasons::SERVICE_IS_VALID,
            format!(
                "{}; its namespace is denied, so it will not be exported again once it is withdrawn",
                valid_but(service, &shortfall::of(state, export)),
            ),
            (EventType::Warning, events::NAMESPACE_DENIED),
        ),
        ExportDecision::Denied(_) => (
            FALSE,
            reasons::NAMESPACE_DENIED,
            format!("service {service} is not exported: no services of its namespace are"),
            (EventType::Warning, events::NAMESPACE_DENIED),
        ),
        ExportDecision::Pause => (
            TRUE,
            reasons::SERVICE_IS_VALID,
            format!("service {service} is valid, but not exported: it has weight 0"),
            (EventType::Normal, events::SERVICE_WEIGHT_ZERO),
        ),
        ExportDecision::Hold(_, problem) => (
            FALSE,
            reasons::INVALID_WEIGHT,
            format!("the weight annotation is invalid, so the export stays unchanged: {problem}"),
            (EventType::Warning, events::INVALID_WEIGHT),
        ),
        ExportDecision::NotFound => (
            FALSE,
            reasons::SERVICE_NOT_FOUND,
            format!("service {service} is not found or in the deleting state"),
            (EventType::Warning, events::SERVICE_NOT_FOUND),
        ),
        ExportDecision::Ineligible => (
            FALSE,
            reasons::SERVICE_INELIGIBLE,
            format!(
                "service {service} is not eligible for export; it is headless or of type ExternalName"
            ),
            (EventType::Warning, events::SERVICE_NOT_ELIGIBLE),
        ),
        ExportDecision::NoMember => (
            FALSE,
            reasons::MEMBER_LEFT,
            format!("service {service} is not exported; this cluster has left the fleet"),
            (EventType::Warning, events::MEMBER_LEFT),
        ),
        ExportDecision::SystemNamespace => (
            FALSE,
            reasons::SERVICE_INELIGIBLE,
            format!(
                "service {service} is not eligible for export; its namespace holds imported objects"
            ),
            (EventType::Warning, events::SERVICE_NOT_ELIGIBLE),
        ),
    };
    Report { condition: wanted(export, conditions::VALID, status, reason, message), event }
}

/// The message about an export that is valid, and why some of its endpoints do not reach importers nevertheless.
fn valid_but(service: &ObjectName, shortfalls: &[Shortfall]) -> String {
    let clauses = shortfalls.iter().map(|shortfall| shortfall.clause.as_str());
    let valid = format!("service {service} is valid for export");
    iter::once(valid.as_str()).chain(clauses).collect::<Vec<_>>().join(CLAUSE)
}

/// The condition `Conflict`: the hub's, or `Unknown` while there is none.
fn conflict(
    state: &ServiceState<'_>,
    export: &Export,
    hub: Option<HubCondition<'_>>,
) -> Option<Report> {
    let wanted = |status: &str, reason: &str, message| {
        wanted(export, conditions::CONFLICT, status, reason, message)
    };
    let pending = (EventType::Normal, events::PENDING_EXPORT_CONFLICT_RESOLUTION);
    if let Some((_, hub)) = hub {
        let event = match hub.status.as_str() {
            conditions::TRUE => (EventType::Warning, events::SERVICE_EXPORT_CONFLICT_FOUND),
            conditions::FALSE => (EventType::Normal, events::NO_SERVICE_EXPORT_CONFLICT_FOUND),
            _ => pending,
        };
        let condition = wanted(&hub.status, &hub.reason, hub.message.clone());
        return Some(Report { condition, event });
    }
    let exported = state.exported().is_some();
    if !exported && find(&export.conditions, conditions::CONFLICT).is_none() {
        return None;
    }
    // The decision on an earlier export does not apply to the next one.
    let message = if exported && internal::is_crowded_out(state) {
        format!("every candidate name of service {} on the hub is taken", state.name)
    } else {
        format!("service {} is pending export conflict resolution", state.name)
    };
    let reason = reasons::PENDING_CONFLICT_RESOLUTION;
    Some(Report { condition: wanted(conditions::UNKNOWN, reason, message), event: pending })
}

/// The condition `EndpointsOnNetwork`: whether all pods are on the network that the Service requests.
fn on_network(state: &ServiceState<'_>, export: &Export) -> Option<Report> {
    use conditions::{FALSE, TRUE};
    let service = state.service.filter(|_| state.on_network)?;
    let (status, reason, message, event) =
        match slicing::off_network(state.settings, state.snapshot, service) {
            None => (
                TRUE,
                reasons::ON_NETWORK,
                format!("all endpoints of service {} are on its network", state.name),
                (EventType::Normal, events::ENDPOINTS_ON_NETWORK),
            ),
            Some(refused) => (
                FALSE,
                reasons::OFF_NETWORK,
                refused,
                (EventType::Warning, events::ENDPOINTS_OFF_NETWORK),
            ),
        };
    let type_ = conditions::ENDPOINTS_ON_NETWORK;
    Some(Report { condition: wanted(export, type_, status, reason, message), event })
}

fn wanted(
    export: &Export,
    type_: &'static str,
    status: &str,
    reason: &str,
    message: String,
) -> Wanted {
    let (status, reason) = (status.to_owned(), reason.to_owned());
    Wanted { type_, status, reason, message, generation: export.meta.generation }
}

/// Whether the status has this condition already, in these words or in those of a Go agent.
fn is_reported(service: &ObjectName, export: &Export, wanted: &Wanted) -> bool {
    find(&export.conditions, wanted.type_).is_some_and(|seen| {
        (&seen.status, &seen.reason) == (&wanted.status, &wanted.reason)
            && seen.observed_generation == Some(wanted.generation)
            && means_the_same(service, &seen.message, wanted)
    })
}

/// Whether two messages mean the same. They matter only where they contain more than the reason does: what is valid for
/// export has it in further clauses.
fn means_the_same(service: &ObjectName, seen: &str, wanted: &Wanted) -> bool {
    // The name of the Service might contain the word.
    let mentions = |text: &str, word| text.replace(&service.to_string(), "").contains(word);
    let agree = |word| mentions(seen, word) == mentions(&wanted.message, word);
    match wanted.reason.as_str() {
        reasons::SERVICE_IS_VALID => {
            let further = |text: &str| text.split_once(CLAUSE).map(|(_, more)| more.to_owned());
            agree("weight") && further(seen) == further(&wanted.message)
        }
        reasons::SERVICE_NOT_FOUND | reasons::SERVICE_INELIGIBLE => true,
        _ => seen == wanted.message,
    }
}

/// Measures an export whose first decision is written. Later decisions, caused by other exporters, are about the same
/// export; a changed export is measured where it is [sent](internal::sync).
fn exported(
    state: &ServiceState<'_>,
    export: &Export,
    hub: Option<HubCondition<'_>>,
) -> Option<Measurement> {
    let (internal, hub) = hub?;
    let seen = find(&export.conditions, conditions::CONFLICT);
    if is_undecided(hub) || seen.is_some_and(|seen| !is_undecided(seen)) {
        return None;
    }
    let since = internal.reference.exported_since.as_ref()?.0;
    Some(internal::exported(state, since))
}

/// Whether the hub has not decided yet.
fn is_undecided(conflict: &Condition) -> bool {
    conflict.status == conditions::UNKNOWN
}

fn event(export: &Export, report: &Report) -> Event {
    let (event_type, reason) = report.event;
    LOCAL.event(export, event_type, reason, &*report.condition.message)
}
