//! A hub and its members, joined and with credentials for their agents; from a testbed or from existing clusters.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use futures::future::try_join_all;

use crate::testbed::agents::Agent;
use crate::testbed::cluster::Cluster;
use crate::testbed::description::{AgentDescription, ClusterDescription, Description};
use crate::testbed::join::{self, HubAccess, MemberAccess};
use crate::testbed::state::RunDir;
use crate::testbed::{Options, Testbed};

/// Kubeconfig of an existing hub; with [`MEMBER_KUBECONFIGS`] it replaces the testbed.
pub const HUB_KUBECONFIG: &str = "FLEET_HUB_KUBECONFIG";
/// Comma-separated kubeconfigs of existing members.
pub const MEMBER_KUBECONFIGS: &str = "FLEET_MEMBER_KUBECONFIGS";
/// Comma-separated names of those members; by default `member-1`, `member-2`, ...
pub const MEMBER_NAMES: &str = "FLEET_MEMBER_NAMES";

/// Clusters joined into a fleet. All are reached as admin; each agent has a credential of its own.
#[derive(Debug)]
pub struct Fleet {
    hub: Cluster,
    members: Vec<Cluster>,
    hub_access: HubAccess,
    member_access: Vec<MemberAccess>,
    // Last, so that the folder goes after the servers that write into it.
    run: Arc<RunDir>,
}

impl Fleet {
    /// The clusters that the environment names, else a new testbed.
    pub async fn from_env_or_testbed(options: Options) -> Result<Self> {
        let Some(mut existing) = existing_clusters(|name| std::env::var(name).ok())? else {
            return Ok(Testbed::start(options).await?.into());
        };
        if existing.members.len() < options.members {
            let (wanted, there) = (options.members, existing.members.len());
            bail!("{wanted} members are needed; {MEMBER_KUBECONFIGS} names {there}");
        }
        existing.members.truncate(options.members);
        Self::connect(&existing).await
    }

    /// Joins existing clusters, set up like those of a testbed: CRDs, namespaces, service accounts and tokens.
    ///
    /// They must not run fleet agents of their own unless the test is about those.
    pub async fn connect(existing: &ExistingClusters) -> Result<Self> {
        let hub = Cluster::connect("hub", &existing.hub).await?;
        let members = existing.members.iter();
        let members =
            try_join_all(members.map(|(name, path)| Cluster::connect(name, path))).await?;
        join::install_hub_crds(&hub).await?;
        try_join_all(members.iter().map(join::install_member_crds)).await?;
        let run = Arc::new(RunDir::create(&format!("existing-{}", std::process::id()))?);
        Self::join(hub, members, run).await
    }

    /// Joins clusters that have their CRDs.
    pub(crate) async fn join(
        hub: Cluster,
        members: Vec<Cluster>,
        run: Arc<RunDir>,
    ) -> Result<Self> {
        let folder = run.folder("agents")?;
        let hub_access = join::prepare_hub(&hub, &folder).await.context("prepare the hub")?;
        let member_access = try_join_all(members.iter().map(async |member| {
            join::join_member(&hub, member, &folder)
                .await
                .with_context(|| format!("join {}", member.name()))
        }))
        .await?;
        Ok(Self { hub, members, hub_access, member_access, run })
    }

    /// The hub.
    pub fn hub(&self) -> &Cluster {
        &self.hub
    }

    /// All members.
    pub fn members(&self) -> &[Cluster] {
        &self.members
    }

    /// A member by position, from 0.
    ///
    /// # Panics
    /// If there are fewer members.
    pub fn member(&self, position: usize) -> &Cluster {
        &self.members[position]
    }

    /// The hub and all members.
    pub fn clusters(&self) -> impl Iterator<Item = &Cluster> {
        std::iter::once(&self.hub).chain(&self.members)
    }

    /// Every agent of the fleet.
    pub fn agents(&self) -> Vec<Agent> {
        std::iter::once(Agent::Hub).chain((0..self.members.len()).map(Agent::Member)).collect()
    }

    /// `hub-agent`, or `<member>-agent`.
    pub fn agent_name(&self, agent: Agent) -> String {
        match agent {
            Agent::Hub => "hub-agent".to_owned(),
            Agent::Member(position) => format!("{}-agent", self.member(position).name()),
        }
    }

    /// The environment that an agent is started with: the original's variables, the agent's own credentials.
    pub fn agent_env(&self, agent: Agent) -> Vec<(String, String)> {
        match agent {
            Agent::Hub => {
                vec![("KUBECONFIG".to_owned(), self.hub_access.kubeconfig.display().to_string())]
            }
            Agent::Member(position) => join::member_environment(
                &self.hub,
                self.member(position),
                &self.member_access[position],
            ),
        }
    }

    /// The file with a member's bearer token for the hub, which its agent re-reads.
    pub fn hub_token_path(&self, member: usize) -> &Path {
        &self.member_access[member].hub_token
    }

    /// Makes a user's namespace on the hub and on all members.
    pub async fn user_namespace(&self, name: &str) -> Result<()> {
        try_join_all(self.clusters().map(async |cluster| {
            join::namespace(&cluster.client(), name)
                .await
                .with_context(|| format!("make the namespace {name} in {}", cluster.name()))
        }))
        .await?;
        Ok(())
    }

    /// An error with the end of its log if a server of the testbed has ended by itself.
    pub async fn check_alive(&self) -> Result<()> {
        for plane in self.clusters().filter_map(Cluster::control_plane) {
            plane.check_alive().await?;
        }
        Ok(())
    }

    /// How others can reach the clusters and start the agents.
    pub fn description(&self) -> Description {
        let cluster = |cluster: &Cluster| ClusterDescription {
            name: cluster.name().to_owned(),
            server: cluster.server_url(),
            kubeconfig: cluster.kubeconfig_path().to_owned(),
        };
        let agent = |agent| AgentDescription {
            name: self.agent_name(agent),
            environment: self.agent_env(agent),
        };
        Description {
            folder: self.run_path().to_owned(),
            clusters: self.clusters().map(cluster).collect(),
            agents: self.agents().into_iter().map(agent).collect(),
        }
    }

    /// The folder of this run, with every log; it goes when the fleet is dropped.
    pub fn run_path(&self) -> &Path {
        self.run.path()
    }

    pub(crate) fn run(&self) -> &Arc<RunDir> {
        &self.run
    }
}

/// Clusters that somebody else runs, by the kubeconfigs of their admins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExistingClusters {
    /// The hub's kubeconfig.
    pub hub: PathBuf,
    /// The members' names in the fleet and their kubeconfigs.
    pub members: Vec<(String, PathBuf)>,
}

fn existing_clusters(
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<ExistingClusters>> {
    let variable = |name| variable(name).filter(|value| !value.is_empty());
    let (hub, members) = match (variable(HUB_KUBECONFIG), variable(MEMBER_KUBECONFIGS)) {
        (None, None) => return Ok(None),
        (Some(hub), Some(members)) => (hub, members),
        _ => bail!("{HUB_KUBECONFIG} and {MEMBER_KUBECONFIGS} go together; only one is set"),
    };
    let paths: Vec<PathBuf> = split(&members).map(PathBuf::from).collect();
    let names: Vec<String> = match variable(MEMBER_NAMES) {
        Some(names) => split(&names).map(str::to_owned).collect(),
        None => (1..=paths.len()).map(|number| format!("member-{number}")).collect(),
    };
    if names.len() != paths.len() {
        bail!("{MEMBER_NAMES} has {} names for {} members", names.len(), paths.len());
    }
    let members = names.into_iter().zip(paths).collect();
    Ok(Some(ExistingClusters { hub: PathBuf::from(hub), members }))
}

fn split(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn existing(variables: &[(&str, &str)]) -> Result<Option<ExistingClusters>> {
        existing_clusters(|wanted| {
            let found = variables.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn without_variables_a_testbed_is_used() {
        assert_eq!(existing(&[]).unwrap(), None);
        assert_eq!(existing(&[(HUB_KUBECONFIG, "")]).unwrap(), None);
    }

    #[test]
    fn members_are_numbered_or_named() {
        let files = [(HUB_KUBECONFIG, "/h"), (MEMBER_KUBECONFIGS, "/a, /b")];
        let numbered = existing(&files).unwrap().unwrap();
        assert_eq!(numbered.members[1], ("member-2".to_owned(), PathBuf::from("/b")));
        let named = existing(&[&files[..], &[(MEMBER_NAMES, "east,west")]].concat()).unwrap();
        assert_eq!(named.unwrap().members[1].0, "west");
    }

    #[test]
    fn half_a_fleet_is_refused() {
        assert!(existing(&[(HUB_KUBECONFIG, "/h")]).is_err());
        let names = [(HUB_KUBECONFIG, "/h"), (MEMBER_KUBECONFIGS, "/a"), (MEMBER_NAMES, "x,y")];
        assert!(existing(&names).is_err());
    }
}
