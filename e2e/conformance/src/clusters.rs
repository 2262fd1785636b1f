//! Two whole clusters in a clusterset.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fleet_nodes::crossing::{self, Api};
use fleet_nodes::lookup::Found;
use fleet_nodes::node::ProxyMode;
use fleet_nodes::pods::{PORT, Servers, Shell};
use fleet_nodes::whole::WholeFleet;
use fleet_testbed::agents::Agents;
use fleet_testbed::cluster::{Cluster, merged_kubeconfig};
use fleet_testbed::kubeconfig;
use fleet_testbed::wait::wait_until;

use crate::suite::Suite;

const NAMESPACE: &str = "trial";
const SERVICE: &str = "web";
/// Agents that have just started remove nothing in their first minute, and DNS answers a name for some seconds more.
const DEADLINE: Duration = Duration::from_mins(3);

/// Starts the clusters, runs the suite against them, and stops them; the text of the suite's report.
pub(super) async fn run(mode: ProxyMode, suite: &Suite) -> Result<String> {
    eprintln!("starting a hub and two whole clusters, kube-proxy in {mode} mode");
    let mut fleet = WholeFleet::start(2, mode).await?;
    let ran = against(&fleet, suite).await;
    let text = fleet.explain(ran).await?;
    fleet.check_alive().await?;
    Ok(text)
}

async fn against(fleet: &WholeFleet, suite: &Suite) -> Result<String> {
    fleet.serve_clusterset().await?;
    let mut agents = Agents::start(fleet.fleet(), &crossing::agents(None)).await?;
    eprintln!("DNS answers after {:.0} s; a Service is tried", fleet.started_in().as_secs_f64());
    let begin = Instant::now();
    try_a_service(fleet).await.context("try a Service before the suite starts")?;
    eprintln!("it came and went, after {:.0} s; the suite starts", begin.elapsed().as_secs_f64());
    let folder = fleet.fleet().run().folder("conformance")?;
    let contexts: Vec<&str> = fleet.fleet().members().iter().map(Cluster::name).collect();
    let clusters: Vec<_> = fleet.fleet().members().iter().zip(contexts.iter().copied()).collect();
    let text = serde_saphyr::to_string(&merged_kubeconfig(&clusters)?)?;
    let kubeconfig = folder.join("kubeconfig");
    kubeconfig::write_secret(&kubeconfig, &text)?;
    let contexts: Vec<String> = contexts.into_iter().map(str::to_owned).collect();
    let report = suite.run(&kubeconfig, &contexts, &folder).await?;
    agents.check_alive()?;
    Ok(report)
}

/// A Service crosses by name and is withdrawn. The suite passes some cases for the wrong reason where commands in Pods fail,
/// and has no patience for agents that have just started.
async fn try_a_service(fleet: &WholeFleet) -> Result<()> {
    fleet.fleet().user_namespace(NAMESPACE).await?;
    let (exporter, importer) = (fleet.fleet().member(0), fleet.fleet().member(1));
    let mut shells: Vec<Shell> = Vec::new();
    for member in 0..fleet.fleet().members().len() {
        shells.push(fleet.shell(member, NAMESPACE, "shell").await?);
    }
    let servers = Servers::deploy(exporter, NAMESPACE, SERVICE, 1).await?;
    let name = Api::Standard.cross(exporter, importer, (NAMESPACE, SERVICE)).await?;
    for shell in &shells {
        shell.wait_for_answer(&name, PORT).await?;
    }
    Api::Standard.withdraw(exporter, NAMESPACE, SERVICE).await?;
    for shell in &shells {
        let what = format!("the name {name} is gone");
        wait_until(&what, DEADLINE, async || Ok(shell.lookup("A", &name).await? == Found::NoName))
            .await?;
    }
    servers.scale(exporter, 0).await
}
