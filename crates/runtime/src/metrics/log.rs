//! Metrics of the log.

use prometheus::core::{Collector, Desc, Describer};
use prometheus::proto::MetricFamily;
use prometheus::{IntCounter, Opts};

use crate::logging::dropped_lines;

/// Shows at scrape how many lines were dropped.
#[derive(Debug)]
pub(super) struct LogCollector(Desc);

impl LogCollector {
    /// # Errors
    /// Never: the name is allowed.
    pub(super) fn new() -> prometheus::Result<Self> {
        opts().describe().map(Self)
    }
}

fn opts() -> Opts {
    Opts::new(
        "fleet_runtime_log_lines_dropped_total",
        "Log lines that were dropped because standard error was not read in time.",
    )
}

impl Collector for LogCollector {
    fn desc(&self) -> Vec<&Desc> {
        vec![&self.0]
    }

    /// A counter of its own for each scrape, since two may come at once.
    fn collect(&self) -> Vec<MetricFamily> {
        let Ok(counter) = IntCounter::with_opts(opts()) else { return Vec::new() };
        counter.inc_by(dropped_lines());
        counter.collect()
    }
}
