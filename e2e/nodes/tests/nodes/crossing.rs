//! Services that the agents carry from one whole cluster to another: names, and real packets.

use anyhow::{Context, Result, ensure};
use fleet_nodes::crossing::{self, Api};
use fleet_nodes::pods::{PORT, Servers, Shell};
use fleet_nodes::whole::WholeFleet;
use fleet_testbed::agents::Agents;
use fleet_testbed::cluster::Cluster;

use crate::steps::Steps;

const NAMESPACE: &str = "crossing";

/// The last member exports, the first imports: a Pod calls the Service by its name, and reaches the Pods of the other
/// cluster.
pub(crate) async fn by_name(fleet: &WholeFleet, steps: &mut Steps) -> Result<()> {
    let _agents = begin(fleet, steps).await?;
    fleet.fleet().user_namespace(NAMESPACE).await?;
    let crossing = Crossing::of(fleet, Api::Standard, steps).await?;
    steps.take("Pods of the other cluster answer by name", crossing.answers_from_all()).await
}

/// What happens when Pods come and go, through each API; the agents run.
pub(crate) async fn check(fleet: &WholeFleet, steps: &mut Steps) -> Result<()> {
    fleet.fleet().user_namespace(NAMESPACE).await?;
    for api in Api::ALL {
        let crossing = Crossing::of(fleet, api, steps).await?;
        steps.take("all Pods of the exporter answer", crossing.answers_from_all()).await?;
        steps.take("scaled up, the new Pod answers too", crossing.scaled(3)).await?;
        steps.take("scaled down, the others are left alone", crossing.scaled(1)).await?;
        steps.take("withdrawn, nothing answers", crossing.withdrawn()).await?;
    }
    Ok(())
}

/// The clusters are a clusterset, and the agents serve both APIs.
pub(crate) async fn begin(fleet: &WholeFleet, steps: &mut Steps) -> Result<Agents> {
    steps.take("DNS answers for the clusterset", fleet.serve_clusterset()).await?;
    let options = crossing::agents(Some("1s"));
    steps.take("the agents are ready", Agents::start(fleet.fleet(), &options)).await
}

struct Crossing<'a> {
    api: Api,
    exporter: &'a Cluster,
    service: String,
    servers: Servers,
    shell: Shell,
    /// The name that the importer calls the Service by.
    name: String,
}

impl<'a> Crossing<'a> {
    async fn of(fleet: &'a WholeFleet, api: Api, steps: &mut Steps) -> Result<Self> {
        let members = fleet.fleet();
        let importer = members.member(0);
        let exporter = members.members().last().context("a member")?;
        let service = format!("web-{api:?}").to_lowercase();
        let shell = fleet.shell(0, NAMESPACE, &format!("shell-{service}")).await?;
        let deployed = Servers::deploy(exporter, NAMESPACE, &service, 2);
        let servers = steps.take("two servers run in the exporter", deployed).await?;
        let crossed = api.cross(exporter, importer, (NAMESPACE, &service));
        let what = format!("a Service is exported and imported through the API {api:?}");
        let name = steps.take(&what, crossed).await?;
        Ok(Self { api, exporter, service, servers, shell, name })
    }
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
        self.api.withdraw(self.exporter, NAMESPACE, &self.service).await?;
        self.shell.wait_for_silence(&self.name, PORT).await
    }
}
