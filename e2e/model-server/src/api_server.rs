//! HTTP front of a model API server, for clients in the same process: as much of the protocol as an agent speaks.
//! Lists, watches, creation, replacement, JSON patches, and deletion with preconditions.

mod answer;
mod store;
mod target;
mod watch;

use std::convert::Infallible;
use std::sync::Arc;

use fleet_api::{ObjectName, ResourceKind};
use fleet_plan::Step;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch as signal;

use self::answer::{Answer, answer, not_found, refused, status, typed};
use self::store::Store;
use self::target::{Target, action};
use crate::{Change, ModelServer};

/// A write that a client sent and that changed something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The client that sent it.
    pub client: String,
    /// Verb, kind and name, for people.
    pub what: String,
    /// Whether it deletes the object, or leaves it with fewer endpoints or clusters.
    pub takes: bool,
}

/// An API server. Clones are the same one.
#[derive(Clone)]
pub struct ApiServer(Arc<Inner>);

struct Inner {
    store: Arc<Store>,
    sent: Mutex<Vec<Sent>>,
    on_change: Box<dyn Fn(&Change) + Send + Sync>,
}

impl ApiServer {
    /// Serves `model`, and records its changes from now on.
    pub fn new(model: ModelServer) -> Self {
        Self::observed(model, |_| ())
    }

    /// [`Self::new`] that calls `on_change` with every change, while the server is locked.
    pub fn observed(
        mut model: ModelServer,
        on_change: impl Fn(&Change) + Send + Sync + 'static,
    ) -> Self {
        model.remember();
        Self(Arc::new(Inner {
            store: Arc::new(Store::new(model)),
            sent: Mutex::default(),
            on_change: Box::new(on_change),
        }))
    }

    /// Another server with the same objects, without clients and observers.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self::new(self.0.store.model().clone())
    }

    /// Reads the objects.
    pub fn read<R>(&self, read: impl FnOnce(&ModelServer) -> R) -> R {
        read(&self.0.store.model())
    }

    /// Changes objects as users do.
    pub fn write<R>(&self, write: impl FnOnce(&mut ModelServer) -> R) -> R {
        self.0.store.write(write, &self.0.on_change)
    }

    /// Wakes with every change; the value is the number of changes so far.
    pub fn changes(&self) -> signal::Receiver<usize> {
        self.0.store.subscribe()
    }

    /// Writes of clients that changed something, oldest first.
    pub fn sent(&self) -> Vec<Sent> {
        self.0.sent.lock().clone()
    }

    /// A client called `name`.
    pub fn client(&self, name: &str) -> Client {
        let (server, name) = (self.clone(), Arc::<str>::from(name));
        let service = tower::service_fn(move |request: Request<Body>| {
            let (server, name) = (server.clone(), Arc::clone(&name));
            async move { Ok::<_, Infallible>(server.serve(&name, request).await) }
        });
        Client::new(service, "default")
    }

    async fn serve(self, client: &str, request: Request<Body>) -> Answer {
        let (head, body) = request.into_parts();
        let Ok(body) = body.collect().await else {
            return status(StatusCode::BAD_REQUEST, "BadRequest", None);
        };
        let body = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
        match Target::parse(&head.uri) {
            // Kinds that no test reads, such as Events.
            None if head.method == Method::POST => answer(StatusCode::CREATED, &body),
            None => status(StatusCode::NOT_FOUND, "NotFound", None),
            Some(target) if head.method == Method::GET => {
                self.get(target, head.uri.query().unwrap_or_default())
            }
            Some(target) => self.perform(client, &head.method, &target, body),
        }
    }

    fn get(self, target: Target, query: &str) -> Answer {
        if let Some(name) = &target.name {
            return match self.0.store.model().get(target.kind, name) {
                Some(object) => answer(StatusCode::OK, &typed(target.kind, object)),
                None => not_found(target.kind, name),
            };
        }
        match watch::Watch::parse(query) {
            Some(watch) => {
                Answer::new(watch.follow(Arc::clone(&self.0.store), target).boxed_unsync())
            }
            None => self.list(&target),
        }
    }

    fn list(&self, target: &Target) -> Answer {
        let model = self.0.store.model();
        let listed = model.objects(target.kind).filter(|(name, _)| target.covers(name));
        let items = listed.map(|(_, object)| typed(target.kind, object));
        let list = json!({
            "apiVersion": target.kind.api_version(), "kind": format!("{}List", target.kind.kind),
            "metadata": { "resourceVersion": model.version().to_string() },
            "items": items.collect::<Vec<_>>(),
        });
        answer(StatusCode::OK, &list)
    }

    fn perform(&self, client: &str, method: &Method, target: &Target, body: Value) -> Answer {
        let kind = target.kind;
        let Some((name, action)) = action(method, target, body) else {
            return status(StatusCode::BAD_REQUEST, "BadRequest", None);
        };
        let (done, before, after) = self.write(|model| {
            let before = model.get(kind, &name).cloned();
            let done = model.execute(&Step::new(model.cluster(), kind, name.clone(), action));
            (done, before, model.get(kind, &name).cloned())
        });
        if let Err(refusal) = done {
            return refused(refusal, method, kind, &name);
        }
        if before != after {
            self.record(client, method, kind, &name, (before.as_ref(), after.as_ref()));
        }
        let success = if *method == Method::POST { StatusCode::CREATED } else { StatusCode::OK };
        match (after, before) {
            (Some(after), _) => answer(success, &typed(kind, &after)),
            (None, None) => not_found(kind, &name),
            (None, Some(mut last)) if *method != Method::DELETE => {
                // The last finalizer is removed: the answer shows the object without it.
                last["metadata"]["finalizers"] = json!([]);
                answer(success, &typed(kind, &last))
            }
            (None, Some(_)) => answer(success, &json!({ "kind": "Status", "status": "Success" })),
        }
    }

    fn record(
        &self,
        client: &str,
        method: &Method,
        kind: ResourceKind,
        name: &ObjectName,
        (before, after): (Option<&Value>, Option<&Value>),
    ) {
        let what = format!("{method} {} {name}", kind.kind);
        let takes = *method == Method::DELETE || carried(before) > carried(after);
        self.0.sent.lock().push(Sent { client: client.to_owned(), what, takes });
    }
}

/// Number of addresses and clusters that an object lists.
fn carried(object: Option<&Value>) -> usize {
    let Some(object) = object else { return 0 };
    let length = |list: &Value| list.as_array().map_or(0, Vec::len);
    length(&object["endpoints"])
        + length(&object["spec"]["endpoints"])
        + length(&object["status"]["clusters"])
}

#[cfg(test)]
mod tests;
