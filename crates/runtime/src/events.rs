//! Kubernetes Events about users' objects.
//!
//! Plans are computed again and again and name the same event each time; what was said within the
//! last ten minutes is not said again. Sending happens in a task of its own behind a bounded
//! channel: events are hints, and neither a plan nor a write ever waits for one.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fleet_accumulator::{ClusterId, Uid};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event as KubeEvent;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::Client;
use kube::api::{Api, PostParams};
use parking_lot::Mutex;
use prometheus::IntCounterVec;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::clients::one_line;
use crate::clock::Clock;
use crate::plan::{Event, EventType};

/// How long the same event about the same object is not repeated.
const QUIET: Duration = Duration::from_mins(10);
/// Events that are remembered for that. Beyond it old ones are forgotten first, then all.
const REMEMBERED: usize = 4096;
/// Events that wait to be sent. Beyond it they are dropped.
const WAITING: usize = 256;
/// Limit of one request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Longest note that the API accepts, in bytes.
const NOTE: usize = 1024;
/// Longest name that the API accepts, in bytes.
const NAME: usize = 253;
/// Namespace of events about objects without one.
const NO_NAMESPACE: &str = "default";

/// Where plans put their events. Clones share the memory of what was said.
#[derive(Clone, Debug)]
pub struct EventSink(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    sender: mpsc::Sender<Event>,
    said: Mutex<Said>,
    count: IntCounterVec,
}

/// Sends what goes into an [`EventSink`].
pub struct EventTask {
    receiver: mpsc::Receiver<Event>,
    clients: BTreeMap<ClusterId, Client>,
    reporter: Reporter,
    clock: Clock,
}

#[derive(Debug)]
struct Reporter {
    controller: String,
    instance: String,
}

impl EventSink {
    /// A sink, and the task that empties it. `controller` is who reports; the Pod's name is added
    /// where `HOSTNAME` has it. `count` counts what is said, by type and reason.
    pub fn new(
        clients: impl IntoIterator<Item = (ClusterId, Client)>,
        controller: &str,
        clock: Clock,
        count: IntCounterVec,
    ) -> (Self, EventTask) {
        let (sender, receiver) = mpsc::channel(WAITING);
        let host = std::env::var("HOSTNAME").ok().filter(|host| !host.is_empty());
        let reporter = Reporter {
            controller: controller.to_owned(),
            instance: host.unwrap_or_else(|| controller.to_owned()),
        };
        let clients = clients.into_iter().collect();
        let sink = Self(Some(Arc::new(Inner { sender, said: Mutex::default(), count })));
        (sink, EventTask { receiver, clients, reporter, clock })
    }

    /// A sink that swallows everything.
    pub fn disabled() -> Self {
        Self(None)
    }

    /// Sends, counts and logs `event` unless the same was said recently.
    pub fn emit(&self, event: Event) {
        let Some(inner) = &self.0 else { return };
        if !inner.said.lock().is_news(&event, Instant::now()) {
            return;
        }
        inner.count.with_label_values(&[severity(event.event_type), event.reason]).inc();
        log(&event);
        if let Err(error) = inner.sender.try_send(event) {
            tracing::debug!(%error, "Event dropped");
        }
    }
}

fn severity(event_type: EventType) -> &'static str {
    match event_type {
        EventType::Normal => "Normal",
        EventType::Warning => "Warning",
    }
}

fn log(event: &Event) {
    let Event { kind, name, reason, note, .. } = event;
    match event.event_type {
        EventType::Normal => {
            tracing::info!(kind = kind.kind, object = %name, reason, note, "Event");
        }
        EventType::Warning => {
            tracing::warn!(kind = kind.kind, object = %name, reason, note, "Event");
        }
    }
}

/// What was said, and when.
#[derive(Debug, Default)]
struct Said(HashMap<(Uid, &'static str, String), Instant>);

impl Said {
    fn is_news(&mut self, event: &Event, now: Instant) -> bool {
        let recent = |at: &Instant| now.saturating_duration_since(*at) < QUIET;
        let key = (event.uid.clone(), event.reason, event.note.clone());
        if self.0.get(&key).is_some_and(recent) {
            return false;
        }
        if self.0.len() >= REMEMBERED {
            self.0.retain(|_, at| recent(at));
        }
        if self.0.len() >= REMEMBERED {
            self.0.clear();
        }
        self.0.insert(key, now);
        true
    }
}

impl EventTask {
    /// Sends events until `cancel`.
    pub async fn run(mut self, cancel: CancellationToken) {
        let mut complained = false;
        while let Some(Some(event)) = cancel.run_until_cancelled(self.receiver.recv()).await {
            match self.send(&event).await {
                Ok(()) => complained = false,
                Err(error) if complained => tracing::debug!(error, "Cannot send an event"),
                Err(error) => {
                    complained = true;
                    tracing::warn!(error, "Cannot send events");
                }
            }
        }
        // Every sink may be gone while the process goes on.
        cancel.cancelled().await;
    }

    async fn send(&self, event: &Event) -> Result<(), String> {
        let client = self.clients.get(&event.cluster).ok_or("no such cluster")?;
        let body = build(event, &self.reporter, self.clock.now());
        let namespace = body.metadata.namespace.as_deref().unwrap_or(NO_NAMESPACE);
        let api = Api::<KubeEvent>::namespaced(client.clone(), namespace);
        match tokio::time::timeout(TIMEOUT, api.create(&PostParams::default(), &body)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(one_line(&error)),
            Err(_) => Err(format!("no answer within {} s", TIMEOUT.as_secs())),
        }
    }
}

fn build(event: &Event, reporter: &Reporter, now: Timestamp) -> KubeEvent {
    let namespace = match &*event.name.namespace {
        "" => NO_NAMESPACE,
        namespace => namespace,
    };
    // Names of events only have to be unique.
    let suffix = format!(".{:x}", now.as_nanosecond());
    let name = format!("{}{suffix}", cut(&event.name.name, NAME - suffix.len()));
    let regarding = ObjectReference {
        api_version: Some(event.kind.api_version()),
        kind: Some(event.kind.kind.to_owned()),
        namespace: Some(event.name.namespace.to_string()).filter(|namespace| !namespace.is_empty()),
        name: Some(event.name.name.to_string()),
        uid: Some(event.uid.to_string()),
        ..ObjectReference::default()
    };
    KubeEvent {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        },
        event_time: Some(MicroTime(now)),
        reporting_controller: Some(reporter.controller.clone()),
        reporting_instance: Some(reporter.instance.clone()),
        action: Some("Reconcile".to_owned()),
        reason: Some(event.reason.to_owned()),
        note: Some(cut(&event.note, NOTE).to_owned()),
        type_: Some(severity(event.event_type).to_owned()),
        regarding: Some(regarding),
        ..KubeEvent::default()
    }
}

/// The start of `text`, at most `limit` bytes.
fn cut(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

#[cfg(test)]
mod tests {
    use fleet_api::{ObjectName, kinds};
    use http::{Request, Response};
    use http_body_util::BodyExt;
    use kube::client::Body;
    use serde_json::{Value, json};

    use super::*;
    use crate::metrics::Metrics;

    fn event(note: &str) -> Event {
        Event {
            cluster: ClusterId::Local,
            kind: kinds::SERVICE_EXPORT,
            name: ObjectName::new("team", "shop"),
            uid: "uid-1".into(),
            event_type: EventType::Warning,
            reason: "ServiceNotFound",
            note: note.to_owned(),
        }
    }

    #[test]
    fn the_same_is_said_once_in_ten_minutes() {
        let mut said = Said::default();
        let now = Instant::now();
        assert!(said.is_news(&event("a"), now));
        assert!(!said.is_news(&event("a"), now + Duration::from_secs(599)));
        assert!(said.is_news(&event("b"), now));
        let other = Event { uid: "uid-2".into(), ..event("a") };
        assert!(said.is_news(&other, now));
        assert!(said.is_news(&event("a"), now + QUIET));
    }

    #[test]
    fn the_memory_is_bounded() {
        let mut said = Said::default();
        let now = Instant::now();
        for count in 0..2 * REMEMBERED {
            assert!(said.is_news(&event(&count.to_string()), now));
        }
        assert!(said.0.len() <= REMEMBERED);
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let reporter = Reporter { controller: "c".to_owned(), instance: "i".to_owned() };
        let name = ObjectName::new("team", "x".repeat(NAME));
        let long = Event { name, ..event(&"ä".repeat(NOTE)) };
        let body = build(&long, &reporter, Timestamp::UNIX_EPOCH);
        assert_eq!(body.metadata.name.unwrap().len(), NAME);
        assert_eq!(body.note.unwrap().len(), NOTE);
    }

    #[test]
    fn objects_of_a_cluster_are_reported_in_the_default_namespace() {
        let reporter = Reporter { controller: "c".to_owned(), instance: "i".to_owned() };
        let event = Event { name: ObjectName::cluster("member-1"), ..event("a") };
        let body = build(&event, &reporter, Timestamp::UNIX_EPOCH);
        assert_eq!(body.metadata.namespace.as_deref(), Some("default"));
        assert_eq!(body.regarding.unwrap().namespace, None);
    }

    #[tokio::test]
    async fn an_event_is_posted_and_a_failure_does_not_end_the_task() {
        let (service, mut server) = tower_test::mock::pair::<Request<Body>, Response<Body>>();
        let clock = Clock::fixed(Timestamp::from_second(1_800_000_000).unwrap());
        let client = Client::new(service, "default");
        let metrics = Metrics::new("agent", "1").unwrap();
        let (sink, task) =
            EventSink::new([(ClusterId::Local, client)], "agent", clock, metrics.events());
        let cancel = CancellationToken::new();
        let task = tokio::spawn(task.run(cancel.clone()));

        sink.emit(event("first"));
        sink.emit(event("first"));
        sink.emit(event("second"));
        let count = metrics.events();
        assert_eq!(count.with_label_values(&["Warning", "ServiceNotFound"]).get(), 2);
        let (_, reply) = server.next_request().await.unwrap();
        reply.send_response(Response::builder().status(403).body(Body::empty()).unwrap());
        let (request, reply) = server.next_request().await.unwrap();
        assert_eq!(request.uri().path(), "/apis/events.k8s.io/v1/namespaces/team/events");
        let bytes = request.into_body().collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(body["metadata"]["name"], "shop.18fae27693b40000");
        assert_eq!(
            body["regarding"],
            json!({
                "apiVersion": "networking.fleet.azure.com/v1beta1", "kind": "ServiceExport",
                "namespace": "team", "name": "shop", "uid": "uid-1",
            })
        );
        assert_eq!(body["reason"], "ServiceNotFound");
        assert_eq!(body["note"], "second");
        assert_eq!(body["type"], "Warning");
        assert_eq!(body["reportingController"], "agent");
        reply.send_response(Response::new(Body::from(bytes.to_vec())));

        cancel.cancel();
        task.await.unwrap();
    }

    #[test]
    fn a_disabled_sink_swallows() {
        EventSink::disabled().emit(event("a"));
    }
}
