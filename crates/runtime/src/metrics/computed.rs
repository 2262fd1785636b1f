//! Metrics that are computed when they are scraped.

use std::fmt;

use fleet_accumulator::{Accumulator, Snapshot};
use jiff::Timestamp;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;

use crate::clock::Clock;

/// Metrics with their values of one moment.
pub type Gauges = prometheus::Result<Vec<Box<dyn Collector>>>;

type Compute<S> = dyn Fn(&S, Timestamp) -> Gauges + Send + Sync;

/// Gauges of what a snapshot shows. Nothing sets them, so no plan does, and series of objects that are gone are gone too.
pub struct SnapshotMetrics<S> {
    accumulator: Accumulator<S>,
    clock: Clock,
    gauges: Box<Compute<S>>,
    descriptions: Vec<Desc>,
}

impl<S: Snapshot> SnapshotMetrics<S> {
    /// What `gauges` makes of the newest snapshot of `accumulator`.
    ///
    /// # Errors
    /// If `gauges` returns one for an empty snapshot: a name or a label is not allowed.
    pub fn new(
        accumulator: Accumulator<S>,
        clock: Clock,
        gauges: impl Fn(&S, Timestamp) -> Gauges + Send + Sync + 'static,
    ) -> prometheus::Result<Self> {
        let descriptions = descriptions(&gauges(&S::default(), clock.now())?);
        Ok(Self { accumulator, clock, gauges: Box::new(gauges), descriptions })
    }
}

impl<S: Snapshot> Collector for SnapshotMetrics<S> {
    fn desc(&self) -> Vec<&Desc> {
        self.descriptions.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let gauges = (self.gauges)(&self.accumulator.snapshot(), self.clock.now());
        collect(&gauges.unwrap_or_default())
    }
}

impl<S> fmt::Debug for SnapshotMetrics<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotMetrics").finish_non_exhaustive()
    }
}

fn descriptions(gauges: &[Box<dyn Collector>]) -> Vec<Desc> {
    gauges.iter().flat_map(|gauge| gauge.desc()).cloned().collect()
}

fn collect(gauges: &[Box<dyn Collector>]) -> Vec<MetricFamily> {
    gauges.iter().flat_map(|gauge| gauge.collect()).collect()
}
