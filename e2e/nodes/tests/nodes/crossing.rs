//! Services that the agents carry from one whole cluster to another: names, and real packets.

use anyhow::{Context, Result, ensure};
use fleet_nodes::crossing::{cross, withdraw};
use fleet_nodes::pods::{PORT, Servers, Shell};
use fleet_nodes::whole::WholeFleet;
use fleet_testbed::agents::{AgentOptions, Agents};
use fleet_testbed::cluster::Cluster;

use crate::steps::Steps;

const NAMESPACE: &str = "crossing";
const SERVICE: &str = "web";

/// The last member exports, the first imports: a Pod calls the Service by its name, and reaches the Pods of the other
/// cluster.
pub(crate) async fn by_name(fleet: &WholeFleet, steps: &mut Steps) -> Result<()> {
    let (_agents, crossing) = begin(fleet, steps).await?;
    steps.take("Pods of the other cluster answer by name", crossing.answers_from_all()).await
}

/// That, and what happens when Pods come and go.
pub(crate) async fn check(fleet: &WholeFleet, steps: &mut Steps) -> Result<()> {
    let (_agents, crossing) = begin(fleet, steps).await?;
    steps.take("all Pods of the exporter answer", crossing.answers_from_all()).await?;
    steps.take("scaled up, the new Pod answers too", crossing.scaled(3)).await?;
    steps.take("scaled down, the others are left alone", crossing.scaled(1)).await?;
    steps.take("withdrawn, nothing answers", crossing.withdrawn()).await
}

struct Crossing<'a> {
    exporter: &'a Cluster,
    servers: Servers,
    shell: Shell,
    /// The name that the importer calls the Service by.
    name: String,
}

async fn begin<'a>(fleet: &'a WholeFleet, steps: &mut Steps) -> Result<(Agents, Crossing<'a>)> {
    let members = fleet.fleet();
    members.user_namespace(NAMESPACE).await?;
    let importer = members.member(0);
    let exporter = members.members().last().context("a member")?;
    let options = AgentOptions::default();
    let starting = Agents::start(members, &options);
    let agents = steps.take("the agents are ready", starting).await?;
    let shell = fleet.shell(0, NAMESPACE, "shell").await?;
    let deployed = Servers::deploy(exporter, NAMESPACE, SERVICE, 2);
    let servers = steps.take("two servers run in the exporter", deployed).await?;
    let crossed = cross(exporter, importer, NAMESPACE, SERVICE);
    let name = steps.take("a Service is exported and imported", crossed).await?;
    Ok((agents, Crossing { exporter, servers, shell, name }))
}

impl Crossing<'_> {
    async fn answers_from_all(&self) -> Result<()> {
        let pods = self.servers.pod_names(self.exporter).await?;
        self.shell.wait_for_pods(&self.name, PORT, &pods).await?;
        let answer = self.shell.get(&self.name, PORT).await.context("once more")?;
        ensure!(answer.cluster == self.exporter.name(), "{answer:?}");
        Ok(())
    }

    async fn scaled(&self, replicas: usize) -> Result<()> {
        self.servers.scale(self.exporter, replicas).await?;
        self.answers_from_all().await
    }

    async fn withdrawn(&self) -> Result<()> {
        withdraw(self.exporter, NAMESPACE, SERVICE).await?;
        self.shell.wait_for_silence(&self.name, PORT).await
    }
}
