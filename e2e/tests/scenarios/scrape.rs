//! Reading metrics in Prometheus' text format.

use anyhow::Result;
use fleet_e2e::testbed::agents::{Agent, Agents};

/// The metrics of one agent at one moment.
pub(crate) struct Scrape(String);

impl Scrape {
    pub(crate) async fn of(agents: &Agents, agent: Agent) -> Result<Self> {
        Ok(Self(agents.metrics(agent).await?))
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
