//! An API server in memory, as agents see one: requests come in, watches go out.

use std::sync::Arc;

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, ResourceKind};
use fleet_e2e::objects::kinds_written;
use fleet_runtime::plan::{Action, Precondition, Step};
use fleet_runtime::testing::{ModelServer, Refusal};
use http::{Method, Request, Response, Uri};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch;

/// A write that an agent sent and the server did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Who sent it.
    pub(crate) agent: String,
    /// What it did, for people.
    pub(crate) what: String,
    /// Whether somebody has less for it: an object is deleted, or lists fewer endpoints or clusters.
    pub(crate) takes: bool,
}

/// An API server. Clones are the same one.
#[derive(Clone)]
pub(crate) struct Api(Arc<Inner>);

struct Inner {
    model: Mutex<ModelServer>,
    changed: watch::Sender<()>,
    sent: Mutex<Vec<Sent>>,
}

impl Api {
    pub(crate) fn new(model: ModelServer) -> Self {
        let changed = watch::Sender::new(());
        Self(Arc::new(Inner { model: Mutex::new(model), changed, sent: Mutex::default() }))
    }

    /// Another server with the same objects, and nobody connected.
    pub(crate) fn fork(&self) -> Self {
        Self::new(self.0.model.lock().clone())
    }

    /// Looks at the objects.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&ModelServer) -> T) -> T {
        look(&self.0.model.lock())
    }

    /// Changes objects as users do.
    pub(crate) fn write<T>(&self, change: impl FnOnce(&mut ModelServer) -> T) -> T {
        let done = change(&mut self.0.model.lock());
        self.0.changed.send_replace(());
        done
    }

    /// Tells of every change.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    /// Everything that agents wrote.
    pub(crate) fn sent(&self) -> Vec<Sent> {
        self.0.sent.lock().clone()
    }

    /// A client of that agent.
    pub(crate) fn client(&self, agent: &str) -> Client {
        let (api, agent) = (self.clone(), agent.to_owned());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (api, agent) = (api.clone(), agent.clone());
            async move { Ok::<_, std::convert::Infallible>(api.serve(&agent, request).await) }
        });
        Client::new(service, "default")
    }

    async fn serve(&self, agent: &str, request: Request<Body>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let target = Target::of(&head.uri);
        let (code, answer) = match head.method {
            Method::GET => self.get(&target),
            method => self.perform(agent, &method, &target, &body),
        };
        let answer = Body::from(serde_json::to_vec(&answer).unwrap());
        Response::builder().status(code).body(answer).unwrap()
    }

    fn get(&self, target: &Target) -> (u16, Value) {
        let model = self.0.model.lock();
        if let Some(name) = &target.name {
            let name = ObjectName::new(target.namespace.as_str(), name.as_str());
            return match model.get(target.kind, &name) {
                Some(object) => (200, whole(target.kind, object)),
                None => not_found(target.kind, &name),
            };
        }
        let meant = |name: &ObjectName| {
            (target.namespace.is_empty() || *name.namespace == *target.namespace)
                && target.only.as_ref().is_none_or(|only| *name.name == **only)
        };
        let names = model.names(target.kind).into_iter().filter(meant);
        let items: Vec<Value> =
            names.map(|name| model.get(target.kind, &name).unwrap().clone()).collect();
        (200, json!({ "kind": "List", "items": items }))
    }

    fn perform(&self, agent: &str, method: &Method, target: &Target, body: &Value) -> (u16, Value) {
        let mut model = self.0.model.lock();
        let own = body["metadata"]["name"].as_str();
        let name = target.name.as_deref().or(own).unwrap();
        let name = ObjectName::new(target.namespace.as_str(), name);
        let action = action(method, target, body);
        let step = Step::new(model.cluster(), target.kind, name.clone(), action);
        let before = model.get(target.kind, &name).cloned();
        let done = model.execute(&step);
        let after = model.get(target.kind, &name).cloned();
        drop(model);
        match done {
            Err(refusal) => return refused(refusal, method, target.kind, &name),
            Ok(()) if before.is_none() && after.is_none() => return not_found(target.kind, &name),
            Ok(()) => {}
        }
        if before != after {
            let what = format!("{method} {} {name}", target.kind.kind);
            let takes =
                *method == Method::DELETE || carried(before.as_ref()) > carried(after.as_ref());
            self.0.sent.lock().push(Sent { agent: agent.to_owned(), what, takes });
            self.0.changed.send_replace(());
        }
        match (after, before) {
            (Some(after), _) => (200, whole(target.kind, &after)),
            (None, Some(mut last)) if *method != Method::DELETE => {
                // The last finalizer went: the answer shows the object without it.
                last["metadata"]["finalizers"] = json!([]);
                (200, whole(target.kind, &last))
            }
            (None, _) => (200, json!({ "kind": "Status", "status": "Success" })),
        }
    }
}

/// What a path names.
struct Target {
    kind: ResourceKind,
    namespace: String,
    name: Option<String>,
    /// The only name that a list is asked for.
    only: Option<String>,
    status: bool,
}

impl Target {
    fn of(uri: &Uri) -> Self {
        let mut path = uri.path().split('/').skip(1).peekable();
        let group_and_version = if path.next() == Some("api") { 1 } else { 2 };
        let mut path = path.skip(group_and_version).peekable();
        let namespace = match path.next_if_eq(&"namespaces") {
            Some(_) => path.next().unwrap().to_owned(),
            None => String::new(),
        };
        let kind = kind(path.next().unwrap());
        let name = path.next().map(str::to_owned);
        let status = path.next() == Some("status");
        let only = uri.query().and_then(|query| query.split_once("metadata.name%3D"));
        Self { kind, namespace, name, only: only.map(|(_, name)| name.to_owned()), status }
    }
}

fn kind(plural: &str) -> ResourceKind {
    let found = kinds_written().find(|kind| kind.plural == plural);
    found.expect("a kind that agents write")
}

/// The step that this request was made from.
fn action(method: &Method, target: &Target, body: &Value) -> Action {
    let at = |identity: &Value| {
        let text = |field: &str| identity[field].as_str().unwrap().to_owned();
        Precondition { uid: text("uid").into(), version: text("resourceVersion").into() }
    };
    match *method {
        Method::POST => Action::Create(body.clone()),
        Method::PUT => Action::Replace { body: body.clone(), at: at(&body["metadata"]) },
        Method::PATCH => {
            let operations = body.as_array().unwrap();
            let tested = |at: usize| operations[at]["value"].as_str().unwrap().to_owned();
            let at = Precondition { uid: tested(0).into(), version: tested(1).into() };
            let operations = operations[2..].to_vec();
            Action::Patch { operations, status: target.status, at }
        }
        Method::DELETE => Action::Delete { at: at(&body["preconditions"]) },
        _ => panic!("agents do not send {method}"),
    }
}

/// How many addresses and clusters an object lists.
fn carried(object: Option<&Value>) -> usize {
    let Some(object) = object else { return 0 };
    let length = |list: &Value| list.as_array().map_or(0, Vec::len);
    length(&object["endpoints"])
        + length(&object["spec"]["endpoints"])
        + length(&object["status"]["clusters"])
}

fn whole(kind: ResourceKind, object: &Value) -> Value {
    let mut object = object.clone();
    object["kind"] = json!(kind.kind);
    object
}

fn not_found(kind: ResourceKind, name: &ObjectName) -> (u16, Value) {
    status(404, "NotFound", kind, name)
}

fn status(code: u16, reason: &str, kind: ResourceKind, name: &ObjectName) -> (u16, Value) {
    let details = json!({ "name": name.name, "kind": kind.plural });
    (code, json!({ "kind": "Status", "code": code, "reason": reason, "details": details }))
}

/// What a server says: a patch whose tests fail, or that does not fit, is invalid without a cause.
fn refused(
    refusal: Refusal,
    method: &Method,
    kind: ResourceKind,
    name: &ObjectName,
) -> (u16, Value) {
    match refusal {
        Refusal::AlreadyExists => status(409, "AlreadyExists", kind, name),
        Refusal::NotFound => not_found(kind, name),
        Refusal::Conflict if *method != Method::PATCH => status(409, "Conflict", kind, name),
        Refusal::Conflict | Refusal::Misfit => status(422, "Invalid", kind, name),
        Refusal::Invalid => panic!("{method} {} {name} is invalid", kind.kind),
    }
}

/// Which server of two an agent means.
pub(crate) fn server<'a>(own: &'a Api, hub: &'a Api, cluster: ClusterId) -> &'a Api {
    match cluster {
        ClusterId::Local => own,
        ClusterId::Hub => hub,
    }
}
