//! What the agents say of their own stages: from the event that began one to the acknowledged write.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::fleet::Fleet;
use crate::testbed::agents::Agents;

const NAME: &str = "fleet_networking_stage_duration_seconds";

/// Sums and counts of the stages, over all agents.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Stages(BTreeMap<String, (f64, f64)>);

impl Stages {
    /// Reads all agents' metrics.
    pub(super) async fn read(fleet: &Fleet, agents: &Agents) -> Result<Self> {
        let mut stages = Self::default();
        for agent in fleet.agents() {
            stages.add(&agents.metrics(agent).await?);
        }
        Ok(stages)
    }

    /// Mean milliseconds of each stage since `before`, and how often it ran.
    pub(super) fn since(&self, before: &Self) -> Vec<(String, f64, f64)> {
        let mut means = Vec::new();
        for (stage, (sum, count)) in &self.0 {
            let (sum_before, count_before) = before.0.get(stage).copied().unwrap_or_default();
            let ran = count - count_before;
            if ran > 0.0 {
                means.push((stage.clone(), (sum - sum_before) / ran * 1e3, ran));
            }
        }
        means
    }

    fn add(&mut self, text: &str) {
        for line in text.lines().filter_map(|line| line.strip_prefix(NAME)) {
            let Some((series, value)) = line.rsplit_once(' ') else { continue };
            let stage = series.split("stage=\"").nth(1).and_then(|rest| rest.split('"').next());
            let (Some(stage), Ok(value)) = (stage, value.parse::<f64>()) else { continue };
            let entry = self.0.entry(stage.to_owned()).or_default();
            if series.starts_with("_sum") {
                entry.0 += value;
            } else if series.starts_with("_count") {
                entry.1 += value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_those_of_the_time_between() {
        let text = |sum: f64, count: u32| {
            format!(
                "# TYPE {NAME} histogram\n{NAME}_bucket{{stage=\"export\",le=\"0.1\"}} {count}\n\
                 {NAME}_sum{{stage=\"export\"}} {sum}\n{NAME}_count{{stage=\"export\"}} {count}\n"
            )
        };
        let (mut before, mut after) = (Stages::default(), Stages::default());
        before.add(&text(1.0, 10));
        after.add(&text(1.5, 110));
        let means = after.since(&before);
        assert_eq!(means.len(), 1);
        let (stage, millis, ran) = &means[0];
        assert_eq!((stage.as_str(), *ran), ("export", 100.0));
        assert!((millis - 5.0).abs() < 1e-9);
    }
}
