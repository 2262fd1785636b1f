//! The HTTP request of a step.

use std::fmt::Display;

use fleet_api::{ObjectName, ResourceKind};
use fleet_plan::{Action, Body, Precondition, Step};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Map, Value, json};

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
    let (method, media, body) = match &step.action {
        Action::Create(body) => (Method::POST, JSON, encode(body)),
        Action::Replace { body, at } => {
            let fields = body.fields();
            let (Value::Object(fields), Some(Value::Object(metadata))) =
                (fields, fields.get(METADATA))
            else {
                return Err(RequestError::NoMetadata);
            };
            let tracked = !step.kind.is_copied_slice();
            (Method::PUT, JSON, encode(&Stamped { body, fields, metadata, at, tracked }))
        }
        Action::Patch { operations, at, .. } => {
            (Method::PATCH, JSON_PATCH, encode(&Guarded { operations, at }))
        }
        Action::Apply { body, .. } => (Method::PATCH, APPLY, encode(body)),
        Action::Delete { at, grace_seconds } => {
            (Method::DELETE, JSON, encode(&delete_options(at, *grace_seconds)))
        }
        Action::ConfirmAbsent if everywhere(step) => return list(&step.kind, &step.name),
        Action::ConfirmAbsent if any(step) => return first(&step.kind, &step.name),
        Action::ConfirmAbsent => return get(&step.kind, &step.name),
    };
    let named = !matches!(step.action, Action::Create(_));
    let mut uri = path(&step.kind, &step.name, named)?;
    if matches!(
        step.action,
        Action::Patch { status: true, .. } | Action::Apply { status: true, .. }
    ) {
        uri.push_str("/status");
    }
    if !matches!(step.action, Action::Delete { .. }) {
        uri.push_str("?fieldManager=");
        uri.push_str(manager);
    }
    // What others have written into a field of ours is overwritten: it is ours to decide.
    if matches!(step.action, Action::Apply { .. }) {
        uri.push_str("&force=true");
    }
    Request::builder()
        .method(method)
        .uri(uri)
        .header(ACCEPT, JSON)
        .header(CONTENT_TYPE, media)
        .body(body)
        .map_err(|_| RequestError::Name(step.name.to_string()))
}

/// Reads one object.
pub(super) fn get(
    kind: &ResourceKind,
    name: &ObjectName,
) -> Result<Request<Vec<u8>>, RequestError> {
    read(path(kind, name, true)?, name)
}

/// Whether the step asks about all namespaces at once.
pub(super) fn everywhere(step: &Step) -> bool {
    matches!(step.action, Action::ConfirmAbsent)
        && step.kind.namespaced
        && step.name.namespace.is_empty()
}

/// Whether the step asks about all objects of its namespace.
pub(super) fn any(step: &Step) -> bool {
    matches!(step.action, Action::ConfirmAbsent) && step.name.name.is_empty()
}

/// Lists at most one object of a namespace.
fn first(kind: &ResourceKind, name: &ObjectName) -> Result<Request<Vec<u8>>, RequestError> {
    read(path(kind, name, false)? + "?limit=1", name)
}

/// Lists the objects of one name in all namespaces.
fn list(kind: &ResourceKind, name: &ObjectName) -> Result<Request<Vec<u8>>, RequestError> {
    let mut uri = root(kind);
    uri.push('/');
    uri.push_str(kind.plural);
    uri.push_str("?fieldSelector=metadata.name%3D");
    uri.push_str(segment(&name.name)?);
    read(uri, name)
}

fn read(uri: String, name: &ObjectName) -> Result<Request<Vec<u8>>, RequestError> {
    let request = Request::get(uri).header(ACCEPT, JSON).body(Vec::new());
    request.map_err(|_| RequestError::Name(name.to_string()))
}

const METADATA: &str = "metadata";
const SPEC: &str = "spec";
const UID: &str = "uid";
const VERSION: &str = "resourceVersion";
const JSON: &str = "application/json";
const JSON_PATCH: &str = "application/json-patch+json";
/// JSON is YAML.
const APPLY: &str = "application/apply-patch+yaml";

/// The path of a group and version.
fn root(kind: &ResourceKind) -> String {
    if kind.group.is_empty() {
        format!("/api/{}", kind.version)
    } else {
        format!("/apis/{}/{}", kind.group, kind.version)
    }
}

fn path(kind: &ResourceKind, name: &ObjectName, named: bool) -> Result<String, RequestError> {
    let mut path = root(kind);
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

fn encode(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("JSON values can always be written")
}

/// An object with the uid and version that it replaces, without a copy of it.
struct Stamped<'a> {
    body: &'a Body,
    fields: &'a Map<String, Value>,
    metadata: &'a Map<String, Value>,
    at: &'a Precondition,
    /// Whether the API server is to note who set which field.
    tracked: bool,
}

impl Serialize for Stamped<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let others = self.fields.iter().filter(|(field, _)| *field != METADATA);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(METADATA, &StampedMetadata(self))?;
        for (field, value) in others {
            map.serialize_entry(field, value)?;
        }
        if let Some(spec) = self.body.shared_spec() {
            map.serialize_entry(SPEC, spec)?;
        }
        map.end()
    }
}

struct StampedMetadata<'a>(&'a Stamped<'a>);

impl Serialize for StampedMetadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Stamped { metadata, at, tracked, .. } = self.0;
        let mut map = serializer.serialize_map(None)?;
        for (field, value) in
            metadata.iter().filter(|(field, _)| *field != UID && *field != VERSION)
        {
            map.serialize_entry(field, value)?;
        }
        map.serialize_entry(UID, &Text(&at.uid))?;
        map.serialize_entry(VERSION, &Text(&at.version))?;
        if !tracked {
            // One entry without content: Kubernetes' documentation of server-side apply calls that clearing them.
            map.serialize_entry("managedFields", &json!([{}]))?;
        }
        map.end()
    }
}

/// Operations behind tests of uid and version, without a copy of them.
struct Guarded<'a> {
    operations: &'a [Value],
    at: &'a Precondition,
}

impl Serialize for Guarded<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let test = |path, value: String| json!({"op": "test", "path": path, "value": value});
        let mut all = serializer.serialize_seq(Some(self.operations.len() + 2))?;
        all.serialize_element(&test("/metadata/uid", self.at.uid.to_string()))?;
        all.serialize_element(&test("/metadata/resourceVersion", self.at.version.to_string()))?;
        self.operations.iter().try_for_each(|operation| all.serialize_element(operation))?;
        all.end()
    }
}

/// Something that is written as its text.
struct Text<T>(T);

impl<T: Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

fn delete_options(at: &Precondition, grace_seconds: Option<i64>) -> Value {
    let mut options = json!({
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Background",
        "preconditions": {"uid": at.uid.to_string(), "resourceVersion": at.version.to_string()},
    });
    if let Some(seconds) = grace_seconds {
        options["gracePeriodSeconds"] = seconds.into();
    }
    options
}
