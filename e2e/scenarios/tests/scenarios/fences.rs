//! Two clusters have the name and the credentials of one member.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use fleet_api::events::BLOCKED;
use fleet_api::kinds;
use fleet_api::names::member_namespace;
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::cluster::{Cluster, merged_kubeconfig};
use fleet_testbed::exchange::{export, wait_imported};
use fleet_testbed::fleet::{ExistingClusters, Fleet, HUB_KUBECONFIG};
use fleet_testbed::objects::find;
use fleet_testbed::observer::{Observer, What};
use fleet_testbed::scrape::Scrape;
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address};
use fleet_testbed::{Bare, Options, join, kubeconfig};
use tokio::process::Command;

use crate::blocked::told;
use crate::stage::{DEADLINE, EXPORTER, IMPORTER, Stage};
use crate::tests::Tests;

/// The Service that the second cluster exports, in the namespace of the other one.
const RIVAL: &str = "rival";
/// The member agent of the second cluster.
const SECOND: Agent = Agent::Member(0);

pub(crate) fn add(tests: &mut Tests) {
    if std::env::var_os(HUB_KUBECONFIG).is_some() {
        return; // In fleets of others there is no cluster to spare.
    }
    tests.unjudged("fences::a_second_cluster_of_one_name", a_second_cluster_of_one_name);
}

/// The second cluster writes nothing and reports why, and what the first one exports stays. Then `join --replace` gives the
/// name to the second cluster, and back.
async fn a_second_cluster_of_one_name(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let mut crossing = stage.crossing("fences", &[IMPORTER]).await?;
    let namespace = crossing.namespace.clone();
    let mut second = Second::prepare(stage).await?;
    let cluster = second.fleet.member(0);
    join::namespace(&cluster.client(), &namespace).await?;
    let spec = ServiceSpec::http(&namespace, RIVAL);
    ManualService::deploy(cluster, &spec, &[next_address()]).await?;
    export(cluster, &namespace, RIVAL).await?;

    let exported = [kinds::INTERNAL_SERVICE_EXPORT, kinds::ENDPOINT_SLICE_EXPORT];
    let watched = exported.map(|kind| (stage.hub(), kind));
    let mut observer = Observer::start_for(watched).await?;
    second.agents.launch(SECOND)?;
    fence(&second.agents, SECOND, "taken").await?;
    told(cluster, &namespace, BLOCKED, "has recorded another cluster").await?;
    let (status, text) = second.agents.readiness(SECOND).await?;
    ensure!(status != 200 && text.contains("--replace"), "{status}: {text}");
    let key = (namespace.as_str(), RIVAL);
    let untouched = find(cluster, kinds::SERVICE_EXPORT, key).await?.context("it is there")?;
    ensure!(untouched.metadata.finalizers.is_none(), "{untouched:?}");
    ensure!(untouched.data["status"].is_null(), "{untouched:?}");
    crossing.change(2).await?;
    crossing.arrived().await?;
    let lost = observer.take().into_iter().find(|seen| seen.what == What::Gone);
    ensure!(lost.is_none(), "{lost:?}");
    fence(agents, Agent::Member(EXPORTER), "ours").await?;

    // The second cluster becomes the member. It exports what it has, and not what the first one had.
    second.replace(stage, cluster).await?;
    fence(&second.agents, SECOND, "ours").await?;
    second.agents.wait_ready().await?;
    fence(agents, Agent::Member(EXPORTER), "taken").await?;
    wait_imported(stage.importer(), &namespace, &crossing.name, &BTreeSet::new(), DEADLINE).await?;
    exports(stage, &namespace, RIVAL, true).await?;
    let kept = find(stage.exporter(), kinds::SERVICE_EXPORT, crossing.key()).await?;
    let kept = kept.context("the user's ServiceExport")?;
    ensure!(kept.metadata.deletion_timestamp.is_none(), "{kept:?}");

    second.replace(stage, stage.exporter()).await?;
    fence(&second.agents, SECOND, "taken").await?;
    crossing.arrived().await?;
    exports(stage, &namespace, RIVAL, false).await?;
    second.agents.kill(SECOND)?;
    agents.check_alive()?;
    crossing.withdraw().await
}

/// A further cluster, with an agent that has name and credentials of the exporter.
struct Second {
    agents: Agents,
    fleet: Fleet,
    /// `fleetctl`, which lies beside the agents.
    tool: PathBuf,
    // Dropped last.
    _servers: Bare,
}

impl Second {
    async fn prepare(stage: &Stage) -> Result<Self> {
        let servers = Bare::start(&["second"], &Options::default().without_audit()).await?;
        let kubeconfig = servers.clusters()[0].kubeconfig_path().to_owned();
        let name = stage.exporter().name().to_owned();
        let hub = stage.hub().kubeconfig_path().to_owned();
        let existing = ExistingClusters { hub, members: vec![(name, kubeconfig)] };
        let fleet = Fleet::connect(&existing).await?;
        let agents = Agents::prepare(&fleet, &AgentOptions::default())?;
        let tool = agents.program(SECOND)?.with_file_name("fleetctl");
        ensure!(tool.is_file(), "{} is missing; `cargo build --bins` makes it", tool.display());
        Ok(Self { agents, fleet, tool, _servers: servers })
    }

    /// Gives the name to a cluster, as an administrator does.
    async fn replace(&self, stage: &Stage, cluster: &Cluster) -> Result<()> {
        let name = stage.exporter().name();
        let contexts = merged_kubeconfig(&[(stage.hub(), "hub"), (cluster, name)])?;
        let path = self.fleet.run_path().join("contexts");
        kubeconfig::write(&path, &serde_json::to_value(contexts)?)?;
        let mut command = Command::new(&self.tool);
        command.args(["join", name, "--replace", "--print", "nothing", "--kubeconfig"]).arg(path);
        let output = tokio::time::timeout(DEADLINE, command.kill_on_drop(true).output()).await;
        let output = output.context("fleetctl does not end")??;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success() && text.contains("Recorded the cluster"), "{text}");
        Ok(())
    }
}

/// Waits until an agent knows this of its cluster.
async fn fence(agents: &Agents, agent: Agent, state: &str) -> Result<()> {
    wait_until(&format!("the fence of {agent:?} is {state}"), DEADLINE, async || {
        let scrape = Scrape::of(agents, agent).await?;
        Ok(scrape.sum("fleet_membership_fence", &[("state", state)]) > 0.0)
    })
    .await
}

/// Waits until the hub has an export of the exporter, or none.
async fn exports(stage: &Stage, namespace: &str, name: &str, expected: bool) -> Result<()> {
    let home = member_namespace(stage.exporter().name());
    let plain = format!("{namespace}-{name}");
    wait_until(&format!("the hub has {name}: {expected}"), DEADLINE, async || {
        let found = find(stage.hub(), kinds::INTERNAL_SERVICE_EXPORT, (&home, &plain)).await?;
        Ok(found.is_some() == expected)
    })
    .await
}
