//! Upgrade, rollback and uninstall.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use fleet_api::kinds;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::exchange::{
    derived_service, imported_addresses, imported_slices, wait_imported,
};
use fleet_testbed::objects::{api, find};
use fleet_testbed::pod::{NAMESPACE, Running, spec_of};
use fleet_testbed::workload::{ManualService, next_address};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::ListParams;
use serde_json::json;

use crate::crossing::{Agents, SHOP, WEB};
use crate::definitions;
use crate::fleet::{DEADLINE, Fleet};

/// Values change and go back, with either Helm.
pub(crate) async fn upgrade_and_rollback(fleet: &Fleet) -> Result<()> {
    for (cluster, name) in [(fleet.hub(), "hub-agent"), (fleet.east(), "member-agent")] {
        let release = fleet.release(cluster, name);
        let before = arguments(cluster, name).await?;
        release.upgrade(&json!({ "logLevel": "debug" }), &["--reuse-values"]).await?;
        let after = arguments(cluster, name).await?;
        ensure!(after.contains(&"--log-level=debug".to_owned()) && after != before, "{after:?}");
        release.rollback(1).await?;
        ensure!(arguments(cluster, name).await? == before, "{name} is rolled back");
    }
    Ok(())
}

/// Without its agent a member goes on with what it has imported, and takes it up when there is one again.
pub(crate) async fn an_importer_is_uninstalled_and_comes_back(
    fleet: &Fleet,
    agents: &mut Agents,
    web: &ManualService,
) -> Result<()> {
    let west = fleet.west();
    agents.west.take().context("it runs")?.stop().await?;
    let addresses = imported_addresses(west, SHOP, WEB).await?;
    ensure!(addresses.len() == 1, "{addresses:?}");
    fleet.release(west, "member-agent").uninstall().await?;
    no_deployment(west, "member-agent").await?;
    ensure!(
        imported_addresses(west, SHOP, WEB).await? == addresses,
        "clients keep their endpoints"
    );
    ensure!(find(west, kinds::MULTI_CLUSTER_SERVICE, (SHOP, WEB)).await?.is_some());

    let more = next_address();
    web.set_addresses(std::slice::from_ref(&more)).await?;
    let values = fleet.member_values(west)?;
    fleet.release(west, "member-agent").install(&values, &[]).await?;
    agents.west = Some(Running::start(west, "member-agent", fleet.bare().run()).await?);
    wait_imported(west, SHOP, WEB, &BTreeSet::from([more]), DEADLINE).await
}

/// What users made stays, and so does what was imported for them, the members' namespaces, and the definitions.
pub(crate) async fn everything_is_uninstalled(fleet: &Fleet, agents: Agents) -> Result<()> {
    let Agents { hub, east, west } = agents;
    for agent in [Some(hub), Some(east), west].into_iter().flatten() {
        agent.stop().await?;
    }
    let releases = [
        (fleet.hub(), "hub-agent"),
        (fleet.east(), "member-agent"),
        (fleet.west(), "member-agent"),
    ];
    for (cluster, name) in releases {
        fleet.release(cluster, name).uninstall().await?;
        no_deployment(cluster, name).await?;
        definitions::find(cluster, "serviceexports.networking.fleet.azure.com").await?;
    }
    let (hub, east, west) = (fleet.hub(), fleet.east(), fleet.west());
    for kind in [kinds::SERVICE, kinds::SERVICE_EXPORT] {
        ensure!(find(east, kind, (SHOP, WEB)).await?.is_some(), "{} is its user's", kind.kind);
    }
    let derived = derived_service(west, SHOP, WEB).await?.context("a derived Service")?;
    ensure!(find(west, kinds::SERVICE, (NAMESPACE, &derived)).await?.is_some());
    ensure!(imported_slices(west, &derived).await?.len() == 1);
    let home = "fleet-member-east";
    Api::<Namespace>::all(hub.client()).get(home).await.context("what east has offered stays")?;
    let exports = api(hub.client(), kinds::INTERNAL_SERVICE_EXPORT, Some(home));
    ensure!(exports.list(&ListParams::default()).await?.items.len() == 1);
    Ok(())
}

async fn arguments(cluster: &Cluster, name: &str) -> Result<Vec<String>> {
    let mut containers = spec_of(cluster, name).await?.containers;
    containers.remove(0).args.context("arguments")
}

async fn no_deployment(cluster: &Cluster, name: &str) -> Result<()> {
    let api: Api<Deployment> = Api::namespaced(cluster.client(), NAMESPACE);
    ensure!(api.get_opt(name).await?.is_none(), "{name} of {} is left", cluster.name());
    Ok(())
}
