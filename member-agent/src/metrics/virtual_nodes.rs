//! Metrics of Pods that run elsewhere, and of those of others.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use fleet_accumulator::{ClusterId, Register};
use fleet_api::offload::Refusal;
use fleet_plan::{Event, Step};
use fleet_runtime::engine::Recorder;
use fleet_runtime::metrics::Gauges;
use fleet_virtual_node::life::State;
use jiff::Timestamp;
use prometheus::{
    Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
};

use crate::measurement::Measurement;
use crate::refusals::Refusals;
use crate::status_writes::StatusWrites;
use crate::virtual_node_counts::Counts;

/// Upper bounds in seconds: from a few writes to the start of a large image.
const SECONDS: [f64; 12] = [0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];
/// Pods of which it is remembered how far they are; beyond it all are forgotten.
const REMEMBERED: usize = 1 << 14;

/// Counters and histograms of virtual nodes.
#[derive(Clone, Debug)]
pub struct VirtualNodeMetrics {
    accepted: Histogram,
    started: Histogram,
    released: Histogram,
    lag: Histogram,
    refused: IntCounterVec,
    dangling: IntCounter,
}

impl VirtualNodeMetrics {
    /// Registers them.
    ///
    /// # Errors
    /// If they are there already.
    pub fn register(registry: &impl Register) -> Result<Self, prometheus::Error> {
        let refused = Opts::new(
            "fleet_virtual_node_rejections_total",
            "Pods on virtual nodes that do not cross, by reason and by the field that is refused, as far as it is known.",
        );
        let refused = IntCounterVec::new(refused, &["reason", "field"])?;
        for reason in Refusal::ALL {
            refused.with_label_values(&[reason.as_str(), "spec"]).inc_by(0);
        }
        let dangling = IntCounter::new(
            "fleet_virtual_node_dangling_stops_total",
            "Pods that were stopped because what they ran for does not exist any more.",
        )?;
        registry.add(refused.clone())?;
        registry.add(dangling.clone())?;
        Ok(Self {
            accepted: histogram(
                registry,
                "fleet_virtual_node_export_to_accept_seconds",
                "Seconds from the export of a Pod until its executor has accepted it.",
            )?,
            started: histogram(
                registry,
                "fleet_virtual_node_accept_to_running_seconds",
                "Seconds from the acceptance of a Pod by its executor until it runs.",
            )?,
            released: histogram(
                registry,
                "fleet_virtual_node_stop_to_release_seconds",
                "Seconds from the request to stop a Pod until its executor has nothing of it any more.",
            )?,
            lag: histogram(
                registry,
                "fleet_virtual_node_status_lag_seconds",
                "Seconds from when a Pod has become ready in its executor, or not ready, until its status has it. The clocks of both clusters count.",
            )?,
            refused,
            dangling,
        })
    }

    /// The recorder of a controller whose keys have these names of Pods. It notes in `writes` when statuses were written.
    pub(crate) fn recorder<K>(
        &self,
        writes: Arc<StatusWrites>,
        pod: fn(&K) -> Option<String>,
    ) -> VirtualNodeRecorder<K> {
        let (metrics, states) = (self.clone(), HashMap::new());
        VirtualNodeRecorder { metrics, writes, refusals: None, pod, states }
    }
}

fn histogram(
    registry: &impl Register,
    name: &str,
    help: &str,
) -> Result<Histogram, prometheus::Error> {
    let opts = HistogramOpts::new(name, help).buckets(SECONDS.to_vec());
    let histogram = Histogram::with_opts(opts)?;
    registry.add(histogram.clone())?;
    Ok(histogram)
}

/// Records what the plans of one controller measure.
pub(crate) struct VirtualNodeRecorder<K> {
    metrics: VirtualNodeMetrics,
    writes: Arc<StatusWrites>,
    /// What this cluster has refused, where its plans depend on that.
    refusals: Option<Arc<Refusals>>,
    pod: fn(&K) -> Option<String>,
    /// How far each Pod is, and since when.
    states: HashMap<String, (State, Timestamp)>,
}

impl<K> fmt::Debug for VirtualNodeRecorder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VirtualNodeRecorder").finish_non_exhaustive()
    }
}

impl<K: 'static> Recorder<K, Measurement> for VirtualNodeRecorder<K> {
    fn record(&mut self, key: &K, what: &Measurement, at: Timestamp) -> Vec<Event> {
        let Some(pod) = (self.pod)(key) else { return Vec::new() };
        match what {
            Measurement::PodState { state, .. } => self.moved(pod, *state, at),
            Measurement::PodRefused(rejection) => {
                let labels = [rejection.reason.as_str(), &rejection.known_field()];
                self.metrics.refused.with_label_values(&labels).inc();
            }
            Measurement::PodReadinessWritten(since) => {
                let took = at.duration_since(*since).as_secs_f64().max(0.0);
                self.metrics.lag.observe(took);
            }
            Measurement::DanglingStop => self.metrics.dangling.inc(),
            Measurement::PodStatusWritten | Measurement::ImportStatusWritten => {
                self.writes.write(&pod);
            }
            Measurement::RemotePodSettled => {
                self.refusals.iter().for_each(|refusals| refusals.forget(&pod));
            }
            _ => {}
        }
        Vec::new()
    }

    fn refused(&mut self, key: &K, step: &Step, why: &str) {
        let here = self.refusals.as_ref().filter(|_| step.cluster == ClusterId::Local);
        if let Some((refusals, pod)) = here.zip((self.pod)(key)) {
            refusals.refuse(&pod, why);
        }
    }
}

impl<K> VirtualNodeRecorder<K> {
    /// Notes in `refusals` what this cluster refuses, too.
    pub(crate) fn refusals(self, refusals: Arc<Refusals>) -> Self {
        Self { refusals: Some(refusals), ..self }
    }

    fn moved(&mut self, pod: String, state: State, at: Timestamp) {
        let before = self.states.get(&pod).copied();
        if before.is_some_and(|(before, _)| before == state) {
            return;
        }
        if let Some((before, since)) = before {
            let took = at.duration_since(since).as_secs_f64().max(0.0);
            match (before, state) {
                (State::Exported, State::Accepted | State::Running) => {
                    self.metrics.accepted.observe(took);
                }
                (State::Accepted, State::Running) => self.metrics.started.observe(took),
                (State::Stopping, State::Released) => self.metrics.released.observe(took),
                _ => {}
            }
        }
        if self.states.len() >= REMEMBERED {
            self.states.clear();
        }
        if state == State::Released {
            self.states.remove(&pod);
        } else {
            self.states.insert(pod, (state, at));
        }
    }
}

/// What is on virtual nodes.
///
/// # Errors
/// If a name or a label is not allowed, which only a change of this file can cause.
pub fn virtual_nodes(counts: &Counts) -> Gauges {
    let gauge =
        |name: &str, help: &str, labels: &[&str]| IntGaugeVec::new(Opts::new(name, help), labels);
    let pods = gauge(
        "fleet_virtual_node_pods",
        "Pods on virtual nodes, by executor and phase.",
        &["executor", "phase"],
    )?;
    for ((executor, phase), count) in &counts.pods {
        pods.with_label_values(&[executor.as_str(), phase]).set(number(*count));
    }
    let states = gauge(
        "fleet_virtual_node_pod_state",
        "Pods on virtual nodes, by how far they are on the way to their executor.",
        &["state"],
    )?;
    for (state, count) in &counts.states {
        states.with_label_values(&[*state]).set(number(*count));
    }
    let nodes = gauge(
        "fleet_virtual_node_ready",
        "1 if the virtual node of an executor is ready, otherwise 0, with the reason.",
        &["executor", "reason"],
    )?;
    for (executor, (ready, reason)) in &counts.nodes {
        nodes.with_label_values(&[executor.as_str(), reason]).set(i64::from(*ready));
    }
    let left = IntGauge::new(
        "fleet_virtual_node_left_over",
        "Exports of Pods that do not exist any more. They are stopped after a minute, or after ten if they are many.",
    )?;
    left.set(number(counts.left_over));
    Ok(vec![Box::new(pods), Box::new(states), Box::new(nodes), Box::new(left)])
}

/// Whether so much is left over that it is kept for a while, by what the member is for others.
///
/// # Errors
/// See [`virtual_nodes`].
pub fn virtual_node_fuses(open: &BTreeMap<&'static str, bool>) -> Gauges {
    let opts = Opts::new(
        "fleet_virtual_node_fuse_open",
        "1 while so much is left over at once that it is kept for ten minutes: exports without Pods (origin), Pods without imports (executor).",
    );
    let gauge = IntGaugeVec::new(opts, &["role"])?;
    for (role, open) in open {
        gauge.with_label_values(&[*role]).set(i64::from(*open));
    }
    Ok(vec![Box::new(gauge)])
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Counts renewals of Leases of virtual nodes that failed.
///
/// # Errors
/// If the counter is there already.
pub fn lease_renew_failures(registry: &impl Register) -> Result<IntCounter, prometheus::Error> {
    let failures = IntCounter::new(
        "fleet_virtual_node_lease_renew_failures_total",
        "Renewals of Leases of virtual nodes that failed.",
    )?;
    registry.add(failures.clone())?;
    Ok(failures)
}
