//! What the user reads on the ServiceExport.

use std::time::Duration;

use fleet_accumulator::{ClusterId, Record};
use fleet_api::conditions::{self, reasons};
use fleet_api::{events, kinds};
use fleet_model::conditions::{Wanted, apply, find, is};
use fleet_model::records::{InternalServiceExportRecord, ServiceExportRecord};
use fleet_model::steps::LOCAL;
use fleet_runtime::plan::{Event, EventType, Plan, Sample};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::json;

use super::subject::{Eligibility, Subject};

/// "Waiting" is written only after it has lasted this long (design 3a).
const PATIENCE: Duration = Duration::from_millis(500);

/// The hub's verdict, and where it stands.
type Verdict<'a> = (&'a Record<InternalServiceExportRecord>, &'a Condition);

/// Plans the status; true if it is written at once.
pub(super) fn write(subject: &Subject<'_>, verdict: Option<Verdict<'_>>, plan: &mut Plan) -> bool {
    let Some(export) = subject.export else { return false };
    let valid = valid(subject, export);
    let conflict = conflict(subject, export, verdict);
    let waits = conflict.as_ref().is_some_and(|wanted| wanted.status == conditions::UNKNOWN)
        && valid.status == conditions::TRUE;
    let told = told(export, &valid, conflict.as_ref());
    let wanted = [Some(valid), conflict].into_iter().flatten();
    let Some(conditions) = apply(&export.conditions, wanted, subject.now) else {
        return false;
    };
    let step = LOCAL.status(export, &json!({ "conditions": conditions }));
    if waits {
        plan.push_later(PATIENCE, "waiting for the hub", step);
        return false;
    }
    plan.push(step.sample(sample(subject, export, verdict)));
    plan.events.extend(told);
    true
}

fn valid(subject: &Subject<'_>, export: &Record<ServiceExportRecord>) -> Wanted {
    let service = subject.name;
    let (status, reason, message) = match subject.eligibility() {
        Eligibility::Exportable(_) => {
            let message = format!("service {service} is valid for export");
            (conditions::TRUE, reasons::SERVICE_IS_VALID, message)
        }
        Eligibility::NotFound => {
            let message = format!("service {service} is not found or in the deleting state");
            (conditions::FALSE, reasons::SERVICE_NOT_FOUND, message)
        }
        Eligibility::Ineligible => {
            let message = format!(
                "service {service} is not eligible for export; it is headless or of type ExternalName"
            );
            (conditions::FALSE, reasons::SERVICE_INELIGIBLE, message)
        }
    };
    wanted(export, conditions::VALID, status, reason, message)
}

/// The hub's verdict as it stands there; "unknown" while there is none.
fn conflict(
    subject: &Subject<'_>,
    export: &Record<ServiceExportRecord>,
    verdict: Option<Verdict<'_>>,
) -> Option<Wanted> {
    if let Some((_, verdict)) = verdict {
        let (reason, message) = (verdict.reason.as_str(), verdict.message.clone());
        return Some(wanted(export, conditions::CONFLICT, &verdict.status, reason, message));
    }
    let known = find(&export.conditions, conditions::CONFLICT).is_some();
    let exportable = matches!(subject.eligibility(), Eligibility::Exportable(_));
    // A verdict on an earlier export says nothing about the next one.
    (known || exportable).then(|| {
        let message = format!("service {} is pending export conflict resolution", subject.name);
        let reason = reasons::PENDING_CONFLICT_RESOLUTION;
        wanted(export, conditions::CONFLICT, conditions::UNKNOWN, reason, message)
    })
}

fn wanted(
    export: &Record<ServiceExportRecord>,
    type_: &'static str,
    status: &str,
    reason: &str,
    message: String,
) -> Wanted {
    let (status, reason) = (status.to_owned(), reason.to_owned());
    Wanted { type_, status, reason, message, generation: export.meta.generation }
}

/// A verdict that the user reads for the first time ends the export of the Service.
fn sample(
    subject: &Subject<'_>,
    export: &Record<ServiceExportRecord>,
    verdict: Option<Verdict<'_>>,
) -> Option<Sample> {
    let (internal, verdict) = verdict?;
    if is(&export.conditions, conditions::CONFLICT, &verdict.status) {
        return None;
    }
    let since = internal.spec.service_reference.exported_since.as_ref()?.0;
    Some(Sample { origin: subject.identity.cluster.clone(), since, first: true })
}

/// Events go with a condition that flips.
fn told(
    export: &Record<ServiceExportRecord>,
    valid: &Wanted,
    conflict: Option<&Wanted>,
) -> Vec<Event> {
    let flipped = |wanted: &&Wanted| {
        find(&export.conditions, wanted.type_)
            .is_none_or(|seen| seen.status != wanted.status || seen.reason != wanted.reason)
    };
    [Some(valid), conflict]
        .into_iter()
        .flatten()
        .filter(flipped)
        .filter_map(|wanted| event(export, wanted))
        .collect()
}

fn event(export: &Record<ServiceExportRecord>, wanted: &Wanted) -> Option<Event> {
    let (event_type, reason) = match wanted.reason.as_str() {
        reasons::SERVICE_IS_VALID => (EventType::Normal, events::VALID_SERVICE_EXPORT),
        reasons::SERVICE_NOT_FOUND => (EventType::Warning, events::SERVICE_NOT_FOUND),
        reasons::SERVICE_INELIGIBLE => (EventType::Warning, events::SERVICE_NOT_ELIGIBLE),
        reasons::NO_CONFLICT_FOUND => (EventType::Normal, events::NO_SERVICE_EXPORT_CONFLICT_FOUND),
        reasons::CONFLICT_FOUND => (EventType::Warning, events::SERVICE_EXPORT_CONFLICT_FOUND),
        _ => return None,
    };
    Some(Event {
        cluster: ClusterId::Local,
        kind: kinds::SERVICE_EXPORT,
        name: export.name.clone(),
        uid: export.uid.clone(),
        event_type,
        reason,
        note: wanted.message.clone(),
    })
}
