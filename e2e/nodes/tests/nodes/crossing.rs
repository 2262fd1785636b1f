//! Services that the agents carry from one whole cluster to another: real packets through derived Services.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_nodes::pods::{PORT, Servers, Shell};
use fleet_nodes::whole::WholeFleet;
use fleet_testbed::agents::{AgentOptions, Agents};
use fleet_testbed::exchange;
use fleet_testbed::wait::wait_for;

use crate::steps::Steps;

const NAMESPACE: &str = "crossing";
const DEADLINE: Duration = Duration::from_mins(1);

/// The last member exports, the first imports: a Pod calls the derived Service by its name, and reaches the Pods of the
/// other cluster.
pub(crate) async fn by_name(fleet: &WholeFleet, steps: &mut Steps) -> Result<()> {
    let (_agents, crossing) = cross(fleet, steps).await?;
    let what = "by the name of the derived Service";
    steps.take(what, crossing.answers_from_all()).await
}

/// That, and what happens when Pods come and go.
pub(crate) async fn check(fleet: &WholeFleet, steps: &mut Steps) -> Result<()> {
    let (_agents, crossing) = cross(fleet, steps).await?;
    steps.take("all Pods of the exporter answer", crossing.answers_from_all()).await?;
    steps.take("scaled up, the new Pod answers too", crossing.scaled(3)).await?;
    steps.take("scaled down, the others are left alone", crossing.scaled(1)).await?;
    steps.take("withdrawn, nothing answers", crossing.withdrawn()).await
}

struct Crossing<'a> {
    fleet: &'a WholeFleet,
    exporter: usize,
    servers: Servers,
    shell: Shell,
    /// Name of the derived Service.
    name: String,
}

async fn cross<'a>(fleet: &'a WholeFleet, steps: &mut Steps) -> Result<(Agents, Crossing<'a>)> {
    let members = fleet.fleet();
    members.user_namespace(NAMESPACE).await?;
    let exporter = members.members().len() - 1;
    let agents = steps
        .take("the agents are ready", Agents::start(members, &AgentOptions::default()))
        .await?;
    let shell = fleet.shell(0, NAMESPACE, "shell").await?;
    let deployed = Servers::deploy(members.member(exporter), NAMESPACE, "web", 2);
    let servers = steps.take("two servers run in the exporter", deployed).await?;
    let name = steps
        .take("a Service is exported and imported", async {
            exchange::export(members.member(exporter), NAMESPACE, "web").await?;
            let importer = members.member(0);
            exchange::import(importer, NAMESPACE, "web", "web").await?;
            let derived = wait_for("the import has a derived Service", DEADLINE, async || {
                exchange::derived_service(importer, NAMESPACE, "web").await
            });
            Ok(format!("{}.{SYSTEM_NAMESPACE}.svc.cluster.local", derived.await?))
        })
        .await?;
    Ok((agents, Crossing { fleet, exporter, servers, shell, name }))
}

impl Crossing<'_> {
    async fn answers_from_all(&self) -> Result<()> {
        let exporter = self.fleet.fleet().member(self.exporter);
        let pods = self.servers.pod_names(exporter).await?;
        self.shell.wait_for_pods(&self.name, PORT, &pods).await?;
        let answer = self.shell.get(&self.name, PORT).await.context("once more")?;
        ensure!(answer.cluster == exporter.name(), "{answer:?}");
        Ok(())
    }

    async fn scaled(&self, replicas: usize) -> Result<()> {
        self.servers.scale(self.fleet.fleet().member(self.exporter), replicas).await?;
        self.answers_from_all().await
    }

    async fn withdrawn(&self) -> Result<()> {
        exchange::unexport(self.fleet.fleet().member(self.exporter), NAMESPACE, "web").await?;
        self.shell.wait_for_silence(&self.name, PORT).await
    }
}
