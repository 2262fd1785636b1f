//! A fleet of whole clusters: a hub, and members with nodes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use fleet_testbed::fleet::Fleet;
use fleet_testbed::multicluster;
use fleet_testbed::state::RunDir;
use fleet_testbed::{Options, Testbed};
use futures::future::try_join_all;
use serde_json::Value;

use crate::dns::{self, Zones};
use crate::limits;
use crate::network::Network;
use crate::node::{Node, ProxyMode};
use crate::pods::Shell;
use crate::programs::Programs;
use crate::requirements;
use crate::usage::Usage;

/// A hub without nodes, and members with one node each, whose Pods reach each other. Dropping it stops and removes all.
#[derive(Debug)]
pub struct WholeFleet {
    // In the order in which they end: nodes, control planes, network, its files.
    nodes: Vec<Node>,
    fleet: Testbed,
    network: Network,
    network_run: Arc<RunDir>,
    programs: Programs,
    started_in: Duration,
}

impl WholeFleet {
    /// Finds or builds the programs and starts everything. The time counts from when the programs are there.
    ///
    /// # Errors
    /// If this machine [cannot run nodes](requirements::missing).
    pub async fn start(members: usize, mode: ProxyMode) -> Result<Self> {
        if let Some(missing) = requirements::missing() {
            bail!("{missing}");
        }
        let programs = tokio::task::spawn_blocking(Programs::ensure).await??;
        tokio::task::spawn_blocking(fleet_testbed::binaries::Binaries::ensure).await??;
        limits::raise()?;
        let begin = Instant::now();
        let network_run = Arc::new(RunDir::create(&format!("nodes-{}", std::process::id()))?);
        let mut network = Network::claim()?;
        network.connect(&network_run.folder("network")?, &network_run).await?;
        let options = Options::members(members).without_audit().with_nodes(network.access());
        let fleet = Box::pin(Testbed::start(options)).await?;
        let nodes = Box::pin(start_nodes(&fleet, &network, mode, &programs)).await;
        let nodes =
            nodes.with_context(|| format!("logs are in {}", fleet.run().keep_logs().display()))?;
        let started_in = begin.elapsed();
        Ok(Self { nodes, fleet, network, network_run, programs, started_in })
    }

    /// The fleet, joined, without agents.
    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// The node of a member, counted from 0.
    pub fn node(&self, member: usize) -> &Node {
        &self.nodes[member]
    }

    /// The node of a member, by the member's name.
    pub fn node_of(&self, member: &str) -> Result<&Node> {
        let position = self.fleet.members().iter().position(|one| one.name() == member);
        position.map(|at| &self.nodes[at]).with_context(|| format!("no member {member}"))
    }

    /// A folder of the run.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        self.network_run.folder(name)
    }

    /// Name of the machine's link to the nodes.
    pub fn link(&self) -> String {
        self.network.link()
    }

    /// How long the start took, until DNS answered in every member.
    pub fn started_in(&self) -> Duration {
        self.started_in
    }

    /// What a check has found; in an error with where logs and objects are.
    pub async fn explain<T>(&self, found: Result<T>) -> Result<T> {
        self.fleet.explain(found).await
    }

    /// Memory of all programs of the fleet, and of what they have written.
    pub fn usage(&self) -> Result<Usage> {
        Usage::of_this_run(&[self.fleet.run_path(), self.network_run.path()])
    }

    /// Changes what the DNS of all members answers for.
    pub async fn set_zones(&self, zones: Zones) -> Result<()> {
        try_join_all(self.fleet.members().iter().map(|member| dns::install(member, zones))).await?;
        Ok(())
    }

    /// Makes a clusterset of the members: what the standard API needs is installed as the charts bring it, and DNS answers
    /// for `clusterset.local`.
    pub async fn serve_clusterset(&self) -> Result<()> {
        multicluster::prepare(&self.fleet).await?;
        self.set_zones(Zones::Clusterset).await
    }

    /// Starts a Pod in a member, for commands.
    pub async fn shell(&self, member: usize, namespace: &str, name: &str) -> Result<Shell> {
        let kubectl = self.programs.kubectl.clone();
        Shell::start(self.fleet.member(member), kubectl, namespace, name).await
    }

    /// The same with a container of the caller's.
    pub async fn shell_in(
        &self,
        member: usize,
        (namespace, name): (&str, &str),
        container: Value,
    ) -> Result<Shell> {
        let kubectl = self.programs.kubectl.clone();
        let cluster = self.fleet.member(member);
        Shell::start_in(cluster, kubectl, (namespace, name), container).await
    }

    /// An error with the end of its log if a program has ended by itself.
    pub async fn check_alive(&mut self) -> Result<()> {
        self.nodes.iter_mut().try_for_each(Node::check_alive)?;
        self.fleet.check_alive().await
    }
}

impl Drop for WholeFleet {
    fn drop(&mut self) {
        // All at once, since each takes a moment.
        std::thread::scope(|scope| {
            for node in self.nodes.drain(..) {
                scope.spawn(move || drop(node));
            }
        });
    }
}

async fn start_nodes(
    fleet: &Fleet,
    network: &Network,
    mode: ProxyMode,
    programs: &Programs,
) -> Result<Vec<Node>> {
    let numbered = (0_u8..).zip(fleet.members());
    let nodes = try_join_all(numbered.map(async |(number, member)| {
        let node = Node::start(member, network, number, mode, programs, fleet.run()).await;
        let node = node.with_context(|| format!("start the node of {}", member.name()))?;
        dns::install(member, Zones::Cluster).await?;
        anyhow::Ok(node)
    }))
    .await?;
    for node in &nodes {
        let others = nodes.iter().filter(|other| other.name() != node.name());
        try_join_all(others.map(|other| node.route_to(other.addresses()))).await?;
    }
    Ok(nodes)
}
