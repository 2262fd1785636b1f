//! The clusters around a controller.
#![expect(unreachable_pub, reason = "a module of one test")]

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use fleet_accumulator::{
    Accumulator, ClusterId, Config, Discovered, Events, Feed, Feeds, ReadOptions, ResourceVersion,
    Snapshot as _, SourceInfo, Tracked, WatchItem,
};
use fleet_runtime::clock::Clock;
use fleet_runtime::engine::{Options, Wiring, run_controller};
use fleet_runtime::events::{EventSink, QUIET};
use fleet_runtime::metrics::Metrics;
use fleet_runtime::term_waits::TermWaits;
use fleet_runtime::writer::{WriteGate, Writer, WriterSettings};
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use http::{Method, Request, Response};
use http_body_util::BodyExt;
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::copies::{CopyController, NAMESPACE, ToySnapshot, ToyWire, VALUE};

/// How long a watch that flaps works.
const UPTIME: Duration = Duration::from_secs(5);
/// How long each of its events takes.
const SLOW: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
struct Object {
    value: String,
    uid: u64,
    version: u64,
}

/// Both clusters. The local one is changed by the test, the hub by the controller's writes.
#[derive(Clone)]
pub struct World(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    local: BTreeMap<String, Object>,
    hub: BTreeMap<String, Object>,
    counter: u64,
    listeners: Vec<(ClusterId, mpsc::UnboundedSender<Change>)>,
    /// Hub events that wait until the test lets them go.
    held: Option<Vec<Change>>,
    answers: VecDeque<(u16, Value)>,
    /// Every request for this one fails.
    broken: Option<String>,
    /// Every request is refused, with a pause of 2 s.
    throttles: bool,
    requests: Vec<(Method, String)>,
    in_flight: BTreeSet<String>,
    /// The key of each plan, and how many requests there were before it.
    plans: Vec<(String, usize)>,
    /// How long each plan takes.
    plan_time: Duration,
    samples: Vec<String>,
    /// What was refused, as the recorder has noted it.
    refusals: Vec<String>,
    /// What came of each step, likewise.
    outcomes: Vec<String>,
    /// Requests yield to other tasks this often before they are answered.
    slowness: u64,
    hub_listed: bool,
    /// The source whose watch ends after [`UPTIME`], each time.
    flapping: Option<&'static str>,
}

/// What one source listens to.
struct ToyFeed(World, ClusterId, &'static str);

impl Feeds for World {
    fn feed<T: Tracked>(&self, source: &SourceInfo) -> Box<dyn Feed<T::Wire>> {
        let feed: Box<dyn Feed<ToyWire>> =
            Box::new(ToyFeed(self.clone(), source.cluster, source.field));
        let feed: Box<dyn Any> = Box::new(feed);
        *feed.downcast().expect("all sources hold toys")
    }
}

impl Feed<ToyWire> for ToyFeed {
    fn open(&mut self, _: &ReadOptions, _: Option<&ResourceVersion>) -> Events<ToyWire> {
        let mut state = self.0.0.state.lock();
        let (sender, receiver) = mpsc::unbounded_channel();
        state.listeners.push((self.1, sender));
        let objects = if self.1 == ClusterId::Local { &state.local } else { &state.hub };
        let list: Vec<_> =
            objects.iter().map(|(name, at)| WatchItem::Listed(wire(name, at))).collect();
        let listed = self.1 == ClusterId::Local || state.hub_listed;
        let done = listed.then(|| state.list_completed().into());
        let changes = stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|change: Change| (change.into(), receiver))
        });
        let start = [WatchItem::ListStarted].into_iter().chain(list).chain(done);
        let events = stream::iter(start).chain(changes);
        if state.flapping == Some(self.2) {
            // Slow enough that the state of the source is seen to change.
            let slow = events.then(|item| tokio::time::sleep(SLOW).map(|()| item));
            slow.take_until(tokio::time::sleep(UPTIME)).boxed()
        } else {
            events.boxed()
        }
    }

    fn discover(&mut self) -> BoxFuture<'_, kube::Result<Discovered>> {
        Box::pin(std::future::ready(Ok(Discovered::Served)))
    }
}

fn metadata(name: &str, object: &Object) -> Value {
    json!({
        "namespace": NAMESPACE, "name": name, "labels": {VALUE: object.value},
        "uid": format!("uid-{}", object.uid), "resourceVersion": object.version.to_string(),
    })
}

/// What the listeners of a cluster receive.
#[derive(Clone)]
enum Change {
    /// With the version that the list shows.
    ListCompleted(u64),
    Applied(ToyWire),
    Deleted(ToyWire),
}

impl From<Change> for WatchItem<ToyWire> {
    fn from(change: Change) -> Self {
        match change {
            Change::ListCompleted(version) => Self::ListCompleted(version.to_string().into()),
            Change::Applied(wire) => Self::Applied(wire),
            Change::Deleted(wire) => Self::Deleted(wire),
        }
    }
}

fn wire(name: &str, object: &Object) -> ToyWire {
    let whole = json!({"metadata": metadata(name, object)});
    serde_json::from_value(whole).unwrap()
}

impl State {
    fn list_completed(&self) -> Change {
        Change::ListCompleted(self.counter.max(1))
    }

    fn tell(&mut self, cluster: ClusterId, event: Change) {
        if let (ClusterId::Hub, Some(held)) = (cluster, &mut self.held) {
            held.push(event);
            return;
        }
        self.listeners
            .retain(|(of, listener)| *of != cluster || listener.send(event.clone()).is_ok());
    }

    fn put(&mut self, cluster: ClusterId, name: &str, value: &str) -> Object {
        self.counter += 1;
        let counter = self.counter;
        let objects = if cluster == ClusterId::Local { &mut self.local } else { &mut self.hub };
        let uid = objects.get(name).map_or(counter, |object| object.uid);
        let object = Object { value: value.to_owned(), uid, version: counter };
        objects.insert(name.to_owned(), object.clone());
        self.tell(cluster, Change::Applied(wire(name, &object)));
        object
    }

    fn remove(&mut self, cluster: ClusterId, name: &str) {
        self.counter += 1;
        let objects = if cluster == ClusterId::Local { &mut self.local } else { &mut self.hub };
        if let Some(mut object) = objects.remove(name) {
            object.version = self.counter;
            self.tell(cluster, Change::Deleted(wire(name, &object)));
        }
    }

    fn answer(&mut self, method: &Method, name: &str, body: &Value) -> (u16, Value) {
        if self.throttles {
            return failure(429, "TooManyRequests", name);
        }
        if self.broken.as_deref() == Some(name) {
            return failure(500, "InternalError", name);
        }
        if let Some(answer) = self.answers.pop_front() {
            return answer;
        }
        let current = self.hub.get(name).cloned();
        let precondition = match *method {
            Method::PUT => &body["metadata"],
            _ => &body["preconditions"],
        };
        let same =
            |object: &Object| precondition["resourceVersion"] == json!(object.version.to_string());
        match (method, current) {
            (&Method::POST, Some(_)) => failure(409, "AlreadyExists", name),
            (&Method::POST, None) => {
                let value = body["metadata"]["labels"][VALUE].as_str().unwrap();
                let object = self.put(ClusterId::Hub, name, value);
                (201, json!({"kind": "Service", "metadata": metadata(name, &object)}))
            }
            (_, None) => failure(404, "NotFound", name),
            (&Method::GET, Some(object)) => {
                (200, json!({"kind": "Service", "metadata": metadata(name, &object)}))
            }
            (_, Some(object)) if !same(&object) => failure(409, "Conflict", name),
            (&Method::PUT, Some(_)) => {
                let value = body["metadata"]["labels"][VALUE].as_str().unwrap();
                let object = self.put(ClusterId::Hub, name, value);
                (200, json!({"kind": "Service", "metadata": metadata(name, &object)}))
            }
            (_, Some(_)) => {
                self.remove(ClusterId::Hub, name);
                (200, json!({"kind": "Status", "status": "Success"}))
            }
        }
    }
}

/// A `Status` about the Service `name`.
pub fn failure(code: u16, reason: &str, name: &str) -> (u16, Value) {
    let details = json!({"name": name, "kind": "services"});
    (code, json!({"kind": "Status", "code": code, "reason": reason, "details": details}))
}

impl World {
    pub fn new() -> Self {
        let state = State { hub_listed: true, ..State::default() };
        Self(Arc::new(Inner { state: Mutex::new(state), changed: Notify::new() }))
    }

    /// Asks for a copy on the hub.
    pub fn wish(&self, name: &str, value: &str) {
        self.0.state.lock().put(ClusterId::Local, name, value);
    }

    /// Asks for the end of a copy.
    pub fn unwish(&self, name: &str) {
        self.0.state.lock().remove(ClusterId::Local, name);
    }

    /// Another client changes the copy.
    pub fn meddle(&self, name: &str, value: Option<&str>) {
        let mut state = self.0.state.lock();
        match value {
            Some(value) => drop(state.put(ClusterId::Hub, name, value)),
            None => state.remove(ClusterId::Hub, name),
        }
    }

    /// The value of the copy.
    pub fn copy(&self, name: &str) -> Option<String> {
        self.0.state.lock().hub.get(name).map(|object| object.value.clone())
    }

    /// How many copies there are.
    pub fn copies(&self) -> usize {
        self.0.state.lock().hub.len()
    }

    /// Whether the hub has what was requested.
    pub fn is_granted(&self) -> bool {
        let state = self.0.state.lock();
        let values = |objects: &BTreeMap<String, Object>| -> Vec<_> {
            objects.iter().map(|(name, at)| (name.clone(), at.value.clone())).collect()
        };
        values(&state.local) == values(&state.hub)
    }

    /// The next request gets this answer instead of the true one.
    pub fn answer_next(&self, answer: (u16, Value)) {
        self.0.state.lock().answers.push_back(answer);
    }

    /// From now on every request for this name fails.
    pub fn break_down(&self, name: &str) {
        self.0.state.lock().broken = Some(name.to_owned());
    }

    /// From now on the hub refuses all requests, or none.
    pub fn throttle(&self, throttles: bool) {
        self.0.state.lock().throttles = throttles;
    }

    /// How many requests there were for a name.
    pub fn requests_for(&self, name: &str) -> usize {
        let state = self.0.state.lock();
        state.requests.iter().filter(|(_, about)| about == name).count()
    }

    /// Keeps the events of the hub back, or lets them go.
    pub fn hold_events(&self, hold: bool) {
        let mut state = self.0.state.lock();
        if hold {
            state.held.get_or_insert_default();
        } else {
            for event in state.held.take().unwrap_or_default() {
                state.tell(ClusterId::Hub, event);
            }
        }
    }

    /// The hub does not finish its first list before [`finish_list`](Self::finish_list).
    pub fn hold_list(&self) {
        self.0.state.lock().hub_listed = false;
    }

    pub fn finish_list(&self) {
        let mut state = self.0.state.lock();
        state.hub_listed = true;
        let completed = state.list_completed();
        state.tell(ClusterId::Hub, completed);
    }

    /// The watch of this source, a field of the snapshot, breaks off again and again.
    pub fn flap(&self, source: &'static str) {
        self.0.state.lock().flapping = Some(source);
    }

    pub fn slow(&self, yields: u64) {
        self.0.state.lock().slowness = yields;
    }

    /// Methods of the requests so far.
    pub fn requests(&self) -> Vec<Method> {
        self.0.state.lock().requests.iter().map(|(method, _)| method.clone()).collect()
    }

    pub fn plans(&self) -> usize {
        self.0.state.lock().plans.len()
    }

    /// How many requests there were before each plan for a key.
    pub fn requests_before_plans(&self, key: &str) -> Vec<usize> {
        let state = self.0.state.lock();
        state.plans.iter().filter(|(of, _)| of == key).map(|(_, requests)| *requests).collect()
    }

    /// How many requests there were before the first one for a name.
    pub fn requests_before(&self, name: &str) -> Option<usize> {
        self.0.state.lock().requests.iter().position(|(_, about)| about == name)
    }

    /// From now on each plan takes so long.
    pub fn plans_take(&self, time: Duration) {
        self.0.state.lock().plan_time = time;
    }

    /// Notes a plan, which takes its time.
    pub fn planned(&self, key: &str) {
        let mut state = self.0.state.lock();
        let requests = state.requests.len();
        state.plans.push((key.to_owned(), requests));
        if !state.plan_time.is_zero() {
            // Its first poll moves the clock; the rest is a turn for others, which a plan does not give.
            let _ = tokio::time::advance(state.plan_time).now_or_never();
        }
    }

    pub fn note_sample(&self, what: &str) {
        self.0.state.lock().samples.push(what.to_owned());
    }

    pub fn note_refusal(&self, refusal: String) {
        self.0.state.lock().refusals.push(refusal);
    }

    pub fn note_outcome(&self, outcome: String) {
        self.0.state.lock().outcomes.push(outcome);
    }

    /// What was refused.
    pub fn refusals(&self) -> Vec<String> {
        self.0.state.lock().refusals.clone()
    }

    /// What came of each step.
    pub fn outcomes(&self) -> Vec<String> {
        self.0.state.lock().outcomes.clone()
    }

    pub fn samples(&self) -> Vec<String> {
        self.0.state.lock().samples.clone()
    }

    /// Waits until `condition` holds; it is looked at after each request and now and then.
    pub async fn until(&self, condition: impl Fn(&Self) -> bool) {
        let wait = async {
            while !condition(self) {
                let changed = self.0.changed.notified();
                let _ = tokio::time::timeout(Duration::from_millis(5), changed).await;
            }
        };
        tokio::time::timeout(Duration::from_mins(10), wait).await.expect("in time");
    }

    /// The hub's end of a client.
    fn client(&self) -> Client {
        let world = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let world = world.clone();
            async move { Ok::<_, Infallible>(world.serve(request).await) }
        });
        Client::new(service, "default")
    }

    async fn serve(&self, request: Request<Body>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let name = match head.method {
            Method::POST => body["metadata"]["name"].as_str().unwrap().to_owned(),
            _ => head.uri.path().rsplit('/').next().unwrap().to_owned(),
        };
        let slowness = {
            let mut state = self.0.state.lock();
            state.requests.push((head.method.clone(), name.clone()));
            assert!(state.in_flight.insert(name.clone()), "two requests for {name} at once");
            state.counter * 7 % (state.slowness + 1)
        };
        for _ in 0..slowness {
            tokio::task::yield_now().await;
        }
        let (status, body) = {
            let mut state = self.0.state.lock();
            state.in_flight.remove(&name);
            state.answer(&head.method, &name, &body)
        };
        self.0.changed.notify_waiters();
        let mut response = Response::builder().status(status);
        if status == 429 {
            response = response.header("retry-after", "2");
        }
        response.body(Body::from(serde_json::to_vec(&body).unwrap())).unwrap()
    }

    /// Starts the controller. Dropping the answer does not stop it; cancelling does.
    pub fn start(&self) -> Running {
        let cancel = CancellationToken::new();
        let tasks = TaskTracker::new();
        let accumulator =
            Accumulator::start(&Config::default(), ToySnapshot::all(), self, &cancel, &tasks);
        let metrics = Metrics::new("test", "0").unwrap();
        let clients = [(ClusterId::Hub, self.client())];
        let settings = WriterSettings::new("test");
        let (gate, waits) = (WriteGate::open(), TermWaits::default());
        let writer = Writer::new(clients, settings, gate.clone(), metrics.writer());
        let clock = Clock::fixed(Timestamp::UNIX_EPOCH);
        // Counted, and not sent.
        let (events, _) = EventSink::new([], "test", clock.clone(), metrics.events(), QUIET);
        let wiring = Wiring {
            tracer: None,
            accumulator,
            writer,
            events,
            clock,
            metrics: metrics.controller("copy"),
            work_queue: Some(metrics.work_queue("copies")),
            waits: waits.clone(),
            cancel: cancel.clone(),
        };
        let controller = || CopyController { world: self.clone() };
        let options = Options::default().recorder(controller());
        let controller = run_controller(Arc::new(controller()), wiring, options);
        Running { cancel, metrics, gate, waits, controller: tokio::spawn(controller) }
    }
}

/// A running controller.
pub struct Running {
    pub cancel: CancellationToken,
    pub metrics: Metrics,
    pub gate: WriteGate,
    pub waits: TermWaits,
    pub controller: tokio::task::JoinHandle<()>,
}

impl Running {
    /// The value of a metric line that starts with `prefix`.
    pub fn metric(&self, prefix: &str) -> Option<f64> {
        let families = self.metrics.registry().gather();
        let text = prometheus::TextEncoder::new().encode_to_string(&families).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(prefix))?;
        line.trim().parse().ok()
    }

    pub async fn stop(self) {
        self.cancel.cancel();
        self.controller.await.unwrap();
    }
}
