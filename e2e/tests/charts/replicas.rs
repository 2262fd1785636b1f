//! Several Pods of a Deployment: one writes, another takes over from it.

use std::collections::BTreeSet;
use std::mem;

use anyhow::{Context, Result};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::exchange::wait_imported;
use fleet_testbed::pod::{NAMESPACE, Running};
use fleet_testbed::wait::wait_for;
use fleet_testbed::workload::{ManualService, next_address};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use serde_json::{Value, json};

use crate::crossing::{Agents, SHOP, WEB};
use crate::fleet::{DEADLINE, Fleet};

/// Values of either chart. A Lease outlives its holder; long enough to be renewed in time on a slow machine, short
/// enough to wait for the end.
pub(crate) fn election() -> Value {
    json!({ "extraArgs": [
        "--leader-election-lease-duration=5s",
        "--leader-election-renew-deadline=3s",
        "--leader-election-retry-period=500ms",
        "--write-timeout=1s",
    ] })
}

/// Of two Pods of the hub's and two of the exporter's Deployment those that lead are killed.
pub(crate) async fn take_over(
    fleet: &Fleet,
    agents: &mut Agents,
    web: &ManualService,
) -> Result<()> {
    let (hub, east) = (fleet.hub(), fleet.east());
    let (of_hub, of_east) = tokio::try_join!(
        survive(fleet, hub, "hub-agent", &mut agents.hub),
        survive(fleet, east, "member-agent", &mut agents.east),
    )?;
    let address = next_address();
    web.set_addresses(std::slice::from_ref(&address)).await?;
    wait_imported(fleet.west(), SHOP, WEB, &BTreeSet::from([address]), DEADLINE).await?;
    // They did it, and no other process.
    anyhow::ensure!(leader(hub, "hub-agent").await? == of_hub);
    anyhow::ensure!(leader(east, "member-agent").await? == of_east);
    Ok(())
}

/// Starts a second Pod, kills the one that leads, and waits until the other does: its name.
async fn survive(
    fleet: &Fleet,
    cluster: &Cluster,
    deployment: &str,
    running: &mut Running,
) -> Result<String> {
    let second = format!("{deployment}-1");
    // It is ready while the other leads.
    let mut killed = Running::start_named(cluster, deployment, &second, fleet.bare().run()).await?;
    let leader_before = leader(cluster, deployment).await?;
    if leader_before != second {
        mem::swap(running, &mut killed);
    }
    drop(killed);
    let what = format!("another one leads than {leader_before}");
    wait_for(&what, DEADLINE, async || {
        let leader = leader(cluster, deployment).await?;
        Ok((leader != leader_before).then_some(leader))
    })
    .await
}

/// The name of the Pod that holds the Lease, which is named after the agent.
async fn leader(cluster: &Cluster, deployment: &str) -> Result<String> {
    let api: Api<Lease> = Api::namespaced(cluster.client(), NAMESPACE);
    let lease = api.get(&format!("{deployment}.networking.fleet.azure.com")).await?;
    let holder = lease.spec.and_then(|spec| spec.holder_identity).context("a holder")?;
    Ok(holder.split('_').next().unwrap_or_default().to_owned())
}
