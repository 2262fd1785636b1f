//! Metrics of the agents: differences between two looks at their metrics, added up over all agents.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::Result;

use fleet_testbed::agents::Agents;
use fleet_testbed::fleet::Fleet;

const STAGES: &str = "fleet_networking_stage_duration_seconds";
const PLANS: &str = "fleet_runtime_plans_total";
const QUEUE_WAIT: &str = "fleet_runtime_queue_wait_seconds";
const FAILURES: &str = "fleet_runtime_failures_total";
const OWN_WRITE_TIMEOUTS: &str = "fleet_runtime_own_write_timeouts_total";
const REQUESTS: &str = "fleet_runtime_api_requests_total";
const REQUEST_TIME: &str = "fleet_runtime_api_request_duration_seconds";

/// Every series of every agent, by name with labels; the same series of several agents is added up.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Scrape(BTreeMap<String, f64>);

impl Scrape {
    /// Reads all agents' metrics.
    pub(super) async fn read(fleet: &Fleet, agents: &Agents) -> Result<Self> {
        let mut scrape = Self::default();
        for agent in fleet.agents() {
            scrape.add(&agents.metrics(agent).await?);
        }
        Ok(scrape)
    }

    /// The metrics of one agent.
    #[cfg(test)]
    pub(super) fn of(text: &str) -> Self {
        let mut scrape = Self::default();
        scrape.add(text);
        scrape
    }

    /// What has been added since `before`.
    pub(super) fn since(&self, before: &Self) -> Self {
        let series = self.0.iter().map(|(series, value)| {
            (series.clone(), value - before.0.get(series).copied().unwrap_or_default())
        });
        // An empty bucket shows where the next one begins.
        let tells = |name: &str, value: f64| value != 0.0 || name.contains("_bucket{");
        Self(series.filter(|(name, value)| tells(name, *value)).collect())
    }

    /// Each stage: mean milliseconds from the event that began it to the acknowledged write, and how often it ran.
    pub(super) fn stages(&self) -> Vec<(String, f64, f64)> {
        let counts = self.by(&["stage"], &format!("{STAGES}_count"));
        let sums = self.by(&["stage"], &format!("{STAGES}_sum"));
        let stages = counts.into_iter().filter(|(_, ran)| *ran > 0.0).map(|(stage, ran)| {
            let sum = sums.get(&stage).copied().unwrap_or_default();
            (stage, sum / ran * 1e3, ran)
        });
        stages.collect()
    }

    /// The time in milliseconds that this share of a histogram stays within, over all series with these labels. Within
    /// a bucket, times count as evenly spread. `None` if there are none, or if they are too long for the buckets.
    pub(super) fn percentile(
        &self,
        histogram: &str,
        labels: &[(&str, &str)],
        share: f64,
    ) -> Option<f64> {
        let name = format!("{histogram}_bucket");
        let wanted: Vec<_> =
            labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
        let mut buckets: Vec<(f64, f64)> = Vec::new();
        for (labels, count) in self.series(&name) {
            if !wanted.iter().all(|wanted| labels.contains(wanted)) {
                continue;
            }
            let bound = labels.split("le=\"").nth(1)?.split('"').next()?.parse().ok()?;
            match buckets.iter_mut().find(|(other, _)| f64::total_cmp(other, &bound).is_eq()) {
                Some((_, sum)) => *sum += count,
                None => buckets.push((bound, count)),
            }
        }
        buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
        let rank = buckets.last().filter(|(_, all)| *all > 0.0)?.1 * share;
        let mut before = (0.0, 0.0);
        for (bound, count) in buckets {
            if count >= rank {
                let (from, below) = before;
                return bound
                    .is_finite()
                    .then(|| (from + (bound - from) * (rank - below) / (count - below)) * 1e3);
            }
            before = (bound, count);
        }
        None
    }

    fn add(&mut self, text: &str) {
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let Some((series, value)) = line.rsplit_once(' ') else { continue };
            let Ok(value) = value.parse::<f64>() else { continue };
            *self.0.entry(series.to_owned()).or_default() += value;
        }
    }

    /// Values of a metric, added up by the values of some labels.
    fn by(&self, wanted: &[&str], name: &str) -> BTreeMap<String, f64> {
        let mut sums = BTreeMap::new();
        for (labels, value) in self.series(name) {
            let value_of = |label: &&str| {
                let rest = labels.split(&format!("{label}=\"")).nth(1);
                rest.and_then(|rest| rest.split('"').next()).unwrap_or_default()
            };
            let key: Vec<&str> = wanted.iter().map(value_of).collect();
            *sums.entry(key.join(" ")).or_default() += value;
        }
        sums
    }

    fn total(&self, name: &str) -> f64 {
        self.series(name).map(|(_, value)| value).sum()
    }

    /// Mean of a histogram in milliseconds.
    fn mean(&self, name: &str) -> f64 {
        let count = self.total(&format!("{name}_count"));
        if count > 0.0 { self.total(&format!("{name}_sum")) / count * 1e3 } else { 0.0 }
    }

    /// Labels and values of a metric; the name must be whole.
    fn series<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (&'a str, f64)> + 'a {
        let start = self.0.range(name.to_owned()..);
        start
            .map_while(move |(series, value)| Some((series.strip_prefix(name)?, *value)))
            .filter(|(labels, _)| labels.is_empty() || labels.starts_with('{'))
    }
}

/// One line about work done.
impl fmt::Display for Scrape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let codes = self.by(&["code", "verb", "kind"], REQUESTS);
        let done: f64 =
            codes.iter().filter(|(code, _)| code.starts_with('2')).map(|(_, n)| n).sum();
        write!(f, "{done} requests, {:.1} ms each", self.mean(REQUEST_TIME))?;
        for (code, count) in codes.iter().filter(|(code, _)| !code.starts_with('2')) {
            write!(f, ", {count} x {code}")?;
        }
        let plans = self.by(&["outcome"], PLANS);
        let plan = |outcome| plans.get(outcome).copied().unwrap_or_default();
        write!(f, "; {} plans with writes, {} without", plan("writes"), plan("nothing"))?;
        write!(f, ", queued {:.1} ms each", self.mean(QUEUE_WAIT))?;
        for (class, count) in self.by(&["class"], FAILURES) {
            write!(f, "; {count} failed: {class}")?;
        }
        let timeouts = self.total(OWN_WRITE_TIMEOUTS);
        if timeouts > 0.0 {
            write!(f, "; {timeouts} own writes not seen in time")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrape(text: &str) -> Scrape {
        Scrape::of(text)
    }

    #[test]
    fn percentiles_are_found_within_their_bucket() {
        let series = |agent: &str, counts: [u32; 4]| {
            let bounds = ["0.001", "0.002", "0.004", "+Inf"].into_iter();
            let line =
                |(bound, count)| format!("h_bucket{{a=\"{agent}\",le=\"{bound}\"}} {count}\n");
            bounds.zip(counts).map(line).collect::<String>()
        };
        let text = series("x", [0, 10, 20, 20]) + &series("y", [7, 7, 7, 8]);
        let scrape = scrape(&text).since(&Scrape::default());
        let at = |agent, share| scrape.percentile("h", &[("a", agent)], share);
        for (share, millis) in [(0.25, 1.5), (0.5, 2.0), (0.75, 3.0)] {
            assert!((at("x", share).unwrap() - millis).abs() < 1e-9);
        }
        assert!((at("y", 0.5).unwrap() - 4.0 / 7.0).abs() < 1e-9);
        assert_eq!((at("y", 0.99), at("z", 0.5)), (None, None));
    }

    #[test]
    fn stages_are_those_of_the_time_between() {
        let text = |sum: f64, count: u32| {
            format!(
                "# TYPE {STAGES} histogram\n{STAGES}_bucket{{stage=\"export\",le=\"0.1\"}} {count}\n\
                 {STAGES}_sum{{stage=\"export\"}} {sum}\n{STAGES}_count{{stage=\"export\"}} {count}\n"
            )
        };
        let stages = scrape(&text(1.5, 110)).since(&scrape(&text(1.0, 10))).stages();
        assert_eq!(stages.len(), 1);
        let (stage, millis, ran) = &stages[0];
        assert_eq!((stage.as_str(), ran.to_string().as_str()), ("export", "100"));
        assert!((millis - 5.0).abs() < 1e-9);
    }

    #[test]
    fn agents_are_added_up_and_told_in_one_line() {
        let mut both = scrape(&format!("{REQUESTS}{{verb=\"create\",code=\"201\"}} 3\n"));
        both.add(&format!(
            "{REQUESTS}{{verb=\"create\",code=\"201\"}} 2\n{REQUESTS}{{verb=\"patch\",kind=\"X\",code=\"409\"}} 1\n\
             {PLANS}{{controller=\"export\",outcome=\"nothing\"}} 7\n\
             {FAILURES}{{controller=\"export\",class=\"conflict\"}} 1\n"
        ));
        let line = both.to_string();
        assert!(
            line.starts_with("5 requests, 0.0 ms each, 1 x 409 patch X; 0 plans with"),
            "{line}"
        );
        assert!(line.contains("7 without") && line.ends_with("; 1 failed: conflict"), "{line}");
    }
}
