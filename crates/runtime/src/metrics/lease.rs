//! Metrics of the election.

use fleet_accumulator::Register;
use prometheus::{IntCounter, IntCounterVec, IntGauge, Opts};

/// Metrics of the election.
#[derive(Clone, Debug)]
pub struct LeaseMetrics {
    pub(crate) leads: IntGauge,
    pub(crate) gained: IntCounter,
    pub(crate) lost: IntCounter,
}

impl LeaseMetrics {
    /// Registers the metrics. A process that stands in no election leads all the time.
    ///
    /// # Errors
    /// When they are in `registry` already.
    pub fn register(registry: &impl Register) -> Result<Self, prometheus::Error> {
        let leads = IntGauge::new(
            "fleet_runtime_is_leader",
            "1 while this process may write, 0 while it stands by.",
        )?;
        let changes = IntCounterVec::new(
            Opts::new(
                "fleet_runtime_leader_changes_total",
                "How often this process got the lease, and how often it lost it.",
            ),
            &["change"],
        )?;
        registry.add(leads.clone())?;
        registry.add(changes.clone())?;
        leads.set(1);
        let [gained, lost] = ["gained", "lost"].map(|change| changes.with_label_values(&[change]));
        Ok(Self { leads, gained, lost })
    }
}
