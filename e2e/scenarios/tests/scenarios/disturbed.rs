//! A fleet whose agents reach the API servers through proxies that see, and can disturb, each request.

use std::time::Duration;

use anyhow::{Context, Result};
use fleet_oracle::mirror::Mirror;
use fleet_testbed::agents::{AgentOptions, Agents};
use fleet_testbed::fault_proxy::{Link, Links};

use crate::stage::{Stage, agent_options};

/// The stage with agents of its own in the place of the others.
pub(crate) struct Disturbed<'a> {
    // Dropped first: agents without servers only complain.
    pub(crate) agents: Agents,
    pub(crate) links: Links,
    pub(crate) mirror: Mirror,
    pub(crate) stage: &'a Stage,
}

impl<'a> Disturbed<'a> {
    /// Stops the stage's agents and starts others that take the ways of proxies. The stage's come back with
    /// [`Stage::restore`].
    pub(crate) async fn start(stage: &'a Stage, others: &mut Agents) -> Result<Self> {
        Self::start_with(stage, others, agent_options()).await
    }

    /// [`Self::start`] with agents of these options.
    pub(crate) async fn start_with(
        stage: &'a Stage,
        others: &mut Agents,
        options: AgentOptions,
    ) -> Result<Self> {
        for agent in stage.fleet().agents() {
            others.stop(agent).await?;
        }
        let links = Links::of(stage).await?;
        let options = links.agent_options(stage, options)?;
        let agents = Agents::start(stage, &options).await.context("start the agents")?;
        let mirror = Mirror::start(stage).await?;
        Ok(Self { agents, links, mirror, stage })
    }

    /// SIGKILL for the agent of a link, and a new start that is not waited for.
    pub(crate) fn kill(&mut self, link: Link) -> Result<()> {
        self.agents.kill(link.agent)?;
        self.agents.launch(link.agent)
    }

    /// Waits until the agents write nothing for so long.
    pub(crate) async fn quiet(&self, quiet: Duration) -> Result<()> {
        self.links.wait_quiet(quiet, crate::stage::DEADLINE).await
    }
}
