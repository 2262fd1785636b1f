//! Reading metrics in Prometheus' text format.

use std::collections::BTreeMap;

use anyhow::Result;
use fleet_e2e::testbed::agents::{Agent, Agents};

/// The metrics of one agent at one moment.
pub(crate) struct Scrape(String);

impl Scrape {
    pub(crate) async fn of(agents: &Agents, agent: Agent) -> Result<Self> {
        Ok(Self(agents.metrics(agent).await?))
    }

    /// Series of counters and histograms that are lower in `later`, or gone.
    pub(crate) fn fell(&self, later: &Self) -> Vec<String> {
        let counters = |scrape: &Self| -> BTreeMap<String, f64> {
            let series = scrape.0.lines().filter_map(|line| line.rsplit_once(' '));
            let counts = |series: &str| {
                let name = series.split('{').next().unwrap_or_default();
                ["_total", "_count", "_bucket", "_sum"].iter().any(|end| name.ends_with(end))
            };
            let counters = series.filter(|(series, _)| counts(series));
            counters
                .filter_map(|(series, value)| Some((series.to_owned(), value.parse().ok()?)))
                .collect()
        };
        let later = counters(later);
        let fell =
            |(series, value): &(String, f64)| later.get(series).is_none_or(|now| now < value);
        counters(self).into_iter().filter(fell).map(|(series, _)| series).collect()
    }

    /// Sum over all series of this name that have all these labels; 0 if there are none.
    pub(crate) fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let labels: Vec<String> =
            labels.iter().map(|(key, value)| format!("{key}=\"{value}\"")).collect();
        let value = |line: &str| {
            let rest = line.strip_prefix(name)?;
            let (series, value) = rest.rsplit_once(' ')?;
            let meant = series.is_empty() || series.starts_with('{');
            let meant = meant && labels.iter().all(|label| series.contains(label));
            meant.then(|| value.parse::<f64>().ok()).flatten()
        };
        self.0.lines().filter_map(value).sum()
    }
}
