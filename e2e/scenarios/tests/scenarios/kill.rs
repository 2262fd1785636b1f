//! Agents are killed in the middle of a burst, again and again.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::observer::Observer;
use futures::future::try_join_all;

use crate::stage::{Crossing, EXPORTER, IMPORTER, SECOND_IMPORTER, Stage};
use crate::tests::Tests;
use fleet_testbed::random::{Random, SEED};

const SERVICES: usize = 20;
const ROUNDS: usize = 6;
/// About as many events as one round brings; the kill comes after a random number of them.
const EVENTS_OF_A_BURST: usize = SERVICES * 30;
const EVENTS_OF_A_WITHDRAWAL: usize = SERVICES * 20;

pub(crate) fn add(tests: &mut Tests) {
    tests.alone("kill::bursts_survive_a_killed_agent", bursts_survive_a_killed_agent);
}

async fn bursts_survive_a_killed_agent(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let (mut random, seed) = Random::from_env();
    for round in 0..ROUNDS {
        let begin = Instant::now();
        let what = round_of_bursts(stage, agents, round, &mut random).await;
        let what = what.with_context(|| format!("round {round} of {SEED}={seed}"))?;
        eprintln!("round {round} of {SEED}={seed}: {what}, {:.1?}", begin.elapsed());
    }
    Ok(())
}

/// Who is killed in a round; each several times.
fn victim(number: usize) -> Agent {
    match number % 3 {
        0 => Agent::Hub,
        1 => Agent::Member(EXPORTER),
        _ => Agent::Member(IMPORTER),
    }
}

async fn round_of_bursts(
    stage: &Stage,
    agents: &mut Agents,
    round: usize,
    random: &mut Random,
) -> Result<String> {
    let namespace = stage.namespace("kill").await?;
    let mut told = Vec::new();

    // Everything at once: exports, imports by two members, and changes while these are under way.
    let (first, after) = (victim(round), random.below(EVENTS_OF_A_BURST));
    let burst = async {
        let importers = [IMPORTER, SECOND_IMPORTER];
        let names: Vec<String> = (0..SERVICES).map(|number| format!("web-{number}")).collect();
        let crossings = names.iter().map(|name| stage.departing(&namespace, name, &importers));
        let mut crossings = try_join_all(crossings).await?;
        for count in [2, 1, 3] {
            try_join_all(crossings.iter_mut().map(|crossing| crossing.change(count))).await?;
        }
        anyhow::Ok(crossings)
    };
    let (crossings, told_first) = disturbed(stage, agents, first, after, burst).await?;
    told.push(told_first);
    try_join_all(crossings.iter().map(Crossing::arrived)).await.context("after the burst")?;
    agents.check_alive()?;

    // And the way back.
    let (second, after) = (victim(round / 3 + round), random.below(EVENTS_OF_A_WITHDRAWAL));
    let burst = async {
        try_join_all(crossings.into_iter().map(Crossing::end)).await?;
        anyhow::Ok(())
    };
    let ((), told_second) = disturbed(stage, agents, second, after, burst).await?;
    told.push(told_second);
    stage.nothing_left(&namespace).await.context("after the withdrawal")?;
    agents.check_alive()?;
    Ok(told.join(", "))
}

/// Does something, kills an agent after so many events of it (or at its end, if there are less), and starts it again.
async fn disturbed<T>(
    stage: &Stage,
    agents: &mut Agents,
    victim: Agent,
    after: usize,
    something: impl Future<Output = Result<T>>,
) -> Result<(T, String)> {
    let mut observer = Observer::start(stage).await?;
    let mut something = std::pin::pin!(something);
    let mut done = None;
    let mut seen = 0;
    while seen < after && done.is_none() {
        tokio::select! {
            result = &mut something => done = Some(result?),
            event = observer.next() => { event?; seen += 1; }
        }
    }
    agents.kill(victim)?;
    agents.launch(victim)?;
    let done = match done {
        Some(done) => done,
        None => something.await?,
    };
    ensure!(agents.pid(victim).is_some(), "{} does not run", stage.agent_name(victim));
    Ok((done, format!("{} after {seen} events", stage.agent_name(victim))))
}
