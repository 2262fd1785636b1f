//! The ways of the members of a fleet to its hub, each through a proxy: long, cut, or silent.

use anyhow::Result;
use futures::future::try_join_all;

use crate::agent::Agent;
use crate::agents::AgentOptions;
use crate::fleet::Fleet;
use crate::proxy::Proxy;

/// A proxy on the way of each member to the hub.
#[derive(Debug)]
pub struct HubWays(Vec<Proxy>);

impl HubWays {
    /// Starts them.
    pub async fn of(fleet: &Fleet) -> Result<Self> {
        let url = fleet.hub().server_url();
        let ways = fleet.members().iter().map(async |_| Proxy::to(&url).await);
        Ok(Self(try_join_all(ways).await?))
    }

    /// How agents are started that take these ways.
    #[must_use]
    pub fn taken_by(&self, mut options: AgentOptions) -> AgentOptions {
        for (member, way) in self.0.iter().enumerate() {
            let variables = options.of_agents.entry(Agent::Member(member)).or_default();
            variables.push(("HUB_SERVER_URL".to_owned(), way.url()));
        }
        options
    }

    /// The way of a member, counted from 0.
    ///
    /// # Panics
    /// If there is no such member.
    pub fn of_member(&self, member: usize) -> &Proxy {
        &self.0[member]
    }

    /// All of them, in the order of the members.
    pub fn iter(&self) -> impl Iterator<Item = &Proxy> {
        self.0.iter()
    }
}
