//! The HTTP request of a step.

use fleet_api::{ObjectName, ResourceKind};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request};
use serde_json::{Value, json};

use crate::plan::{Action, Precondition, Step};

/// A step that cannot be a request.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RequestError {
    /// A name with characters that have a meaning in a URL: it came from somewhere it should not
    /// have, and must not choose which object is written.
    #[error("{0:?} cannot be the name of an object")]
    Name(String),
    /// A body that is no object with metadata.
    #[error("the object has no metadata")]
    NoMetadata,
}

/// Builds the request. `manager` names us in `managedFields`.
pub(super) fn build(step: &Step, manager: &str) -> Result<Request<Vec<u8>>, RequestError> {
    let (method, media, query, body) = match &step.action {
        Action::Create(object) => (Method::POST, JSON, true, encode(object)),
        Action::Replace { body, at } => (Method::PUT, JSON, true, encode(&stamped(body, at)?)),
        Action::Patch { operations, at, .. } => {
            (Method::PATCH, JSON_PATCH, true, encode(&guarded(operations, at)))
        }
        Action::Delete { at } => (Method::DELETE, JSON, false, encode(&delete_options(at))),
        Action::ConfirmAbsent => (Method::GET, JSON, false, Vec::new()),
    };
    let named = !matches!(step.action, Action::Create(_));
    let mut uri = path(&step.kind, &step.name, named)?;
    if matches!(step.action, Action::Patch { status: true, .. }) {
        uri.push_str("/status");
    }
    if query {
        uri.push_str("?fieldManager=");
        uri.push_str(manager);
    }
    let mut request = Request::builder().method(method).uri(uri).header(ACCEPT, JSON);
    if !body.is_empty() {
        request = request.header(CONTENT_TYPE, media);
    }
    request.body(body).map_err(|_| RequestError::Name(step.name.to_string()))
}

/// Reads one object.
pub(super) fn get(kind: &ResourceKind, name: &ObjectName) -> Result<Request<Vec<u8>>, RequestError> {
    Request::get(path(kind, name, true)?)
        .header(ACCEPT, JSON)
        .body(Vec::new())
        .map_err(|_| RequestError::Name(name.to_string()))
}

const JSON: &str = "application/json";
const JSON_PATCH: &str = "application/json-patch+json";

fn path(kind: &ResourceKind, name: &ObjectName, named: bool) -> Result<String, RequestError> {
    let mut path = String::with_capacity(160);
    if kind.group.is_empty() {
        path.push_str("/api/");
    } else {
        path.push_str("/apis/");
        path.push_str(kind.group);
        path.push('/');
    }
    path.push_str(kind.version);
    if kind.namespaced {
        path.push_str("/namespaces/");
        path.push_str(segment(&name.namespace)?);
    }
    path.push('/');
    path.push_str(kind.plural);
    if named {
        path.push('/');
        path.push_str(segment(&name.name)?);
    }
    Ok(path)
}

/// Names of all kinds written here are DNS labels or subdomains.
fn segment(name: &str) -> Result<&str, RequestError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    let known = !name.is_empty() && name.bytes().all(plain) && !name.starts_with('.');
    if known { Ok(name) } else { Err(RequestError::Name(name.to_owned())) }
}

fn encode(value: &Value) -> Vec<u8> {
    serde_json::to_vec(value).expect("a JSON value can always be written")
}

/// The object with the uid and version that it replaces.
fn stamped(body: &Value, at: &Precondition) -> Result<Value, RequestError> {
    let mut body = body.clone();
    let metadata = body.get_mut("metadata").and_then(Value::as_object_mut);
    let metadata = metadata.ok_or(RequestError::NoMetadata)?;
    metadata.insert("uid".to_owned(), at.uid.to_string().into());
    metadata.insert("resourceVersion".to_owned(), at.version.to_string().into());
    Ok(body)
}

/// The operations behind tests of uid and version.
fn guarded(operations: &[Value], at: &Precondition) -> Value {
    let test = |path, value: String| json!({"op": "test", "path": path, "value": value});
    let mut all = Vec::with_capacity(operations.len() + 2);
    all.push(test("/metadata/uid", at.uid.to_string()));
    all.push(test("/metadata/resourceVersion", at.version.to_string()));
    all.extend_from_slice(operations);
    Value::Array(all)
}

fn delete_options(at: &Precondition) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Background",
        "preconditions": {"uid": at.uid.to_string(), "resourceVersion": at.version.to_string()},
    })
}
