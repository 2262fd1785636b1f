//! Metrics of the proof of reachability.

use fleet_accumulator::Register;
use fleet_api::multicluster::ReachHop;
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts};

/// Upper bounds in seconds: from a node next to it to the other side of the earth, and a packet that is sent again.
const BUCKETS: [f64; 10] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0, 2.0];
/// States of a pair of a Service and an exporter.
const STATES: [&str; 4] = ["reachable", "unreachable", "unknown", "not_dialled"];

/// What the agent reaches of what it imports.
#[derive(Clone, Debug)]
pub struct ReachMetrics {
    services: IntGaugeVec,
    unreachable: IntGaugeVec,
    dials: IntCounterVec,
    seconds: HistogramVec,
    reports: IntCounterVec,
}

impl ReachMetrics {
    /// Registers them.
    pub fn register(registry: &impl Register) -> Result<Self, prometheus::Error> {
        let services = IntGaugeVec::new(
            Opts::new(
                "fleet_reach_services",
                "Pairs of an imported Service and an exporter, by whether their endpoints, address and name are reached.",
            ),
            &["state"],
        )?;
        let unreachable = IntGaugeVec::new(
            Opts::new(
                "fleet_reach_unreachable",
                "Pairs of an imported Service and an exporter that are not reached, by the hop at which it stops.",
            ),
            &["hop"],
        )?;
        let dials = IntCounterVec::new(
            Opts::new(
                "fleet_reach_dials_total",
                "Connections and look-ups that were tried, by what they are for and by outcome.",
            ),
            &["target", "outcome"],
        )?;
        let reports = IntCounterVec::new(
            Opts::new(
                "fleet_reach_reports_total",
                "Writes of the ReachReport on the hub, by result.",
            ),
            &["result"],
        )?;
        let seconds = HistogramVec::new(
            HistogramOpts::new(
                "fleet_reach_dial_duration_seconds",
                "Time until a connection or a look-up was answered, by what it is for.",
            )
            .buckets(BUCKETS.to_vec()),
            &["target"],
        )?;
        registry.add(services.clone())?;
        registry.add(unreachable.clone())?;
        registry.add(dials.clone())?;
        registry.add(seconds.clone())?;
        registry.add(reports.clone())?;
        for result in ["written", "failed"] {
            reports.with_label_values(&[result]).inc_by(0);
        }
        let metrics = Self { services, unreachable, dials, seconds, reports };
        metrics.show([0; 4], |_| 0);
        Ok(metrics)
    }

    /// Shows the number of pairs in each state, in the order reachable, unreachable, unknown, not dialled, and of those that
    /// stop at each hop.
    pub fn show(&self, counts: [i32; 4], at_hop: impl Fn(ReachHop) -> i64) {
        for (state, count) in STATES.iter().zip(counts) {
            self.services.with_label_values(&[state]).set(count.into());
        }
        for hop in ReachHop::ALL {
            let label = hop.as_str().to_ascii_lowercase();
            self.unreachable.with_label_values(&[label.as_str()]).set(at_hop(hop));
        }
    }

    /// Counts a dial, and the time until its answer.
    pub fn dialled(&self, target: &str, outcome: &str, seconds: Option<f64>) {
        self.dials.with_label_values(&[target, outcome]).inc();
        if let Some(seconds) = seconds {
            self.seconds.with_label_values(&[target]).observe(seconds);
        }
    }

    /// Counts a write of the report.
    pub fn reported(&self, is_written: bool) {
        let result = if is_written { "written" } else { "failed" };
        self.reports.with_label_values(&[result]).inc();
    }
}
