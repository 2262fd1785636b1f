//! The exact requests, and what each answer leads to.

mod answers;
mod graph;
mod requests;

use std::pin::pin;
use std::time::Duration;

use fleet_accumulator::{ResourceVersion, Uid, Until};
use fleet_api::kinds;
use futures::FutureExt;
use http::{Method, Response};
use prometheus::Registry;
use serde_json::{Value, json};
use tower_test::mock::{self, Handle, SendResponse};

use super::*;

const UID: &str = "a3f0c2d4-0000-4bcd-8ef0-0123456789ab";

/// A writer of one cluster, and the server's end of it.
struct Bench {
    writer: Writer,
    server: Handle<Request<Body>, Response<Body>>,
    cancel: CancellationToken,
    gate: WriteGate,
    registry: Registry,
}

/// A request as the server sees it.
struct Received {
    method: Method,
    uri: String,
    media: Option<String>,
    body: Value,
    reply: SendResponse<Response<Body>>,
}

impl Received {
    fn answer(self, status: u16, body: &Value) {
        self.reply.send_response(response(status, body));
    }

    /// Answers with the object of a conditional write, now at `version`.
    fn stored(self, version: &str) {
        let metadata = json!({"name": "shop", "uid": UID, "resourceVersion": version});
        self.answer(200, &json!({"kind": "Service", "metadata": metadata}));
    }
}

fn response(status: u16, body: &Value) -> Response<Body> {
    let bytes = serde_json::to_vec(body).unwrap();
    Response::builder().status(status).body(Body::from(bytes)).unwrap()
}

fn failure(code: u16, reason: &str, details: &Value) -> Value {
    json!({
        "kind": "Status", "status": "Failure", "code": code, "reason": reason,
        "message": format!("{reason} it is"), "details": details,
    })
}

impl Bench {
    fn new() -> Self {
        Self::with_slots(16)
    }

    fn with_slots(in_flight: usize) -> Self {
        let (service, server) = mock::pair();
        let client = Client::new(service, "default");
        let registry = Registry::new();
        let metrics = Arc::new(WriterMetrics::register(&registry).unwrap());
        let settings = WriterSettings { in_flight, ..WriterSettings::new("fleet") };
        let gate = WriteGate::open();
        let writer = Writer::new([(ClusterId::Hub, client)], settings, gate.clone(), metrics);
        Self { writer, server, cancel: CancellationToken::new(), gate, registry }
    }

    async fn receive(&mut self) -> Received {
        let (request, reply) = self.server.next_request().await.unwrap();
        let (head, body) = request.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let body =
            if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap() };
        let media =
            head.headers.get("content-type").map(|value| value.to_str().unwrap().to_owned());
        Received { method: head.method, uri: head.uri.to_string(), media, body, reply }
    }

    /// Whether the server has a request to read.
    fn is_idle(&mut self) -> bool {
        self.server.next_request().now_or_never().is_none()
    }

    /// Starts sending; the steps go on only while the outcome is polled.
    fn start(&self, steps: Vec<Step>) -> tokio::task::JoinHandle<Outcome> {
        let (writer, cancel) = (self.writer.clone(), self.cancel.clone());
        tokio::spawn(async move { writer.execute(&steps, &cancel).await })
    }

    /// Sends one step and answers it.
    async fn exchange(&mut self, step: Step, status: u16, body: Value) -> Outcome {
        let outcome = self.start(vec![step]);
        self.receive().await.answer(status, &body);
        outcome.await.unwrap()
    }

    fn counted(&self, cluster: &str, verb: &str, kind: &str, code: &str) -> u64 {
        let text =
            prometheus::TextEncoder::new().encode_to_string(&self.registry.gather()).unwrap();
        let line = format!(
            "fleet_runtime_api_requests_total{{cluster=\"{cluster}\",code=\"{code}\",\
             kind=\"{kind}\",verb=\"{verb}\"}} "
        );
        let value = text.lines().find_map(|at| at.strip_prefix(line.as_str()));
        value.map_or(0, |value| value.parse().unwrap())
    }
}

fn name() -> ObjectName {
    ObjectName::new("team", "shop")
}

fn at(version: &str) -> Precondition {
    Precondition { uid: UID.into(), version: version.into() }
}

fn step(action: Action) -> Step {
    Step::new(ClusterId::Hub, kinds::SERVICE, name(), action)
}

fn create() -> Step {
    step(Action::Create(json!({"metadata": {"namespace": "team", "name": "shop"}}).into()))
}

fn replace() -> Step {
    let body = json!({"metadata": {"name": "shop"}}).into();
    step(Action::Replace { body, at: at("7") })
}

fn patch() -> Step {
    step(Action::Patch { operations: vec![], status: false, at: at("7") })
}

fn delete() -> Step {
    step(Action::Delete { at: at("7"), grace_seconds: None })
}

fn confirm() -> Step {
    step(Action::ConfirmAbsent)
}
