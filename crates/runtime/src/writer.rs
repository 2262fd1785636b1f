//! Sends the steps of a plan.
//!
//! A step is sent as soon as all steps it waits for have succeeded; a failed step stops only those
//! that wait for it. At most as many requests as allowed are in flight per API server, urgent ones
//! first; an API server that refuses requests gets fewer, whichever keys they are for. Nothing is retried here: a failure goes
//! back to the queue with its class.

mod gate;
mod graph;
mod limiter;
mod outcome;
mod reply;
mod request;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fleet_accumulator::{ClusterId, Expectation, one_line};
use fleet_api::{ObjectName, ResourceKind};
use fleet_plan::{Action, Precondition, Step};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Bytes;
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use prometheus::IntGauge;
use tokio_util::sync::CancellationToken;

use crate::clock::monotonic;
use crate::metrics::WriterMetrics;
use graph::{Graph, Sendable};
use limiter::{RequestLimiter, Slot};
use reply::Refusal;

pub(crate) use gate::Terms;
pub use gate::{NotLeader, WriteGate};
pub use outcome::{Class, Exchange, Failure, Outcome};

/// How a [`Writer`] sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriterSettings {
    /// Requests in flight per API server. 8 saturate one that has the machine to itself.
    pub in_flight: usize,
    /// Limit of one request, from sending it to the last byte of the answer.
    pub timeout: Duration,
    /// Who we are in `managedFields`.
    pub field_manager: String,
}

impl WriterSettings {
    /// The default limits: 16 in flight, 10 s.
    pub fn new(field_manager: impl Into<String>) -> Self {
        let timeout = Duration::from_secs(10);
        Self { in_flight: 16, timeout, field_manager: field_manager.into() }
    }
}

/// The one way from plans to API servers. Clones share everything.
#[derive(Clone)]
pub struct Writer(Arc<Inner>);

struct Inner {
    clusters: BTreeMap<ClusterId, Cluster>,
    settings: WriterSettings,
    gate: WriteGate,
    metrics: Arc<WriterMetrics>,
    /// Failures that were logged and have not succeeded since: logged once, not once per key.
    complaints: Mutex<HashSet<Complaint>>,
}

type Complaint = (ClusterId, &'static str, ResourceKind, Class);

struct Cluster {
    client: Client,
    limiter: Arc<RequestLimiter>,
    waiting: IntGauge,
}

/// A request that waits for its turn, for as long as this lives.
struct Waiting<'a>(&'a IntGauge);

impl<'a> Waiting<'a> {
    fn begin(gauge: &'a IntGauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// An answer as it came.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    bytes: Bytes,
}

impl Writer {
    /// A writer for these API servers.
    pub fn new(
        clients: impl IntoIterator<Item = (ClusterId, Client)>,
        settings: WriterSettings,
        gate: WriteGate,
        metrics: Arc<WriterMetrics>,
    ) -> Self {
        let cluster = |(id, client): (ClusterId, Client)| {
            let limiter = RequestLimiter::new(settings.in_flight);
            (id, Cluster { client, limiter, waiting: metrics.waiting(id.as_str()) })
        };
        let clusters = clients.into_iter().map(cluster).collect();
        let complaints = Mutex::default();
        Self(Arc::new(Inner { clusters, settings, gate, metrics, complaints }))
    }

    /// Sends `steps`, which form a graph by their `after`. Ends when every step was answered,
    /// failed, or was skipped. Once `cancel` is cancelled nothing more is sent, but what is on its
    /// way is waited for.
    pub async fn execute(&self, steps: &[Step], cancel: &CancellationToken) -> Outcome {
        let mut outcome = Outcome::default();
        let mut graph = Graph::new(steps);
        let mut sendable = Sendable::new(steps, self.0.settings.in_flight);
        sendable.add(graph.roots());
        let mut running = FuturesUnordered::new();
        loop {
            while let Some(index) = sendable.next() {
                running.push(self.run(index, &steps[index], cancel));
            }
            let Some((index, sent, result)) = running.next().await else { return outcome };
            sendable.ended(index);
            let ended = monotonic();
            outcome.exchanges.extend(sent.map(|sent| Exchange { step: index, sent, ended }));
            match result {
                Ok(expectation) => {
                    outcome.acknowledged.push((index, ended));
                    outcome.expectations.extend(expectation);
                    sendable.add(graph.succeeded(index));
                }
                Err(refusal) => {
                    outcome
                        .expectations
                        .extend(refusal.expectation.map(|expectation| *expectation));
                    outcome.skipped.extend(graph.failed(index));
                    let Refusal { class, retry_after, message, .. } = refusal;
                    outcome.failures.push(Failure { step: index, class, retry_after, message });
                }
            }
        }
    }

    /// Whether this process may write now.
    pub(crate) fn may_write(&self) -> bool {
        self.0.gate.check().is_ok()
    }

    /// The times in which this process may write.
    pub(crate) fn terms(&self) -> Terms {
        self.0.gate.terms()
    }

    /// Reads what is there now; `None` if nothing. Not limited: it is asked for where the
    /// view cannot be trusted, which is rare.
    ///
    /// # Errors
    /// One line, when the server gives neither the object nor "not found".
    pub async fn get(
        &self,
        cluster: ClusterId,
        kind: &ResourceKind,
        name: &ObjectName,
    ) -> Result<Option<Precondition>, String> {
        let inner = &self.0;
        let client = &inner.clusters.get(&cluster).ok_or("no such cluster")?.client;
        let request = request::get(kind, name).map_err(|error| error.to_string())?;
        let label = [cluster.as_str(), "get", kind.label()];
        match inner.send(client, request, label).await {
            Ok(answer) => reply::found(&name.name, answer.status, &answer.bytes),
            Err(refusal) => Err(refusal.message),
        }
    }

    async fn run(
        &self,
        index: usize,
        step: &Step,
        cancel: &CancellationToken,
    ) -> (usize, Option<Instant>, Result<Option<Expectation>, Refusal>) {
        let mut sent = None;
        let result = self.0.step(step, cancel, &mut sent).await;
        self.0.report(step, result.as_ref().err());
        (index, sent, result)
    }
}

/// Adjusts how many requests an API server gets to how it has answered one.
fn note_pace(cluster: ClusterId, slot: &Slot, refusal: Option<&Refusal>) {
    match refusal {
        Some(Refusal { class: Class::Throttled, retry_after, .. }) => {
            let pause = retry_after.unwrap_or_default();
            if slot.refused(pause) {
                tracing::warn!(%cluster, retry_after = ?pause, "API server asks for fewer requests");
            }
        }
        // No evidence for either: the API server may be about to fail.
        Some(Refusal { class: Class::Transient, .. }) => {}
        _ => {
            if slot.answered() {
                tracing::info!(%cluster, "API server accepts requests at full pace again");
            }
        }
    }
}

impl Inner {
    async fn step(
        &self,
        step: &Step,
        cancel: &CancellationToken,
        sent: &mut Option<Instant>,
    ) -> Result<Option<Expectation>, Refusal> {
        let Some(cluster) = self.clusters.get(&step.cluster) else {
            let message = format!("no client for cluster {}", step.cluster);
            return Err(Refusal::new(Class::Invalid, message));
        };
        let stopping = || Refusal::new(Class::Stopping, "the process is stopping");
        let slot = async {
            let _waiting = Waiting::begin(&cluster.waiting);
            cluster.limiter.slot(&step.account, step.urgent).await
        };
        let slot = cancel.run_until_cancelled(slot).await.ok_or_else(stopping)?;
        // Not before: what waits takes no memory.
        let mut request = request::build(step, &self.settings.field_manager)
            .map_err(|error| Refusal::new(Class::Invalid, error.to_string()))?;
        cluster.limiter.charge(step, request.body().len());
        let gated = |error: NotLeader| Refusal::new(Class::NotLeader, error.to_string());
        self.gate.check().map_err(gated)?;

        let label = [step.cluster.as_str(), step.action.verb(), step.kind.label()];
        // For the end of the stack: connecting may take a while.
        request.extensions_mut().insert(self.gate.clone());
        let begin = monotonic();
        *sent = Some(begin);
        let answer = self.send(&cluster.client, request, label).await;
        // A request that the gate has cut off looks like a broken connection.
        let answer = answer.map_err(|refusal| self.gate.check().err().map_or(refusal, gated))?;
        let result = reply::read(step, answer.status, &answer.headers, &answer.bytes);
        note_pace(step.cluster, &slot, result.as_ref().err());
        if result.is_ok() {
            slot.served((step.action.verb(), step.kind), begin);
        }
        result
    }

    async fn send(
        &self,
        client: &Client,
        request: Request<Vec<u8>>,
        label: [&str; 3],
    ) -> Result<Answer, Refusal> {
        let started = monotonic();
        let exchange = async {
            let response = client.send(request.map(Body::from)).await?;
            let (head, body) = response.into_parts();
            let bytes = body.collect().await?.to_bytes();
            Ok::<_, kube::Error>(Answer { status: head.status, headers: head.headers, bytes })
        };
        let (code, result) = match tokio::time::timeout(self.settings.timeout, exchange).await {
            Ok(Ok(answer)) => (answer.status.as_str().to_owned(), Ok(answer)),
            Ok(Err(error)) => {
                ("connection".to_owned(), Err(Refusal::new(Class::Transient, one_line(&error))))
            }
            Err(_) => {
                let message = format!("no answer within {} s", self.settings.timeout.as_secs());
                ("timeout".to_owned(), Err(Refusal::new(Class::Transient, message)))
            }
        };
        self.metrics.answered(label, &code, monotonic().duration_since(started));
        result
    }

    /// Logs a write that changed something, and the first failure of its kind.
    fn report(&self, step: &Step, refusal: Option<&Refusal>) {
        let (verb, kind) = (step.action.verb(), step.kind);
        let (namespace, name) = (&*step.name.namespace, &*step.name.name);
        let complaint = |class| (step.cluster, verb, kind, class);
        let Some(refusal) = refusal else {
            if !matches!(step.action, Action::ConfirmAbsent) {
                tracing::info!(
                    cluster = %step.cluster, verb, kind = kind.label(), namespace, name, "Wrote",
                );
            }
            let mut complaints = self.complaints.lock();
            if !complaints.is_empty() {
                complaints.retain(|(cluster, of_verb, of_kind, _)| {
                    (*cluster, *of_verb, *of_kind) != (step.cluster, verb, kind)
                });
            }
            return;
        };
        let class = refusal.class;
        let expected = class.is_stale_view() || class == Class::Stopping;
        if expected || !self.complaints.lock().insert(complaint(class)) {
            tracing::debug!(
                cluster = %step.cluster, verb, kind = kind.label(), namespace, name,
                %class, error = refusal.message, "Write failed",
            );
        } else if class.is_hopeless() {
            tracing::error!(
                cluster = %step.cluster, verb, kind = kind.label(), namespace, name,
                %class, error = refusal.message, "Write refused",
            );
        } else {
            tracing::warn!(
                cluster = %step.cluster, verb, kind = kind.label(), namespace, name,
                %class, error = refusal.message, "Retrying a failed write",
            );
        }
    }
}
