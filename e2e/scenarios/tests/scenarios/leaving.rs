//! A member that leaves the fleet takes along what it exported and imported. `tests/membership` shows the details; here
//! the oracle watches.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use fleet_api::names::member_namespace;
use fleet_api::{annotations, kinds};
use fleet_testbed::agents::Agents;
use fleet_testbed::exchange::{export, import, wait_gone, wait_imported};
use fleet_testbed::fleet::HUB_KUBECONFIG;
use fleet_testbed::objects::{edit, find};
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address};
use serde_json::json;

use crate::stage::{DEADLINE, SECOND_IMPORTER, Stage};
use crate::tests::Tests;

pub(crate) fn add(tests: &mut Tests) {
    if std::env::var_os(HUB_KUBECONFIG).is_none() {
        // In the fleets of others it would take along what is not ours to take.
        tests.alone("leaving::a_member_leaves_and_comes_back", a_member_leaves_and_comes_back);
    }
}

/// L6: the member leaves, reports that when nothing of it is left, joins again and starts clean.
async fn a_member_leaves_and_comes_back(stage: &Stage, _: &mut Agents) -> Result<()> {
    let _nobody_relies_on_it = stage.everybody().write().await;
    let member = stage.member(SECOND_IMPORTER);
    let crossing = stage.crossing("leaving", &[SECOND_IMPORTER]).await?;
    let namespace = crossing.namespace.as_str();
    let address = BTreeSet::from([next_address()]);
    let spec = ServiceSpec::http(namespace, "desk");
    let addresses: Vec<String> = address.iter().cloned().collect();
    let desk = ManualService::deploy(member, &spec, &addresses).await?;
    export(member, namespace, "desk").await?;
    import(stage.importer(), namespace, "desk", "desk").await?;
    wait_imported(stage.importer(), namespace, "desk", &address, DEADLINE).await?;

    tell(stage, "Leave").await?;
    reports(stage, "False").await?;
    for (kind, name) in [(kinds::SERVICE_EXPORT, "desk"), (kinds::MULTI_CLUSTER_SERVICE, "web")] {
        ensure!(find(member, kind, (namespace, name)).await?.is_none(), "{} is left", kind.kind);
    }
    wait_imported(stage.importer(), namespace, "desk", &BTreeSet::new(), DEADLINE).await?;

    tell(stage, "Join").await?;
    reports(stage, "True").await?;
    export(member, namespace, "desk").await?;
    import(member, namespace, "web", "web").await?;
    wait_imported(stage.importer(), namespace, "desk", &address, DEADLINE).await?;
    crossing.arrived().await?;

    fleet_testbed::exchange::unexport(member, namespace, "desk").await?;
    fleet_testbed::exchange::unimport(stage.importer(), namespace, "desk").await?;
    wait_gone(stage.importer(), kinds::MULTI_CLUSTER_SERVICE, namespace, "desk", DEADLINE).await?;
    desk.delete().await?;
    crossing.withdraw().await
}

/// What KubeFleet does when an administrator lets the member go or takes it back. He confirms that much goes: other scenarios
/// may have left imports in the member.
async fn tell(stage: &Stage, wish: &str) -> Result<()> {
    let member = stage.member(SECOND_IMPORTER).name();
    let (kind, key) = (kinds::INTERNAL_MEMBER_CLUSTER, (&*member_namespace(member), member));
    let asked = edit(stage.hub(), kind, key, json!({ "spec": { "state": wish } })).await?;
    let confirmed = asked.metadata.generation.unwrap_or_default().to_string();
    let confirmation = json!({ annotations::CONFIRM_LEAVE: confirmed });
    edit(stage.hub(), kind, key, json!({ "metadata": { "annotations": confirmation } })).await?;
    Ok(())
}

/// Waits until both agent types report so for the state as it is.
async fn reports(stage: &Stage, joined: &str) -> Result<()> {
    let member = stage.member(SECOND_IMPORTER).name();
    let key = (&*member_namespace(member), member);
    wait_until(&format!("{member} reports Joined={joined}"), DEADLINE, async || {
        let object = find(stage.hub(), kinds::INTERNAL_MEMBER_CLUSTER, key).await?;
        let object = object.context("the member is in the book")?;
        let generation = json!(object.metadata.generation);
        let reports = object.data["status"]["agentStatus"].as_array().context("it reports")?;
        let says = |report: &serde_json::Value| {
            let said = &report["conditions"][0];
            said["status"] == joined && said["observedGeneration"] == generation
        };
        Ok(reports.len() == 2 && reports.iter().all(says))
    })
    .await
}
