//! A proxy of its own on every way from an agent to an API server.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures::future::select_all;

use super::log::Entry;
use super::proxy::FaultProxy;
use crate::agents::{Agent, AgentOptions};
use crate::fleet::Fleet;
use crate::kubeconfig;

/// Which API server an agent talks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The hub's.
    Hub,
    /// That of the agent's own cluster; the hub agent's is the hub.
    Own,
}

/// A way from an agent to an API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link {
    /// Who asks.
    pub agent: Agent,
    /// Who is asked.
    pub to: Side,
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { agent: Agent::Hub, .. } => write!(f, "hub-agent to the hub"),
            Self { agent: Agent::Member(member), to: Side::Hub } => {
                write!(f, "agent {member} to the hub")
            }
            Self { agent: Agent::Member(member), to: Side::Own } => {
                write!(f, "agent {member} to its cluster")
            }
        }
    }
}

/// The proxies of all agents of a fleet.
#[derive(Debug)]
pub struct Links(BTreeMap<Link, FaultProxy>);

impl Links {
    /// Starts a proxy per link.
    pub async fn of(fleet: &Fleet) -> Result<Self> {
        let mut links = BTreeMap::new();
        for agent in fleet.agents() {
            let Agent::Member(member) = agent else {
                let link = Link { agent, to: Side::Hub };
                links.insert(link, FaultProxy::to(fleet.hub()).await?);
                continue;
            };
            let own = FaultProxy::to(fleet.member(member)).await?;
            links.insert(Link { agent, to: Side::Own }, own);
            links.insert(Link { agent, to: Side::Hub }, FaultProxy::to(fleet.hub()).await?);
        }
        Ok(Self(links))
    }

    /// How agents are started that take these ways.
    pub fn agent_options(&self, fleet: &Fleet, options: AgentOptions) -> Result<AgentOptions> {
        let mut of_agents = BTreeMap::new();
        for (link, proxy) in &self.0 {
            let environment = fleet.agent_env(link.agent);
            let own = link.to == Side::Own || link.agent == Agent::Hub;
            let variable = if own {
                let (name, path) = environment
                    .iter()
                    .find(|(name, _)| name == "KUBECONFIG")
                    .context("an agent has a kubeconfig")?;
                let through = format!("{path}.through-{}", proxy.port);
                kubeconfig::copy_for(path.as_ref(), through.as_ref(), &proxy.url())?;
                (name.clone(), through)
            } else {
                ("HUB_SERVER_URL".to_owned(), proxy.url())
            };
            of_agents.entry(link.agent).or_insert_with(Vec::new).push(variable);
        }
        Ok(AgentOptions { of_agents, ..options })
    }

    /// The proxy of a link.
    ///
    /// # Panics
    /// If the fleet has no such link.
    pub fn get(&self, link: Link) -> &FaultProxy {
        &self.0[&link]
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (Link, &FaultProxy)> {
        self.0.iter().map(|(link, proxy)| (*link, proxy))
    }

    /// The writes to objects of the fleet that mention `text`, on all links, in order.
    pub fn work(&self, text: &str) -> Vec<(Link, Entry)> {
        let of_link = |(link, proxy): (Link, &FaultProxy)| {
            proxy.log().work(text).into_iter().map(move |entry| (link, entry))
        };
        let mut work: Vec<(Link, Entry)> = self.iter().flat_map(of_link).collect();
        work.sort_by_key(|(_, entry)| entry.at);
        work
    }

    /// Waits until no write to an object of the fleet has been under way anywhere for so long.
    pub async fn wait_quiet(&self, quiet: Duration, deadline: Duration) -> Result<()> {
        let mut changes: Vec<_> = self.0.values().map(|proxy| proxy.log().changes()).collect();
        let begin = Instant::now();
        loop {
            let now = Instant::now();
            let quiet_for = self.0.values().map(|proxy| proxy.log().quiet_for(now)).min();
            let missing = match quiet_for.flatten() {
                Some(already) if already >= quiet => return Ok(()),
                Some(already) => quiet.saturating_sub(already),
                None => quiet,
            };
            if begin.elapsed() > deadline {
                bail!("the agents still write after {deadline:?}");
            }
            let change = select_all(changes.iter_mut().map(|changes| Box::pin(changes.changed())));
            // Either way it is looked at again.
            let _ = tokio::time::timeout(missing, change).await;
        }
    }
}
