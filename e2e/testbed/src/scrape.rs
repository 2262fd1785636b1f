//! Reading metrics in Prometheus' text format.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::agents::{Agent, Agents};

/// The metrics of one process at one moment.
pub struct Scrape(String);

impl From<String> for Scrape {
    /// From the text as it was served.
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl Scrape {
    /// The metrics of an agent now.
    pub async fn of(agents: &Agents, agent: Agent) -> Result<Self> {
        Ok(Self(agents.metrics(agent).await?))
    }

    /// Series of counters and histograms that are lower in `later`, or gone.
    pub fn fell(&self, later: &Self) -> Vec<String> {
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
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_added_up_by_their_labels() {
        let text = "# TYPE a counter\na{x=\"1\",y=\"2\"} 3\na{x=\"1\",y=\"3\"} 4\na{x=\"2\"} 5\na_b{x=\"1\"} 6\na 7\n";
        let is = |wanted: &[(&str, &str)], expected: f64| {
            let sum = Scrape::from(text.to_owned()).sum("a", wanted);
            assert!((sum - expected).abs() < 1e-9, "{wanted:?}");
        };
        is(&[], 19.0);
        is(&[("x", "1")], 7.0);
        is(&[("x", "1"), ("y", "3")], 4.0);
    }
}
