//! A hub and its members, joined and with credentials for their agents; from a testbed or from existing clusters.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use futures::future::try_join_all;

use crate::agent::Agent;
use crate::cluster::Cluster;
use crate::description::{AgentDescription, ClusterDescription, Description};
use crate::join;
use crate::pod::{self, Container};
use crate::state::RunDir;

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
    access: BTreeMap<Agent, Access>,
    // Last, so that the folder goes after the servers that write into it.
    run: Arc<RunDir>,
}

/// What an agent is started with.
#[derive(Debug, Default)]
struct Access {
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
}

impl Fleet {
    /// A fleet of existing clusters. Where the charts are installed in them, the agents are started with the arguments,
    /// variables and credentials that the charts give them. Otherwise the clusters are set up like those of a testbed:
    /// CRDs, namespaces, service accounts and tokens.
    ///
    /// No agents may run in them unless the test is about those.
    pub async fn connect(existing: &ExistingClusters) -> Result<Self> {
        let hub = Cluster::connect("hub", &existing.hub).await?;
        let members = existing.members.iter();
        let members =
            try_join_all(members.map(|(name, path)| Cluster::connect(name, path))).await?;
        let run = Arc::new(RunDir::create(&format!("existing-{}", std::process::id()))?);
        if charts_are_installed(&hub, &members).await? {
            return Self::installed(hub, members, run).await;
        }
        join::install_hub_crds(&hub).await?;
        try_join_all(members.iter().map(join::install_member_crds)).await?;
        Self::join(hub, members, run).await
    }

    /// Clusters with charts in them.
    async fn installed(hub: Cluster, members: Vec<Cluster>, run: Arc<RunDir>) -> Result<Self> {
        let mut fleet = Self { hub, members, access: BTreeMap::new(), run };
        for agent in fleet.agents() {
            let folder = fleet.run.folder(&format!("agents/{}", fleet.agent_name(agent)))?;
            let container = Container::prepare(fleet.cluster_of(agent), agent.program(), &folder);
            let Container { arguments, environment, .. } = container.await?;
            fleet.access.insert(agent, Access { arguments, environment });
        }
        Ok(fleet)
    }

    /// Clusters that the caller installs and joins, and starts the agents of.
    pub(crate) fn installed_by_caller(
        hub: Cluster,
        members: Vec<Cluster>,
        run: Arc<RunDir>,
    ) -> Self {
        Self { hub, members, access: BTreeMap::new(), run }
    }

    /// Joins clusters that have their CRDs.
    pub(crate) async fn join(
        hub: Cluster,
        members: Vec<Cluster>,
        run: Arc<RunDir>,
    ) -> Result<Self> {
        let folder = run.folder("agents")?;
        let of_hub = join::prepare_hub(&hub, &folder).await.context("prepare the hub")?;
        let of_hub = vec![("KUBECONFIG".to_owned(), of_hub.kubeconfig.display().to_string())];
        let of_members = try_join_all(members.iter().map(async |member| {
            let joined = join::join_member(&hub, member, &folder).await;
            let joined = joined.with_context(|| format!("join {}", member.name()))?;
            anyhow::Ok(join::member_environment(&hub, member, &joined))
        }));
        let of_members = of_members.await?.into_iter().enumerate();
        let environments = of_members.map(|(position, own)| (Agent::Member(position), own));
        let access = environments
            .chain([(Agent::Hub, of_hub)])
            .map(|(agent, environment)| (agent, Access { environment, ..Access::default() }));
        Ok(Self { access: access.collect(), hub, members, run })
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

    /// The cluster that an agent runs in.
    pub fn cluster_of(&self, agent: Agent) -> &Cluster {
        match agent {
            Agent::Hub => &self.hub,
            Agent::Member(position) => self.member(position),
        }
    }

    /// The environment that an agent is started with: the original's variables, the agent's own credentials.
    pub fn agent_env(&self, agent: Agent) -> Vec<(String, String)> {
        self.access.get(&agent).map(|access| access.environment.clone()).unwrap_or_default()
    }

    /// The arguments that the chart gives an agent, if there is one.
    pub fn agent_arguments(&self, agent: Agent) -> &[String] {
        self.access.get(&agent).map_or(&[], |access| &access.arguments)
    }

    /// The file with a member's bearer token for the hub, which its agent re-reads.
    ///
    /// # Panics
    /// If there is no such member.
    pub fn hub_token_path(&self, member: usize) -> &Path {
        let environment = &self.access[&Agent::Member(member)].environment;
        let path = environment.iter().find(|(name, _)| name == "CONFIG_PATH");
        Path::new(path.map_or("", |(_, path)| path))
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

    /// The folder of its run: logs, audit logs, records.
    pub fn run(&self) -> &Arc<RunDir> {
        &self.run
    }
}

/// Whether the hub and all members have their charts; an error if only some of them have.
async fn charts_are_installed(hub: &Cluster, members: &[Cluster]) -> Result<bool> {
    let of_members = members.iter().map(|member| (member, Agent::Member(0)));
    let clusters = of_members.chain([(hub, Agent::Hub)]);
    let found = try_join_all(clusters.map(async |(cluster, agent)| {
        let installed = pod::is_deployed(cluster, agent.program()).await?;
        anyhow::Ok((cluster.name(), installed))
    }));
    let (with, without): (Vec<_>, Vec<_>) =
        found.await?.into_iter().partition(|(_, installed)| *installed);
    if let ([(with, _), ..], [(without, _), ..]) = (&with[..], &without[..]) {
        bail!(
            "the chart is installed in {with} and not in {without}; install it in all clusters or in none"
        );
    }
    Ok(without.is_empty())
}

/// Clusters of another owner, by the kubeconfigs of their admins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExistingClusters {
    /// The hub's kubeconfig.
    pub hub: PathBuf,
    /// The members' names in the fleet and their kubeconfigs.
    pub members: Vec<(String, PathBuf)>,
}

/// The clusters that the environment names, if it names any.
pub(crate) fn existing_clusters(
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
