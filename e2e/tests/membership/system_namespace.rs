//! The namespace of derived Services, which a user deletes.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{events, kinds};
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::exchange::{import, wait_condition, wait_imported};
use fleet_testbed::join;
use fleet_testbed::objects::find;
use fleet_testbed::wait::wait_until;
use k8s_openapi::api::core::v1::{Event, Namespace};
use kube::Api;
use kube::api::{DeleteParams, ListParams};

use super::{DEADLINE, TEAM};

/// Without it nothing can be bound: the user reads so, by condition and Event, and with a new one the import returns
/// without a restart.
pub(crate) async fn goes_and_comes_back(
    member: &Cluster,
    agents: &mut Agents,
    web: &BTreeSet<String>,
) -> Result<()> {
    // The account of the agent lives in the namespace, too; a user gave this one another.
    let kubeconfig = member.kubeconfig_path().display().to_string();
    agents.set_variable(Agent::Member(0), "KUBECONFIG", &kubeconfig)?;
    agents.restart(Agent::Member(0)).await?;
    import(member, TEAM, "mirror", "web").await?;
    wait_imported(member, TEAM, "mirror", web, DEADLINE).await?;

    let all: Api<Namespace> = Api::all(member.client());
    all.delete(SYSTEM_NAMESPACE, &DeleteParams::default()).await?;
    wait_until("the namespace is gone", DEADLINE, async || {
        Ok(all.get_opt(SYSTEM_NAMESPACE).await?.is_none())
    })
    .await?;
    let key = (TEAM, "mirror");
    let kind = kinds::MULTI_CLUSTER_SERVICE;
    wait_condition(member, kind, key, ("Valid", "Unknown"), DEADLINE).await?;
    wait_until("the user is told which namespace is missing", DEADLINE, async || {
        let wish = find(member, kind, key).await?.context("the wish stays")?;
        let message = wish.data["status"]["conditions"][0]["message"].as_str().unwrap_or_default();
        Ok(message.contains(SYSTEM_NAMESPACE) && message.contains("does not exist"))
    })
    .await?;
    let reported: Api<Event> = Api::namespaced(member.client(), TEAM);
    wait_until("there is an Event", DEADLINE, async || {
        let reported = reported.list(&ListParams::default()).await?;
        Ok(reported.iter().any(|event| {
            event.reason.as_deref() == Some(events::SYSTEM_NAMESPACE_UNAVAILABLE)
                && event.involved_object.name.as_deref() == Some(key.1)
        }))
    })
    .await?;

    join::namespace(&member.client(), SYSTEM_NAMESPACE).await?;
    wait_imported(member, TEAM, "mirror", web, DEADLINE).await?;
    wait_condition(member, kind, key, ("Valid", "True"), DEADLINE).await
}

/// MIMC-6 on real API servers: an agent without networking features watches the membership, what shows whether the name is its
/// cluster's, and nothing else.
pub(crate) async fn nothing_else_is_watched(agents: &mut Agents) -> Result<()> {
    let agent = Agent::Member(0);
    agents.set_variable(agent, "ENABLE_NETWORKING_FEATURES", "false")?;
    agents.restart(agent).await?;
    let metrics = agents.metrics(agent).await?;
    let states: Vec<&str> = metrics
        .lines()
        .filter(|line| line.starts_with("fleet_accumulator_source_state{"))
        .collect();
    ensure!(!states.is_empty(), "{metrics}");
    // The last two show whether this is the member's cluster.
    let own = |line: &&str| {
        ["memberships", "cluster_reports", "namespaces"]
            .iter()
            .any(|source| line.contains(&format!("source=\"{source}\"")))
    };
    ensure!(states.iter().all(own), "{states:#?}");
    let live = |line: &&str| line.contains("state=\"live\"") && line.ends_with(" 1");
    ensure!(states.iter().any(live), "{states:#?}");
    Ok(())
}
