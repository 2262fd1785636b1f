//! What members export by the standard API, on a real hub: played by hand, with the hub agent's own rights.

use anyhow::{Context, Result, ensure};
use fleet_api::names::{SYSTEM_NAMESPACE, internal_export_candidates, member_namespace};
use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::apply::apply;
use fleet_testbed::objects::{find, remove};
use fleet_testbed::wait::wait_until;
use fleet_testbed::{crds, rbac};
use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::stage::{DEADLINE, EXPORTER, IMPORTER, Stage, becomes};
use crate::tests::Tests;

const EXPORT: ResourceKind = kinds::EXPORTED_SERVICE;
const RESOLVED: ResourceKind = kinds::RESOLVED_SERVICE;
const MODE: &str = "MULTICLUSTER";

pub(crate) fn add(tests: &mut Tests) {
    tests.alone("multicluster::two_exporters_and_the_end", two_exporters_and_the_end);
}

fn export(service: &ObjectName, member: &str, number: i32) -> Value {
    json!({
        "apiVersion": EXPORT.api_version(), "kind": EXPORT.kind,
        "metadata": { "name": service.name, "namespace": member_namespace(member) },
        "spec": {
            "service": { "namespace": service.namespace, "name": service.name },
            "serviceUid": format!("{member}-service"),
            "export": { "uid": format!("{member}-export"), "created": "2026-01-01T00:00:00Z" },
            "type": "ClusterSetIP",
            "ports": [{ "name": "http", "protocol": "TCP", "port": number }],
            "ipFamilies": ["IPv4"],
        },
    })
}

/// The exporters of the Service, by name, and the reasons of its conflicts.
fn standing(resolved: &DynamicObject) -> (Vec<&str>, Vec<&str>) {
    let texts = |list: &'static str, field: &'static str| -> Vec<&str> {
        let entries = resolved.data["spec"][list].as_array();
        entries.into_iter().flatten().filter_map(|entry| entry[field].as_str()).collect()
    };
    (texts("exporters", "cluster"), texts("conflicts", "reason"))
}

/// Switched on, the hub agent accepts the members and resolves what two of them export; the one that stays wins; the last one
/// leaves a word, which goes in its time; switched off after a clean-up, nothing is left.
async fn two_exporters_and_the_end(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let hub = stage.hub();
    crds::install(&hub.client(), &crds::load(&crds::MULTICLUSTER)?).await?;
    rbac::hub_multicluster().apply(&hub.client()).await?;
    agents.set_variable(Agent::Hub, MODE, "on")?;
    agents.set_variable(Agent::Hub, "MULTICLUSTER_WITHDRAWN_FOR", "3s")?;
    agents.set_variable(Agent::Hub, "MULTICLUSTER_SETTLE", "1s")?;
    agents.restart(Agent::Hub).await?;

    let service = ObjectName::new(stage.namespace("multicluster").await?, "web");
    let name = internal_export_candidates(&service).next().context("a name")?;
    let key = (SYSTEM_NAMESPACE, name.as_str());
    let mut members = [EXPORTER, IMPORTER].map(|member| stage.member(member).name());
    members.sort_unstable();
    for (member, number) in members.into_iter().zip([80, 81]) {
        apply(&hub.client(), export(&service, member, number)).await?;
    }
    let both =
        |resolved: &DynamicObject| standing(resolved) == (members.to_vec(), vec!["PortConflict"]);
    let resolved = becomes(hub, RESOLVED, key, "has both", both).await?;
    ensure!(resolved.data["spec"]["winner"] == members[0], "the name decides between equals");

    let [first, second] = members;
    remove(hub, EXPORT, (&member_namespace(first), &service.name)).await?;
    let one = |resolved: &DynamicObject| standing(resolved) == (vec![second], vec![]);
    let resolved = becomes(hub, RESOLVED, key, "has one", one).await?;
    ensure!(resolved.data["spec"]["ports"][0]["port"] == 81, "the other one wins");
    remove(hub, EXPORT, (&member_namespace(second), &service.name)).await?;
    let over = |resolved: &DynamicObject| resolved.data["spec"]["withdrawnAt"].is_string();
    becomes(hub, RESOLVED, key, "is over", over).await?;
    let gone = format!("{name} is gone");
    wait_until(&gone, DEADLINE, async || Ok(find(hub, RESOLVED, key).await?.is_none())).await?;
    apply(&hub.client(), export(&service, first, 80)).await?;
    let again = |resolved: &DynamicObject| standing(resolved) == (vec![first], vec![]);
    becomes(hub, RESOLVED, key, "is exported again", again).await?;
    agents.set_variable(Agent::Hub, MODE, "clean-up")?;
    agents.restart(Agent::Hub).await?;
    let gone = format!("{name} is gone, although it is exported");
    wait_until(&gone, DEADLINE, async || Ok(find(hub, RESOLVED, key).await?.is_none())).await?;
    remove(hub, EXPORT, (&member_namespace(first), &service.name)).await?;
    switched_off(stage, agents, first).await
}

/// Members are answered to the end, since they believe nothing of a hub that has not accepted them.
async fn switched_off(stage: &Stage, agents: &mut Agents, member: &str) -> Result<()> {
    let report = (member_namespace(member), member);
    let report = (report.0.as_str(), report.1);
    let answered = |report: &DynamicObject| report.data["status"]["clustersetId"] == "fleet";
    becomes(stage.hub(), kinds::CLUSTER_REPORT, report, "is accepted", answered).await?;
    agents.set_variable(Agent::Hub, MODE, "off")?;
    agents.restart(Agent::Hub).await
}
