//! How agents end when they are asked to.

use anyhow::{Context, Result, ensure};
use fleet_testbed::agents::{Agent, Agents};

use crate::stage::{EXPORTER, IMPORTER, Stage};
use crate::tests::Tests;

pub(crate) fn add(tests: &mut Tests) {
    tests.alone("termination::sigterm_ends_with_success", sigterm_ends_with_success);
}

/// In the middle of work: what was begun is finished or left to the successor.
async fn sigterm_ends_with_success(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let namespace = stage.namespace("term").await?;
    let mut crossings = Vec::new();
    for number in 0..5 {
        crossings.push(stage.crossing_in(&namespace, &format!("web-{number}"), &[IMPORTER]).await?);
    }
    for agent in [Agent::Hub, Agent::Member(EXPORTER), Agent::Member(IMPORTER)] {
        for crossing in &mut crossings {
            crossing.change(2).await?;
        }
        let name = stage.agent_name(agent);
        let status = agents.terminate(agent).await?;
        ensure!(status.success(), "{name} ended with {status}");
        let log = std::fs::read_to_string(agents.log(agent)?)?;
        let last = log.lines().last().unwrap_or_default();
        ensure!(last.contains("Stopped"), "the last line of {name}: {last}");
        agents.launch(agent)?;
        for crossing in &crossings {
            crossing.arrived().await.with_context(|| format!("after a restart of {name}"))?;
        }
    }
    for crossing in crossings {
        crossing.end().await?;
    }
    stage.nothing_left(&namespace).await
}
