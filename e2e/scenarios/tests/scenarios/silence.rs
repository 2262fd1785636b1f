//! At rest the agents write nothing but leases and heartbeats.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use fleet_testbed::agents::Agents;
use fleet_testbed::audit::WriteMeter;

use crate::stage::{DEADLINE, IMPORTER, SECOND_IMPORTER, Stage};
use crate::tests::Tests;

/// Longer than anything that agents put off: five seconds for the message of an import whose endpoints came late, which is so
/// where the processors are busy.
const SETTLED: Duration = Duration::from_secs(6);
/// Longer than a plan takes.
const QUIET: Duration = Duration::from_secs(2);
/// How long nothing may be written.
const REST: Duration = Duration::from_mins(1);
const SERVICES: usize = 5;

pub(crate) fn add_first(tests: &mut Tests) {
    if on_own_testbed() {
        tests.throughout("silence::at_rest_nothing_is_written", at_rest_nothing_is_written);
    }
}

pub(crate) fn add_alone(tests: &mut Tests) {
    if on_own_testbed() {
        tests.alone("silence::a_restart_writes_nothing", a_restart_writes_nothing);
    }
}

/// Existing clusters do not show their audit logs.
fn on_own_testbed() -> bool {
    std::env::var_os(fleet_testbed::fleet::HUB_KUBECONFIG).is_none()
}

/// Services that the other scenarios do not touch, whatever these do to agents and servers in this minute.
async fn at_rest_nothing_is_written(stage: &Stage) -> Result<()> {
    let _all_stay = stage.everybody().read().await;
    let namespace = stage.namespace("rest").await?;
    let mut meter = WriteMeter::start(stage)?.about(&namespace);
    for number in 0..SERVICES {
        let importers = [IMPORTER, SECOND_IMPORTER];
        stage.crossing_in(&namespace, &format!("web-{number}"), &importers).await?;
    }
    meter.wait_quiet(SETTLED, DEADLINE).await?;
    let exchanged = meter.take()?;
    ensure!(exchanged.done() >= SERVICES * 17, "the meter does not see the exchange: {exchanged}");

    // The one wait for time to pass: the absence of writes has no end that could be awaited.
    let begin = Instant::now();
    while begin.elapsed() < REST {
        let counts = meter.counts()?;
        ensure!(counts.done() + counts.refused() + counts.failed() == 0, "{counts}");
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    Ok(())
}

/// An agent that comes back finds everything as it has to be.
async fn a_restart_writes_nothing(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let namespace = stage.namespace("restart").await?;
    let mut crossings = Vec::new();
    for number in 0..SERVICES {
        let (name, importers) = (format!("web-{number}"), [IMPORTER, SECOND_IMPORTER]);
        crossings.push(stage.crossing_in(&namespace, &name, &importers).await?);
    }
    let mut meter = WriteMeter::start(stage)?;
    meter.wait_quiet(SETTLED, DEADLINE).await?;
    meter.take()?;
    for agent in stage.fleet().agents() {
        agents.restart(agent).await?;
        meter.wait_quiet(QUIET, DEADLINE).await?;
        let counts = meter.counts()?;
        let name = stage.agent_name(agent);
        ensure!(counts.done() + counts.refused() + counts.failed() == 0, "{name}: {counts}");
    }
    // All of them at once, too; and they are awake.
    for agent in stage.fleet().agents() {
        agents.kill(agent)?;
    }
    for agent in stage.fleet().agents() {
        agents.launch(agent)?;
    }
    agents.wait_ready().await?;
    meter.wait_quiet(QUIET, DEADLINE).await?;
    let counts = meter.take()?;
    ensure!(counts.done() + counts.refused() + counts.failed() == 0, "all at once: {counts}");
    for crossing in &mut crossings {
        crossing.change(2).await?;
    }
    for crossing in &crossings {
        crossing.arrived().await?;
    }
    meter.wait_quiet(QUIET, DEADLINE).await?;
    let counts = meter.take()?;
    ensure!(counts.done() == SERVICES * 5, "{counts}");
    Ok(())
}
