//! An API server in memory that a client reaches without a network: the own cluster of a member that is played.
//!
//! It is the model that the plans are tested with, behind as much of the protocol as an agent speaks: lists, watches,
//! creation, replacement, JSON patches and deletion with preconditions.

mod request;
mod watch;

use std::convert::Infallible;
use std::sync::Arc;

use fleet_accumulator::ClusterId;
use fleet_api::ResourceKind;
use fleet_runtime::plan::Step;
use fleet_runtime::testing::{Change, ModelServer, Refusal};
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use request::{Target, action};
use serde_json::{Value, json};
use tokio::sync::watch as signal;

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// One cluster.
pub(crate) struct ApiServer {
    model: Mutex<ModelServer>,
    /// How many changes there were: wakes the watches.
    count: signal::Sender<usize>,
    seen: Box<dyn Fn(&Change) + Send + Sync>,
}

impl ApiServer {
    /// An empty cluster; `seen` hears of every change.
    pub(crate) fn new(seen: impl Fn(&Change) + Send + Sync + 'static) -> Arc<Self> {
        let mut model = ModelServer::new(ClusterId::Local);
        model.remember();
        let model = Mutex::new(model);
        Arc::new(Self { model, count: signal::Sender::new(0), seen: Box::new(seen) })
    }

    /// A client for it.
    pub(crate) fn client(self: &Arc<Self>) -> Client {
        let server = Arc::clone(self);
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = Arc::clone(&server);
            async move { Ok::<_, Infallible>(server.answer(request).await) }
        });
        Client::new(service, "default")
    }

    /// Does something as a user of the cluster.
    pub(crate) fn act<R>(&self, act: impl FnOnce(&mut ModelServer) -> R) -> R {
        let mut model = self.model.lock();
        let before = model.changes().len();
        let result = act(&mut model);
        let changes = model.changes();
        changes[before..].iter().for_each(&self.seen);
        self.count.send_replace(changes.len());
        result
    }

    async fn answer(self: Arc<Self>, request: Request<Body>) -> Answer {
        let (head, body) = request.into_parts();
        let Ok(body) = body.collect().await else {
            return refused(StatusCode::BAD_REQUEST, "Body");
        };
        let body = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
        let query = head.uri.query().unwrap_or_default();
        match Target::parse(head.uri.path()) {
            // Kinds that nobody looks at here, such as Events.
            None if head.method == Method::POST => answer(StatusCode::CREATED, &body),
            None => refused(StatusCode::NOT_FOUND, "NotFound"),
            Some(target) if head.method == Method::GET => self.read(target, query),
            Some(target) => self.write(&head.method, &target, body),
        }
    }

    fn read(self: Arc<Self>, target: Target, query: &str) -> Answer {
        if let Some(name) = &target.name {
            let found = self.model.lock().get(target.kind, name).cloned();
            return match found {
                Some(object) => answer(StatusCode::OK, &stamped(target.kind, object)),
                None => refused(StatusCode::NOT_FOUND, "NotFound"),
            };
        }
        if let Some(watch) = watch::Watch::parse(query) {
            return Response::new(watch.follow(self, target).boxed_unsync());
        }
        let model = self.model.lock();
        let found = model.objects(target.kind).filter(|(name, _)| target.covers(name));
        let items = found.map(|(_, object)| stamped(target.kind, object.clone()));
        let list = json!({
            "apiVersion": target.kind.api_version(), "kind": format!("{}List", target.kind.kind),
            "metadata": { "resourceVersion": model.version().to_string() },
            "items": items.collect::<Vec<_>>(),
        });
        answer(StatusCode::OK, &list)
    }

    fn write(&self, method: &Method, target: &Target, body: Value) -> Answer {
        let kind = target.kind;
        let Some((name, action)) = action(method, target, body) else {
            return refused(StatusCode::BAD_REQUEST, "BadRequest");
        };
        let status = if method == Method::POST { StatusCode::CREATED } else { StatusCode::OK };
        let step = Step::new(ClusterId::Local, kind, name, action);
        let (result, object) = self.act(|model| {
            let result = model.execute(&step);
            (result, model.get(kind, &step.name).cloned())
        });
        match (result, object) {
            (Ok(()), Some(object)) => answer(status, &stamped(kind, object)),
            (Ok(()), None) => answer(status, &json!({ "kind": "Status", "status": "Success" })),
            (Err(Refusal::AlreadyExists), _) => refused(StatusCode::CONFLICT, "AlreadyExists"),
            (Err(Refusal::Conflict), _) => refused(StatusCode::CONFLICT, "Conflict"),
            (Err(Refusal::NotFound), _) => refused(StatusCode::NOT_FOUND, "NotFound"),
            (Err(Refusal::Misfit | Refusal::Invalid), _) => {
                refused(StatusCode::UNPROCESSABLE_ENTITY, "Invalid")
            }
        }
    }

    /// Changes of a kind from a position on, as lines of a watch, and the position after them.
    fn since(&self, position: usize, target: &Target) -> (Vec<u8>, usize) {
        let model = self.model.lock();
        let changes = model.changes();
        let of_target =
            |change: &&Change| change.kind == target.kind && target.covers(&change.name);
        let mut lines = Vec::new();
        for change in changes[position..].iter().filter(of_target) {
            let object = stamped(change.kind, change.object.clone());
            // The type first: a client cannot read the object before it knows what it is.
            let line = format!("{{\"type\":\"{}\",\"object\":{object}}}\n", change.event);
            lines.extend_from_slice(line.as_bytes());
        }
        (lines, changes.len())
    }

    /// The position of the first change after a version.
    fn position_after(&self, version: u64) -> usize {
        self.model.lock().changes().partition_point(|change| change.version <= version)
    }
}

/// An object with its type, as API servers answer.
fn stamped(kind: ResourceKind, mut object: Value) -> Value {
    object["apiVersion"] = kind.api_version().into();
    object["kind"] = kind.kind.into();
    object
}

fn answer(status: StatusCode, body: &Value) -> Answer {
    let mut response = Response::new(Full::from(body.to_string().into_bytes()).boxed_unsync());
    *response.status_mut() = status;
    response
}

fn refused(status: StatusCode, reason: &str) -> Answer {
    let code = status.as_u16();
    answer(
        status,
        &json!({
            "apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": reason, "code": code,
            "message": reason,
        }),
    )
}

#[cfg(test)]
mod tests;
