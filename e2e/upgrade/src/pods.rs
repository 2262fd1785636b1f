//! The Pods of the charts' Deployments, one for each.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use fleet_testbed::agents::Agent;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::edition::Edition;
use fleet_testbed::fleet::Fleet;
use fleet_testbed::pod::{NAMESPACE, Running};
use fleet_testbed::wait::wait_until;
use futures::future::try_join_all;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;

use crate::members::DEADLINE;

/// How a Deployment replaces its Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// The new Pod is ready before the old one ends.
    RollingUpdate,
    /// The old Pod ends first, and endpoints change while no agent runs.
    Recreate,
}

/// The running agents. Dropping it kills them.
#[derive(Debug, Default)]
pub(crate) struct Pods {
    running: BTreeMap<Agent, Running>,
    started: usize,
}

impl Pods {
    /// Replaces the Pods of these agents, and waits until the new ones lead. They take their arguments from the
    /// Deployments as these are now.
    pub(crate) async fn replace(
        &mut self,
        fleet: &Fleet,
        agents: &[(Agent, &Edition)],
        strategy: Strategy,
    ) -> Result<()> {
        self.started += 1;
        let number = self.started;
        let old: Vec<_> =
            agents.iter().filter_map(|(agent, _)| self.running.remove(agent)).collect();
        let stop = async || try_join_all(old.into_iter().map(Running::stop)).await.map(drop);
        let start = async || {
            let new = agents.iter().map(|&(agent, edition)| start(fleet, agent, edition, number));
            try_join_all(new).await
        };
        let new = match strategy {
            Strategy::RollingUpdate => {
                let new = start().await?;
                stop().await?;
                new
            }
            Strategy::Recreate => {
                stop().await?;
                start().await?
            }
        };
        self.running.extend(new);
        let leaders = agents.iter().map(|&(agent, _)| wait_for_leader(fleet, agent, number));
        try_join_all(leaders).await?;
        Ok(())
    }

    /// An error if an agent has ended by itself.
    pub(crate) fn check_alive(&mut self) -> Result<()> {
        self.running.values_mut().try_for_each(Running::check_alive)
    }
}

async fn start(
    fleet: &Fleet,
    agent: Agent,
    edition: &Edition,
    number: usize,
) -> Result<(Agent, Running)> {
    let deployment = agent.program();
    let program = edition.programs.join(deployment);
    let pod = pod_name(agent, number);
    let cluster = fleet.cluster_of(agent);
    let place = (deployment, pod.as_str());
    let running = Running::start_program(cluster, &program, place, fleet.run()).await;
    Ok((agent, running.with_context(|| fleet.agent_name(agent))?))
}

fn pod_name(agent: Agent, number: usize) -> String {
    format!("{}-{number}", agent.program())
}

async fn wait_for_leader(fleet: &Fleet, agent: Agent, number: usize) -> Result<()> {
    let (cluster, pod) = (fleet.cluster_of(agent), pod_name(agent, number));
    let what = format!("{pod} of {} leads", cluster.name());
    wait_until(&what, DEADLINE, async || Ok(leader(cluster, agent).await? == pod)).await
}

/// Name of the Pod that holds the Lease.
async fn leader(cluster: &Cluster, agent: Agent) -> Result<String> {
    let leases: Api<Lease> = Api::namespaced(cluster.client(), NAMESPACE);
    let lease = leases.get(&format!("{}.networking.fleet.azure.com", agent.program())).await?;
    let holder = lease.spec.and_then(|spec| spec.holder_identity).context("a holder")?;
    Ok(holder.split('_').next().unwrap_or_default().to_owned())
}
