//! Metrics of the log.

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{IntCounter, Opts};

use crate::logging::dropped_lines;

/// Shows at scrape how many lines were dropped.
#[derive(Debug)]
pub(super) struct LogCollector(IntCounter);

impl LogCollector {
    /// # Errors
    /// Never: the name is allowed.
    pub(super) fn new() -> prometheus::Result<Self> {
        let opts = Opts::new(
            "fleet_runtime_log_lines_dropped_total",
            "Log lines that were dropped because standard error was not read in time.",
        );
        Ok(Self(IntCounter::with_opts(opts)?))
    }
}

impl Collector for LogCollector {
    fn desc(&self) -> Vec<&Desc> {
        self.0.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.0.inc_by(dropped_lines().saturating_sub(self.0.get()));
        self.0.collect()
    }
}
