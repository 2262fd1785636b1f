//! Answers of the front, as an API server words them.

use std::convert::Infallible;

use fleet_api::{ObjectName, ResourceKind, kinds};
use http::{Method, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use serde_json::{Value, json};

use crate::Refusal;

pub(super) type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// An object with its type, which the model does not store.
pub(super) fn typed(kind: ResourceKind, object: &Value) -> Value {
    let mut object = object.clone();
    object["apiVersion"] = kind.api_version().into();
    object["kind"] = kind.kind.into();
    object
}

pub(super) fn answer(status: StatusCode, body: &Value) -> Answer {
    let mut response = Response::new(Full::from(body.to_string().into_bytes()).boxed_unsync());
    *response.status_mut() = status;
    response
}

pub(super) fn not_found(kind: ResourceKind, name: &ObjectName) -> Answer {
    status(StatusCode::NOT_FOUND, "NotFound", Some((kind, name)))
}

/// A failure.
pub(super) fn status(
    code: StatusCode,
    reason: &str,
    object: Option<(ResourceKind, &ObjectName)>,
) -> Answer {
    let details = object.map(|(kind, name)| json!({ "name": name.name, "kind": kind.plural }));
    failure(code, reason, details.unwrap_or(Value::Null))
}

/// As an API server does: a patch whose tests fail, or that does not fit, is invalid without a cause.
pub(super) fn refused(
    refusal: Refusal,
    method: &Method,
    kind: ResourceKind,
    name: &ObjectName,
) -> Answer {
    let object = Some((kind, name));
    match refusal {
        Refusal::AlreadyExists => status(StatusCode::CONFLICT, "AlreadyExists", object),
        Refusal::NotFound => not_found(kind, name),
        Refusal::Conflict if *method != Method::PATCH => {
            status(StatusCode::CONFLICT, "Conflict", object)
        }
        Refusal::Conflict | Refusal::Misfit => {
            status(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", object)
        }
        Refusal::NamespaceMissing => {
            not_found(kinds::NAMESPACE, &ObjectName::cluster(&*name.namespace))
        }
        Refusal::NamespaceTerminating => status(StatusCode::FORBIDDEN, "Forbidden", object),
        Refusal::Invalid => {
            let cause = json!({ "reason": "FieldValueForbidden", "field": "metadata.finalizers" });
            let details = json!({ "name": name.name, "kind": kind.plural, "causes": [cause] });
            failure(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", details)
        }
    }
}

fn failure(code: StatusCode, reason: &str, details: Value) -> Answer {
    let mut body = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": reason, "code": code.as_u16(),
        "message": reason,
    });
    if !details.is_null() {
        body["details"] = details;
    }
    answer(code, &body)
}
