//! Two of each agent work at once, as in an update that overlaps, or without election.

use anyhow::{Context, Result, ensure};
use fleet_oracle::history::DOUBLES;
use fleet_testbed::agents::Agents;

use crate::disturbed::Disturbed;
use crate::stage::{DEADLINE, Stage, agent_options};
use crate::story::{ACTS, Act, Story};
use crate::tests::Tests;

const STORIES: usize = 12;

pub(crate) fn add(tests: &mut Tests) {
    if std::env::var_os(fleet_testbed::fleet::HUB_KUBECONFIG).is_some() {
        return; // The proxy shows certificates of the testbed.
    }
    tests.apart("doubles::two_of_each_agent_come_to_the_same", two_of_each_agent);
}

/// F38: what they come to is what one alone comes to; who is late finds it done. Only while things go may one make
/// again what the other, whose view is newer, has removed; it goes as well.
async fn two_of_each_agent(stage: &Stage, others: &mut Agents) -> Result<()> {
    let mut fleet = Disturbed::start(stage, others).await?;
    let mut story = Story::learn(&mut fleet, "doubles").await?;
    let options = fleet.links.agent_options(stage, agent_options())?;
    let mut second = Agents::start(stage, &options).await.context("the second of each")?;
    stage.mark(DOUBLES[0]);
    let names: Vec<String> = (0..STORIES).map(|_| story.name()).collect();
    for act in ACTS {
        if act == Act::Unexport {
            names.iter().try_for_each(|name| story.made_once(&fleet, name))?;
        }
        story.perform_all(stage, &names, act).await?;
        story.comes_out(&mut fleet, &names, act, DEADLINE).await?;
    }
    for name in &names {
        // The later one is answered that it is done, or that its view is old.
        let failed = fleet
            .links
            .work(name)
            .into_iter()
            .find(|(_, entry)| entry.server.is_some_and(|code| code.is_server_error()));
        ensure!(failed.is_none(), "{name}: {failed:?}");
    }
    second.check_alive()?;
    story.end(&mut fleet, &names).await?;
    drop(second);
    stage.mark(DOUBLES[1]);
    Ok(())
}
