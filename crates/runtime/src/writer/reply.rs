//! What an answer means.

use std::time::Duration;

use fleet_accumulator::{Expectation, ResourceVersion, Uid, Until};
use fleet_plan::{Action, Precondition, Step};
use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::outcome::Class;
use super::request::{any, everywhere};

/// Pause when the server asks for one without a duration.
const DEFAULT_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause that is believed, of one key or of all requests. A wrong `Retry-After`, of a proxy for example, must not keep the
/// removal of an endpoint back for long, and one request in so long a time is no load.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Bytes of a plain-text answer that go into a message.
const QUOTE: usize = 200;
/// Message of admission for a write that it forbids (kube-apiserver 1.36). It is asked once the writer has the right to
/// write, and answers 403 as a missing right does, with nothing but the message to distinguish them.
const DENIALS: [&str; 4] = [
    "ValidatingAdmissionPolicy '",
    "exceeded quota: ",
    "admission webhook \"",
    "violates PodSecurity \"",
];

/// Message for an address that the API server has not freed yet (kube-apiserver 1.36): it does so after it has shown that the
/// Service which had the address is deleted.
const OCCUPIED: &str = "provided IP is already allocated";

/// A step that did not succeed.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) class: Class,
    pub(super) retry_after: Option<Duration>,
    pub(super) message: String,
    /// What the view has to show before a new plan makes sense.
    pub(super) expectation: Option<Box<Expectation>>,
}

impl Refusal {
    pub(super) fn new(class: Class, message: impl Into<String>) -> Self {
        Self { class, retry_after: None, message: message.into(), expectation: None }
    }
}

/// The part of an answer that matters: an object's identity, or a `Status`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Body {
    kind: String,
    metadata: Metadata,
    message: String,
    reason: String,
    details: Details,
    items: Vec<Item>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Item {
    metadata: Metadata,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata {
    name: String,
    namespace: String,
    uid: String,
    resource_version: String,
    deletion_timestamp: Option<IgnoredAny>,
    deletion_grace_period_seconds: Option<i64>,
    finalizers: Vec<IgnoredAny>,
}

impl Metadata {
    /// Whether an object stays that is being deleted: for a finalizer, or because its containers have time to end.
    fn is_kept(&self) -> bool {
        !self.finalizers.is_empty()
            || self.deletion_grace_period_seconds.is_some_and(|left| left > 0)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Details {
    name: String,
    kind: String,
    causes: Vec<Cause>,
    retry_after_seconds: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Cause {
    reason: String,
}

/// Reads the answer to `step`: what to expect in the view, or why it failed.
pub(super) fn read(
    step: &Step,
    status: StatusCode,
    headers: &HeaderMap,
    bytes: &[u8],
) -> Result<Option<Expectation>, Refusal> {
    if status.is_success() {
        let body: Body = serde_json::from_slice(bytes).map_err(|error| {
            Refusal::new(Class::Transient, format!("unreadable answer ({status}): {error}"))
        })?;
        return success(step, &body);
    }
    // Not everything in front of an API server answers with a Status.
    let body: Body = serde_json::from_slice(bytes).unwrap_or_default();
    if status == StatusCode::NOT_FOUND
        && is_about(&body, step)
        && matches!(step.action, Action::Delete { .. } | Action::ConfirmAbsent)
    {
        return Ok(match &step.action {
            Action::Delete { at, .. } => Some(expect(step, Until::Gone { uid: at.uid.clone() })),
            _ => None,
        });
    }
    Err(refusal(step, status, headers, &body, bytes))
}

/// Incarnation and version in the answer to a GET; `None` for "not found".
pub(super) fn found(
    name: &str,
    status: StatusCode,
    bytes: &[u8],
) -> Result<Option<Precondition>, String> {
    let body: Body = serde_json::from_slice(bytes).unwrap_or_default();
    match status {
        StatusCode::OK if !body.metadata.uid.is_empty() => Ok(Some(identity(&body.metadata))),
        StatusCode::NOT_FOUND if body.details.name == name => Ok(None),
        _ => Err(message(status, &body, bytes)),
    }
}

fn success(step: &Step, body: &Body) -> Result<Option<Expectation>, Refusal> {
    let meta = &body.metadata;
    let until = match &step.action {
        Action::ConfirmAbsent => return absent(step, body),
        // A Status means that the object is gone, and so does the last state of an object that
        // nothing holds any more: with the last finalizer removed it is not stored again.
        Action::Delete { at, .. } if body.kind == "Status" || !meta.is_kept() => {
            Until::Gone { uid: at.uid.clone() }
        }
        _ if meta.deletion_timestamp.is_some() && !meta.is_kept() => {
            Until::Gone { uid: identity(meta).uid }
        }
        action => {
            let now = identity(meta);
            match planned_on(action) {
                // The server found nothing to change.
                Some(at) if at.version == now.version => return Ok(None),
                // The version was a precondition, so whatever is newer has our write in it. Unlike
                // "at least" this also ends when another client removes the object right after that.
                Some(Precondition { uid, version }) => {
                    Until::NewerThan { uid: uid.clone(), version: version.clone() }
                }
                None => Until::AtLeast { uid: now.uid, version: now.version },
            }
        }
    };
    Ok(Some(expect(step, until)))
}

/// Reads the answer to a GET, or to a LIST over all namespaces.
fn absent(step: &Step, body: &Body) -> Result<Option<Expectation>, Refusal> {
    let found = if everywhere(step) || any(step) {
        body.items.first().map(|item| &item.metadata)
    } else {
        Some(&body.metadata)
    };
    let Some(found) = found else { return Ok(None) };
    let Precondition { uid, version } = identity(found);
    let mut expectation = expect(step, Until::AtLeast { uid, version });
    expectation.name.namespace = found.namespace.as_str().into();
    if any(step) {
        expectation.name.name = found.name.as_str().into();
    }
    let message = "the object exists, the view was behind";
    let refusal = Refusal::new(Class::Conflict, message);
    Err(Refusal { expectation: Some(Box::new(expectation)), ..refusal })
}

fn refusal(
    step: &Step,
    status: StatusCode,
    headers: &HeaderMap,
    body: &Body,
    bytes: &[u8],
) -> Refusal {
    let pause = pause(headers, body);
    let class = class(step, status, body, pause.is_some());
    let mut refusal = Refusal::new(class, message(status, body, bytes));
    refusal.retry_after = match class {
        Class::Throttled => Some(pause.unwrap_or(DEFAULT_PAUSE)),
        _ => pause,
    };
    let until = match (class, planned_on(&step.action)) {
        (Class::Conflict, Some(Precondition { uid, version })) => {
            Some(Until::NewerThan { uid: uid.clone(), version: version.clone() })
        }
        (Class::NotFound, Some(at)) => Some(Until::Gone { uid: at.uid.clone() }),
        (Class::AlreadyExists, _) => Some(Until::Present),
        _ => None,
    };
    refusal.expectation = until.map(|until| Box::new(expect(step, until)));
    refusal
}

fn class(step: &Step, status: StatusCode, body: &Body, paused: bool) -> Class {
    match status {
        StatusCode::CONFLICT if body.reason == "AlreadyExists" => Class::AlreadyExists,
        StatusCode::CONFLICT => Class::Conflict,
        StatusCode::NOT_FOUND if is_about(body, step) => Class::NotFound,
        StatusCode::NOT_FOUND if body.details.kind == "namespaces" => Class::NamespaceMissing,
        // "404 page not found" in plain text.
        StatusCode::NOT_FOUND => Class::KindMissing,
        StatusCode::UNAUTHORIZED => Class::Unauthorized,
        StatusCode::FORBIDDEN => {
            let ending = |cause: &Cause| cause.reason == "NamespaceTerminating";
            if body.details.causes.iter().any(ending) {
                Class::NamespaceTerminating
            } else if DENIALS.iter().any(|denial| body.message.contains(denial)) {
                Class::Denied
            } else {
                Class::Forbidden
            }
        }
        // A JSON patch whose test fails, or that does not fit the object: 422 without details
        // (kube-apiserver 1.36). A refused value has the field in its details.
        StatusCode::UNPROCESSABLE_ENTITY
            if matches!(step.action, Action::Patch { .. })
                && body.reason == "Invalid"
                && body.details.causes.is_empty() =>
        {
            Class::Conflict
        }
        StatusCode::UNPROCESSABLE_ENTITY if body.message.contains(OCCUPIED) => Class::Occupied,
        StatusCode::TOO_MANY_REQUESTS => Class::Throttled,
        StatusCode::SERVICE_UNAVAILABLE if paused => Class::Throttled,
        StatusCode::REQUEST_TIMEOUT => Class::Transient,
        status if status.is_client_error() => Class::Invalid,
        _ => Class::Transient,
    }
}

/// Whether a "not found" means the object of this step, and not its namespace or kind.
fn is_about(body: &Body, step: &Step) -> bool {
    !matches!(step.action, Action::Create(_))
        && !everywhere(step)
        && !any(step)
        && body.details.name == *step.name.name
}

fn pause(headers: &HeaderMap, body: &Body) -> Option<Duration> {
    let header = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let seconds = header.or(match body.details.retry_after_seconds {
        0 => None,
        seconds => Some(seconds),
    });
    seconds.map(|seconds| Duration::from_secs(seconds).min(LONGEST_PAUSE))
}

fn message(status: StatusCode, body: &Body, bytes: &[u8]) -> String {
    if !body.message.is_empty() {
        return body.message.clone();
    }
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(QUOTE)]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{status}: {text}")
}

fn planned_on(action: &Action) -> Option<&Precondition> {
    match action {
        Action::Replace { at, .. } | Action::Patch { at, .. } | Action::Delete { at, .. } => {
            Some(at)
        }
        Action::Create(_) | Action::Apply { .. } | Action::ConfirmAbsent => None,
    }
}

fn identity(meta: &Metadata) -> Precondition {
    Precondition {
        uid: Uid::from(meta.uid.as_str()),
        version: ResourceVersion::from(meta.resource_version.as_str()),
    }
}

/// The expectation about the object of `step`.
fn expect(step: &Step, until: Until) -> Expectation {
    Expectation { cluster: step.cluster, kind: step.kind, name: step.name.clone(), until }
}
