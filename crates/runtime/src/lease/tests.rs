//! Candidates and a server with one Lease, in paused time.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt;
use http::{Method, Request, Response};
use http_body_util::BodyExt;
use kube::client::Body;
use parking_lot::Mutex;
use prometheus::{IntCounterVec, Registry};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::*;

const AGENT: &str = "member-agent";
/// More than enough for a candidate to look at the lease.
const SOON: Duration = Duration::from_secs(5);

/// A server that knows one object.
#[derive(Clone, Default)]
struct Server(Arc<Mutex<Stored>>);

#[derive(Default)]
struct Stored {
    lease: Option<Value>,
    version: u64,
    writes: Vec<(Method, String)>,
}

/// How requests of one client fare.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    Open,
    /// Nothing arrives.
    Cut,
    /// Everything arrives, no answer comes back.
    OneWay,
}

impl Server {
    fn client(&self, link: &Arc<Mutex<Link>>) -> Client {
        let (server, link) = (self.clone(), Arc::clone(link));
        let service = tower::service_fn(move |request: Request<Body>| {
            let (server, link) = (server.clone(), *link.lock());
            async move {
                if link == Link::Cut {
                    return std::future::pending().await;
                }
                let answer = server.serve(request).await;
                if link == Link::OneWay {
                    return std::future::pending().await;
                }
                Ok::<_, Infallible>(answer)
            }
        });
        Client::new(service, "default")
    }

    async fn serve(&self, request: Request<Body>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let (code, body) = self.0.lock().answer(&head.method, serde_json::from_slice(&bytes).ok());
        Response::builder().status(code).body(Body::from(body.to_string().into_bytes())).unwrap()
    }

    fn holder(&self) -> String {
        let stored = self.0.lock();
        let holder = stored.lease.as_ref().map(|lease| lease["spec"]["holderIdentity"].clone());
        holder.and_then(|holder| holder.as_str().map(str::to_owned)).unwrap_or_default()
    }

    fn writes(&self) -> usize {
        self.0.lock().writes.len()
    }
}

impl Stored {
    fn answer(&mut self, method: &Method, body: Option<Value>) -> (u16, Value) {
        let failure = |code: u16, reason: &str| {
            let status = json!({
                "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
                "reason": reason, "message": reason,
            });
            (code, status)
        };
        let body = match (method, body) {
            (&Method::GET, _) => {
                let missing = failure(404, "NotFound");
                return self.lease.clone().map_or(missing, |lease| (200, lease));
            }
            (_, body) => body.unwrap(),
        };
        let current = self.lease.as_ref().map(|lease| &lease["metadata"]["resourceVersion"]);
        match (method, current) {
            (&Method::POST, Some(_)) => return failure(409, "AlreadyExists"),
            (&Method::PUT, None) => return failure(404, "NotFound"),
            (&Method::PUT, Some(version)) if *version != body["metadata"]["resourceVersion"] => {
                return failure(409, "Conflict");
            }
            _ => {}
        }
        let mut body = body;
        self.version += 1;
        body["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let holder = body["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned();
        self.writes.push((method.clone(), holder));
        self.lease = Some(body.clone());
        (200, body)
    }
}

/// A running candidate.
struct Running {
    identity: String,
    gate: WriteGate,
    clock: BootClock,
    link: Arc<Mutex<Link>>,
    metrics: LeaseMetrics,
    cancel: CancellationToken,
    /// Its last write was answered.
    written: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Running {
    fn start(server: &Server) -> Self {
        Self::with_clock(server, BootClock::of_timers())
    }

    fn with_clock(server: &Server, clock: BootClock) -> Self {
        let settings = LeaseSettings {
            agent: AGENT,
            namespace: "fleet-system".to_owned(),
            timing: Timing::default(),
        };
        let gate = WriteGate::closed(clock.clone());
        let link = Arc::new(Mutex::new(Link::Open));
        let metrics = LeaseMetrics::register(&Registry::new()).unwrap();
        let client = server.client(&link);
        let candidate =
            Candidate::new(&settings, client, gate.clone(), clock.clone(), metrics.clone());
        let identity = candidate.identity.clone();
        let cancel = CancellationToken::new();
        let (sender, written) = oneshot::channel();
        let task = tokio::spawn(candidate.run(cancel.clone(), written.map(drop)));
        Self { identity, gate, clock, link, metrics, cancel, written: Some(sender), task }
    }

    fn leads(&self) -> bool {
        self.gate.check().is_ok()
    }

    fn is_on(&self, link: Link) {
        *self.link.lock() = link;
    }

    async fn until_it_leads(&self) -> Duration {
        let start = Instant::now();
        while !self.leads() {
            sleep(Duration::from_millis(50)).await;
        }
        start.elapsed()
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_one_leads_and_the_second_one_waits() {
    let server = Server::default();
    let first = Running::start(&server);
    first.until_it_leads().await;
    let second = Running::start(&server);
    sleep(Duration::from_mins(5)).await;
    assert!(first.leads() && !second.leads());
    assert_eq!(server.holder(), first.identity);
    assert!(server.0.lock().writes.iter().all(|(_, holder)| *holder == first.identity));
    assert_eq!((first.metrics.leads.get(), second.metrics.leads.get()), (1, 0));
    assert_eq!((first.metrics.gained.get(), first.metrics.lost.get()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn who_cannot_renew_stops_in_time_and_the_other_takes_over() {
    let server = Server::default();
    let first = Running::start(&server);
    first.until_it_leads().await;
    let second = Running::start(&server);
    sleep(SOON).await;
    for link in [Link::Cut, Link::OneWay] {
        let (old, new) = if first.leads() { (&first, &second) } else { (&second, &first) };
        old.is_on(link);
        let took = new.until_it_leads().await;
        assert!(!old.leads());
        // Never before the lease, and soon after it.
        assert!(took >= Duration::from_secs(20) && took < Duration::from_secs(45), "{took:?}");
        old.is_on(Link::Open);
        sleep(SOON).await;
        assert!(new.leads() && !old.leads());
    }
    assert_eq!(first.metrics.lost.get() + second.metrics.lost.get(), 2);
}

#[tokio::test(start_paused = true)]
async fn who_stood_still_does_not_write_before_it_has_asked() {
    let server = Server::default();
    let clock = BootClock::by_hand();
    let first = Running::with_clock(&server, clock.clone());
    first.until_it_leads().await;
    let mut terms = first.gate.terms();
    let term = terms.begin().await;
    // Nothing of this process runs, and it does not know how much time has passed.
    first.clock.advance(Duration::from_mins(1));
    assert!(!first.leads());
    // No other process had it meanwhile: a new term, not the old one.
    first.until_it_leads().await;
    assert!(terms.end(term).now_or_never().is_some());
    assert_eq!((first.metrics.gained.get(), first.metrics.lost.get()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_given_back_after_the_last_write() {
    let server = Server::default();
    let mut first = Running::start(&server);
    first.until_it_leads().await;
    let second = Running::start(&server);
    sleep(SOON).await;
    first.cancel.cancel();
    sleep(SOON).await;
    assert_eq!(server.holder(), first.identity);
    assert!(!second.leads());
    first.written.take().unwrap().send(()).unwrap();
    first.task.await.unwrap();
    assert!(first.gate.check().is_err());
    let took = second.until_it_leads().await;
    assert!(took < SOON, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_standby_gives_nothing_back() {
    let server = Server::default();
    let first = Running::start(&server);
    first.until_it_leads().await;
    let mut second = Running::start(&server);
    sleep(SOON).await;
    second.cancel.cancel();
    second.written.take().unwrap().send(()).unwrap();
    second.task.await.unwrap();
    assert_eq!(server.holder(), first.identity);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_was_deleted_or_labelled_stays_with_its_holder() {
    let server = Server::default();
    let first = Running::start(&server);
    first.until_it_leads().await;
    let second = Running::start(&server);
    sleep(SOON).await;
    server.0.lock().lease = None;
    sleep(SOON).await;
    assert_eq!(server.holder(), first.identity);
    {
        let mut stored = server.0.lock();
        stored.version += 1;
        let version = stored.version.to_string();
        let lease = stored.lease.as_mut().unwrap();
        lease["metadata"]["resourceVersion"] = json!(version);
    }
    let writes = server.writes();
    sleep(SOON).await;
    assert!(server.writes() > writes);
    assert!(first.leads() && !second.leads());
    assert_eq!((first.metrics.gained.get(), first.metrics.lost.get()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_lease_in_another_name_ends_the_term() {
    let server = Server::default();
    let first = Running::start(&server);
    first.until_it_leads().await;
    {
        let mut stored = server.0.lock();
        stored.version += 1;
        let version = stored.version.to_string();
        let lease = stored.lease.as_mut().unwrap();
        lease["metadata"]["resourceVersion"] = json!(version);
        lease["spec"]["holderIdentity"] = json!("somebody");
        // Far in the future, by whatever clock.
        lease["spec"]["renewTime"] = json!("2999-01-01T00:00:00.000000Z");
    }
    sleep(SOON).await;
    assert!(!first.leads());
    // No process is there, and nothing in the record changes.
    let took = first.until_it_leads().await;
    assert!(took < Duration::from_secs(40), "{took:?}");
}

#[test]
fn no_two_processes_have_the_same_name() {
    assert_ne!(identity(), identity());
    assert!(identity().contains('_'));
}

/// A process that keeps a Lease for "east".
struct Kept {
    gate: WriteGate,
    allowed: Arc<AtomicBool>,
    link: Arc<Mutex<Link>>,
    results: IntCounterVec,
    /// Annotations of the next renewal.
    noted: Arc<Mutex<BTreeMap<String, String>>>,
}

impl Kept {
    /// `leads`: whether it may write from the start.
    fn start(server: &Server, leads: bool) -> Self {
        let clock = BootClock::of_timers();
        let gate = WriteGate::closed(clock.clone());
        if leads {
            gate.open_until(Duration::MAX);
        }
        let lease = KeptLease {
            agent: AGENT,
            namespace: "fleet-member-east".to_owned(),
            name: "fleet-member".to_owned(),
            holder: "east".to_owned(),
            duration: Duration::from_secs(40),
            period: Duration::from_secs(10),
        };
        let link = Arc::new(Mutex::new(Link::Open));
        let allowed = Arc::new(AtomicBool::new(true));
        let results =
            IntCounterVec::new(prometheus::Opts::new("renewals", "Renewals."), &["result"])
                .unwrap();
        let may_renew = {
            let allowed = Arc::clone(&allowed);
            move || allowed.load(Ordering::Relaxed)
        };
        let (client, time) = (server.client(&link), (gate.clone(), clock));
        let noted = Arc::new(Mutex::new(BTreeMap::new()));
        let annotations = {
            let noted = Arc::clone(&noted);
            move || noted.lock().clone()
        };
        let keeper = LeaseKeeper::new(lease, client, time, may_renew, results.clone());
        tokio::spawn(keeper.annotated(annotations).run(CancellationToken::new()));
        Self { gate, allowed, link, results, noted }
    }

    fn count(&self, result: &str) -> u64 {
        self.results.with_label_values(&[result]).get()
    }
}

impl Server {
    fn renewed(&self) -> Value {
        self.0
            .lock()
            .lease
            .as_ref()
            .map(|lease| lease["spec"]["renewTime"].clone())
            .unwrap_or_default()
    }

    /// Another writer changes the stored Lease.
    fn edit(&self, change: impl FnOnce(&mut Value)) {
        let mut stored = self.0.lock();
        stored.version += 1;
        let version = stored.version.to_string();
        let lease = stored.lease.as_mut().unwrap();
        lease["metadata"]["resourceVersion"] = json!(version);
        change(lease);
    }
}

#[tokio::test(start_paused = true)]
async fn a_kept_lease_is_renewed_every_period_and_by_nothing_but_updates() {
    let server = Server::default();
    let kept = Kept::start(&server, true);
    sleep(Duration::from_mins(10)).await;
    let writes = server.0.lock().writes.clone();
    assert!((60..=67).contains(&writes.len()), "{}", writes.len());
    assert_eq!(writes[0], (Method::POST, "east".to_owned()));
    assert!(writes[1..].iter().all(|write| *write == (Method::PUT, "east".to_owned())));
    assert_eq!(
        (kept.count("renewed"), kept.count("failed")),
        (u64::try_from(writes.len()).unwrap(), 0)
    );
    let lease = server.0.lock().lease.clone().unwrap();
    assert_eq!(lease["spec"]["leaseDurationSeconds"], 40);
    assert_eq!(lease["spec"]["leaseTransitions"], 0);
}

#[tokio::test(start_paused = true)]
async fn annotations_come_with_renewals_that_are_due_anyway() {
    let server = Server::default();
    let kept = Kept::start(&server, true);
    let annotations = || server.0.lock().lease.as_ref().unwrap()["metadata"]["annotations"].clone();
    sleep(Duration::from_secs(1)).await;
    assert!(annotations().is_null());
    kept.noted.lock().insert("applied".to_owned(), "7".to_owned());
    let writes = server.0.lock().writes.len();
    sleep(Duration::from_secs(12)).await;
    assert_eq!(annotations(), json!({ "applied": "7" }));
    assert!(server.0.lock().writes.len() <= writes + 2, "no write of its own");
    kept.noted.lock().clear();
    sleep(Duration::from_secs(12)).await;
    assert!(annotations().is_null());
}

#[tokio::test(start_paused = true)]
async fn only_the_process_that_leads_renews_and_the_next_one_goes_on_at_once() {
    let server = Server::default();
    let first = Kept::start(&server, true);
    let second = Kept::start(&server, false);
    sleep(Duration::from_mins(1)).await;
    assert_eq!(second.count("renewed"), 0);
    first.gate.close();
    sleep(Duration::from_millis(1)).await;
    let before = server.renewed();
    let renewed = first.count("renewed");
    second.gate.open_until(Duration::MAX);
    sleep(Duration::from_millis(100)).await;
    assert_eq!(second.count("renewed"), 1);
    assert_ne!(server.renewed(), before);
    sleep(Duration::from_mins(1)).await;
    assert_eq!(first.count("renewed"), renewed);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_may_not_renew_writes_nothing() {
    let server = Server::default();
    let kept = Kept::start(&server, true);
    kept.allowed.store(false, Ordering::Relaxed);
    sleep(Duration::from_mins(5)).await;
    assert!(server.writes() <= 1);
    let before = server.writes();
    kept.allowed.store(true, Ordering::Relaxed);
    sleep(SOON).await;
    assert_eq!(server.writes(), before + 1);
}

#[tokio::test(start_paused = true)]
async fn a_kept_lease_that_is_deleted_labelled_or_taken_comes_back() {
    let server = Server::default();
    let kept = Kept::start(&server, true);
    sleep(SOON).await;
    server.0.lock().lease = None;
    sleep(Duration::from_secs(11)).await;
    assert_eq!(server.holder(), "east");
    server.edit(|lease| lease["metadata"]["labels"] = json!({ "a": "b" }));
    let before = server.renewed();
    sleep(Duration::from_secs(11)).await;
    assert_ne!(server.renewed(), before);
    server.edit(|lease| lease["spec"]["holderIdentity"] = json!("another"));
    sleep(Duration::from_secs(80)).await;
    assert_eq!(server.holder(), "east");
    assert!(kept.count("renewed") > 3);
}

/// What counts on renewals does not know yet whether they are possible.
#[tokio::test(start_paused = true)]
async fn the_first_renewal_of_a_term_is_tried_again_soon() {
    let server = Server::default();
    let kept = Kept::start(&server, false);
    *kept.link.lock() = Link::Cut;
    kept.gate.open_until(Duration::MAX);
    // The first attempt is given up after ten seconds; later in a term the next one comes after ten more.
    sleep(Duration::from_millis(10_500)).await;
    *kept.link.lock() = Link::Open;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(kept.count("renewed"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_kept_lease_is_renewed_as_soon_as_the_server_answers_again() {
    for link in [Link::Cut, Link::OneWay] {
        let server = Server::default();
        let kept = Kept::start(&server, true);
        sleep(SOON).await;
        *kept.link.lock() = link;
        sleep(Duration::from_mins(10)).await;
        assert!(kept.count("failed") >= 20);
        let renewed = kept.count("renewed");
        *kept.link.lock() = Link::Open;
        // A request that is under way is given up first.
        sleep(Duration::from_secs(31)).await;
        assert!(kept.count("renewed") > renewed, "{renewed}");
    }
}
