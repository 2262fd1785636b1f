//! Kubernetes Events about users' objects.
//!
//! Plans are computed again and again and name the same event each time. What is reported first becomes
//! an Event; after that it is only counted, and every ten minutes at most the count is written into
//! the `series` of that Event. Sending happens in a task of its own behind a bounded channel: events
//! are hints, and neither a plan nor a write ever waits for one.

mod aggregator;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fleet_accumulator::{ClusterId, one_line};
use fleet_plan::text::truncate;
use fleet_plan::{Event, EventType};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event as KubeEvent, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use parking_lot::Mutex;
use prometheus::IntCounterVec;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use aggregator::{EventAggregator, Occurrences};

/// How long the same event about the same object is only counted.
pub const QUIET: Duration = Duration::from_mins(10);
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

/// Where plans put their events. Clones share the memory of what was reported.
#[derive(Clone, Debug)]
pub struct EventSink(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    sender: mpsc::Sender<(Event, Occurrences)>,
    aggregator: Mutex<EventAggregator>,
    clock: Clock,
    count: IntCounterVec,
}

/// Sends what goes into an [`EventSink`].
pub struct EventTask {
    receiver: mpsc::Receiver<(Event, Occurrences)>,
    clients: BTreeMap<ClusterId, Client>,
    reporter: Reporter,
}

#[derive(Debug)]
struct Reporter {
    controller: String,
    instance: String,
}

impl EventSink {
    /// A sink, and the task that empties it. `controller` is who reports; the Pod's name is added
    /// where `HOSTNAME` has it. `count` counts what is reported, by type and reason. What is repeated is
    /// only counted for as long as `quiet`; see [`QUIET`].
    pub fn new(
        clients: impl IntoIterator<Item = (ClusterId, Client)>,
        controller: &str,
        clock: Clock,
        count: IntCounterVec,
        quiet: Duration,
    ) -> (Self, EventTask) {
        let (sender, receiver) = mpsc::channel(WAITING);
        let host = std::env::var("HOSTNAME").ok().filter(|host| !host.is_empty());
        let reporter = Reporter {
            controller: controller.to_owned(),
            instance: host.unwrap_or_else(|| controller.to_owned()),
        };
        let clients = clients.into_iter().collect();
        let aggregator = Mutex::new(EventAggregator::new(quiet));
        let sink = Self(Some(Arc::new(Inner { sender, aggregator, clock, count })));
        (sink, EventTask { receiver, clients, reporter })
    }

    /// A sink that swallows everything.
    pub fn disabled() -> Self {
        Self(None)
    }

    /// Sends, counts and logs `event` unless the same was reported recently; returns whether it did.
    ///
    /// What is remembered, logged and sent of its note is what the API accepts: notes quote what users write, which may be a megabyte.
    pub fn emit(&self, mut event: Event) -> bool {
        let Some(inner) = &self.0 else { return false };
        event.note.truncate(truncate(&event.note, NOTE).len());
        event.note.shrink_to_fit();
        let (at, time) = (Instant::now(), inner.clock.now());
        let occurrences = inner.aggregator.lock().observe(&event, at, time);
        let Some(occurrences) = occurrences else { return false };
        inner.count.with_label_values(&[severity(event.event_type), event.reason]).inc();
        log(&event);
        if let Err(error) = inner.sender.try_send((event, occurrences)) {
            tracing::debug!(%error, "Event dropped");
        }
        true
    }
}

fn severity(event_type: EventType) -> &'static str {
    match event_type {
        EventType::Normal => "Normal",
        EventType::Warning => "Warning",
    }
}

fn log(event: &Event) {
    let Event { cluster, kind, reason, note, .. } = event;
    let (kind, namespace, name) = (kind.label(), &*event.name.namespace, &*event.name.name);
    match event.event_type {
        EventType::Normal => {
            tracing::info!(%cluster, kind, namespace, name, reason, note, "Event");
        }
        EventType::Warning => {
            tracing::warn!(%cluster, kind, namespace, name, reason, note, "Event");
        }
    }
}

impl EventTask {
    /// Sends events until `cancel`.
    pub async fn run(mut self, cancel: CancellationToken) {
        let mut complained = false;
        while let Some(Some((event, occurrences))) =
            cancel.run_until_cancelled(self.receiver.recv()).await
        {
            match self.send(&event, &occurrences).await {
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

    async fn send(&self, event: &Event, occurrences: &Occurrences) -> Result<(), String> {
        let client = self.clients.get(&event.cluster).ok_or("no such cluster")?;
        let body = build(event, &self.reporter, occurrences);
        let namespace = body.metadata.namespace.as_deref().unwrap_or(NO_NAMESPACE);
        let api = Api::<KubeEvent>::namespaced(client.clone(), namespace);
        match tokio::time::timeout(TIMEOUT, tell(&api, &body)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(one_line(&error)),
            Err(_) => Err(format!("no answer within {} s", TIMEOUT.as_secs())),
        }
    }
}

/// Makes an Event, or goes on with its series, unless the server has forgotten it by now.
async fn tell(api: &Api<KubeEvent>, body: &KubeEvent) -> Result<(), kube::Error> {
    if let (Some(series), Some(name)) = (&body.series, &body.metadata.name) {
        let patch = Patch::Merge(serde_json::json!({ "series": series }));
        match api.patch(name, &PatchParams::default(), &patch).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            other => return other.map(drop),
        }
    }
    api.create(&PostParams::default(), body).await.map(drop)
}

fn build(event: &Event, reporter: &Reporter, occurrences: &Occurrences) -> KubeEvent {
    let namespace = match &*event.name.namespace {
        "" => NO_NAMESPACE,
        namespace => namespace,
    };
    // Names of events only have to be unique.
    let suffix = format!(".{:x}", occurrences.first.as_nanosecond());
    let name = format!("{}{suffix}", truncate(&event.name.name, NAME - suffix.len()));
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
        event_time: Some(MicroTime(occurrences.first)),
        series: (occurrences.count > 1).then_some(EventSeries {
            count: occurrences.count,
            last_observed_time: MicroTime(occurrences.last),
        }),
        reporting_controller: Some(reporter.controller.clone()),
        reporting_instance: Some(reporter.instance.clone()),
        action: Some("Reconcile".to_owned()),
        reason: Some(event.reason.to_owned()),
        note: Some(event.note.clone()),
        type_: Some(severity(event.event_type).to_owned()),
        regarding: Some(regarding),
        ..KubeEvent::default()
    }
}

#[cfg(test)]
mod tests {
    use fleet_api::{ObjectName, kinds};
    use http::{Request, Response};
    use http_body_util::BodyExt;
    use jiff::Timestamp;
    use kube::client::Body;
    use serde_json::{Value, json};

    use super::*;
    use crate::metrics::Metrics;

    pub(super) fn event(note: &str) -> Event {
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

    fn once(second: i64) -> Occurrences {
        let time = Timestamp::from_second(second).unwrap();
        Occurrences { first: time, last: time, count: 1 }
    }

    #[test]
    fn long_names_are_cut() {
        let reporter = Reporter { controller: "c".to_owned(), instance: "i".to_owned() };
        let name = ObjectName::new("team", "x".repeat(NAME));
        let body = build(&Event { name, ..event("a") }, &reporter, &once(0));
        assert_eq!(body.metadata.name.unwrap().len(), NAME);
    }

    /// Nothing keeps the rest: two notes that differ only there are one.
    #[test]
    fn long_notes_are_cut_between_characters_before_they_are_remembered() {
        let (clock, metrics) = (Clock::fixed(Timestamp::UNIX_EPOCH), Metrics::new("agent", "1"));
        let (sink, mut task) = EventSink::new([], "c", clock, metrics.unwrap().events(), QUIET);
        let long = format!("x{}", "ä".repeat(NOTE));
        assert!(sink.emit(event(&long)));
        assert!(!sink.emit(event(&format!("{long}b"))));
        let (sent, _) = task.receiver.try_recv().unwrap();
        assert_eq!((sent.note.len(), sent.note.capacity()), (NOTE - 1, NOTE - 1));
    }

    #[test]
    fn objects_of_a_cluster_are_reported_in_the_default_namespace() {
        let reporter = Reporter { controller: "c".to_owned(), instance: "i".to_owned() };
        let event = Event { name: ObjectName::cluster("member-1"), ..event("a") };
        let body = build(&event, &reporter, &once(0));
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
            EventSink::new([(ClusterId::Local, client)], "agent", clock, metrics.events(), QUIET);
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
        // The second of that moment.
        assert_eq!(body["metadata"]["name"], "shop.18fae27693b40001");
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
