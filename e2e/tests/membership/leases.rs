//! A member renews its Lease on the hub, and the hub agent notices when it stops and when it goes on.

use anyhow::{Context, Result, ensure};
use fleet_api::kinds;
use fleet_api::names::{MEMBER_LEASE, member_namespace};
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::objects::api;
use fleet_testbed::rbac;
use fleet_testbed::wait::wait_until;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::ListParams;

use crate::DEADLINE;

const MEMBER: Agent = Agent::Member(0);
const SWITCH: &str = "MEMBER_LEASE";
/// The shortest that the flag takes.
const SILENT_AFTER: (&str, &str) = ("MEMBER_SILENT_AFTER", "15s");

/// Both agents have run without the flag until now.
pub(crate) async fn show_who_works(
    hub: &Cluster,
    member: &Cluster,
    agents: &mut Agents,
) -> Result<()> {
    ensure!(leases(hub).await?.is_empty(), "a Lease without the flag");
    ensure!(!agents.metrics(Agent::Hub).await?.contains("member_lease"), "a metric without it");
    rbac::hub_leases().apply(&hub.client()).await?;
    rbac::lease_on_hub(member.name()).apply(&hub.client()).await?;
    agents.set_variable(Agent::Hub, SWITCH, "true")?;
    agents.set_variable(Agent::Hub, SILENT_AFTER.0, SILENT_AFTER.1)?;
    agents.set_variable(MEMBER, SWITCH, "true")?;
    agents.restart(Agent::Hub).await?;
    agents.restart(MEMBER).await?;

    wait_for_silence(agents, member, false).await?;
    let first = renewed(hub, member).await?;
    wait_until("the Lease is renewed", DEADLINE, async || Ok(renewed(hub, member).await? != first))
        .await?;
    agents.kill(MEMBER)?;
    wait_for_silence(agents, member, true).await?;
    agents.launch(MEMBER)?;
    wait_for_silence(agents, member, false).await?;

    let leases = leases(hub).await?;
    ensure!(leases == [member_namespace(member.name())], "{leases:?}");
    let in_member = Api::<Lease>::all(member.client()).list(&ListParams::default()).await?;
    let in_member = in_member.items.into_iter().filter_map(|lease| lease.metadata.name);
    ensure!(!in_member.into_iter().any(|name| name == MEMBER_LEASE), "a Lease in the member");
    Ok(())
}

/// Waits until the hub agent's metric shows whether a member is silent.
async fn wait_for_silence(agents: &Agents, member: &Cluster, silent: bool) -> Result<()> {
    let line = format!(
        "fleet_networking_member_lease_silent{{member=\"{}\"}} {}",
        member.name(),
        u8::from(silent)
    );
    let what = format!("the hub agent shows {line}");
    wait_until(&what, DEADLINE, async || {
        Ok(agents.metrics(Agent::Hub).await?.lines().any(|found| found == line))
    })
    .await
}

/// When a member renewed its Lease, by its own clock.
async fn renewed(hub: &Cluster, member: &Cluster) -> Result<String> {
    let all = api(hub.client(), kinds::LEASE, Some(&member_namespace(member.name())));
    let lease = all.get(MEMBER_LEASE).await?;
    let time = lease.data["spec"]["renewTime"].as_str().map(str::to_owned);
    time.context("a Lease that was renewed")
}

/// The namespaces of all Leases of this name.
async fn leases(hub: &Cluster) -> Result<Vec<String>> {
    let all = Api::<Lease>::all(hub.client());
    let named = ListParams::default().fields(&format!("metadata.name={MEMBER_LEASE}"));
    let found = all.list(&named).await?;
    Ok(found.items.into_iter().filter_map(|lease| lease.metadata.namespace).collect())
}
