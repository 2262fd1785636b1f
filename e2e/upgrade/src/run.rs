//! The whole run.

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fleet_oracle::Recording;
use fleet_oracle::recorder::{Recorder, keep};
use fleet_testbed::agents::Agent;
use fleet_testbed::audit::WriteMeter;
use fleet_testbed::edition::Edition;
use fleet_testbed::fleet::Fleet;
use fleet_testbed::released::released;
use tokio::task::spawn_blocking;

use crate::charts::Charts;
use crate::gomade::GoMade;
use crate::install::install;
use crate::judge::Run;
use crate::members::DEADLINE;
use crate::part::{Direction, EAST, WEST, rolls};
use crate::pods::{Pods, Strategy};
use crate::quotas;
use crate::roll::Rollout;
use crate::services::Services;
use crate::settled::wait_settled;
use crate::step::now;

/// How long nothing is written before the first step and after the last: long enough for the oracle to call it
/// quiescent.
const CALM: Duration = Duration::from_secs(3);

/// Rolls a fleet there and back in this many orders.
pub(crate) async fn run(count: usize, report: Option<&Path>) -> Result<()> {
    let old = spawn_blocking(released).await??;
    let new = Edition::current()?;
    let begin = Instant::now();
    let charts = Charts::new().await?;
    let fleet = install(&charts, &old).await?;
    let recorder = Recorder::start(&fleet).await?;
    eprintln!("A fleet of {} is to be upgraded to {} and rolled back", old.name, new.name);
    let rolled = roll_all((&fleet, &charts), &recorder, (&old, &new), count).await;
    recorder.stop().await?;
    let run = fleet.explain(rolled).await?;
    let recording = Recording::read(fleet.run_path())?;
    let verdict = run.judge(recording);
    let text = format!("{verdict}\nIn {} s.", begin.elapsed().as_secs());
    writeln!(std::io::stdout(), "{text}")?;
    if let Some(path) = report {
        std::fs::write(path, text).with_context(|| format!("write {}", path.display()))?;
    }
    let result = verdict.result();
    if result.is_err() {
        let target = fleet.run().keep_logs();
        keep(fleet.run_path(), &target)?;
        eprintln!("The record is kept in {}", target.display());
    }
    fleet.explain(result).await
}

async fn roll_all(
    (fleet, charts): (&Fleet, &Charts),
    recorder: &Recorder,
    (old, new): (&Edition, &Edition),
    count: usize,
) -> Result<Run> {
    // No agent runs meanwhile, so that nothing follows from what is half made.
    recorder.mark("begin start");
    let go_made = GoMade::make(fleet).await?;
    let mut meter = WriteMeter::start(fleet)?;
    let mut pods = Pods::default();
    let agents = [Agent::Hub, Agent::Member(EAST), Agent::Member(WEST)];
    let agents = agents.map(|agent| (agent, old));
    pods.replace(fleet, &agents, Strategy::Recreate).await?;
    recorder.mark("end start");
    meter.wait_quiet(CALM, DEADLINE).await?;
    let adoption = meter.take()?;
    eprintln!("What Go agents have made is adopted with {} writes", adoption.done());
    let services = Services::deploy(fleet).await?;
    wait_settled(fleet, &services).await?;
    quotas::limit(fleet.hub()).await?;
    meter.wait_quiet(CALM, DEADLINE).await?;

    let begin = now();
    let mut rollout = Rollout::new((fleet, charts), (old, new), pods, services, go_made);
    let rolls: Vec<_> = rolls().into_iter().take(count).collect();
    for (number, [there, back]) in rolls.iter().enumerate() {
        let started = Instant::now();
        let strategies = [Strategy::RollingUpdate, Strategy::Recreate];
        let strategy = strategies[number % strategies.len()];
        rollout.roll(there, Direction::Forward, strategy).await?;
        rollout.roll(back, Direction::Back, strategy).await?;
        eprintln!("[{}/{}] in {:.0?}", number + 1, rolls.len(), started.elapsed());
    }
    meter.wait_quiet(CALM, DEADLINE).await?;
    Ok(Run::of(&rollout, begin))
}
