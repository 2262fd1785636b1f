//! What one member writes beyond all bounds is rejected, and the Services of the others cross as if it were not there.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_api::events::WRITE_REFUSED;
use fleet_api::names::member_namespace;
use fleet_api::{ResourceKind, finalizers, kinds};
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::exchange::{export, unexport};
use fleet_testbed::objects::{api, edit, find, remove};
use fleet_testbed::policies;
use fleet_testbed::wait::wait_until;
use kube::api::{DynamicObject, PostParams};
use serde_json::{Value, json};

use crate::blocked::told;
use crate::stage::{DEADLINE, IMPORTER, SECOND_IMPORTER, Stage, becomes, condition};
use crate::tests::Tests;

/// Ports of the export that stopped the hub agent for 46 s.
const MANY: usize = 12_000;
/// Ports of an export that was stored before there was a bound.
const MORE: usize = 14_000;

pub(crate) const EXPORT: ResourceKind = kinds::INTERNAL_SERVICE_EXPORT;

pub(crate) fn add(tests: &mut Tests) {
    // Alone, since a write of such an object takes an API server seconds, and holds its watches of the kind for as long: what
    // others are judged by would be late there, not at the agents.
    tests.alone("bounds::an_export_of_12000_ports_harms_no_other", thousands_of_ports);
    tests.beside("bounds::too_many_ports_are_reported_to_the_user", reported_to_the_user);
    if std::env::var_os(fleet_testbed::fleet::HUB_KUBECONFIG).is_none() {
        // The policies of others are not the suite's to remove.
        tests.apart("bounds::too_many_ports_are_rejected_on_reading", rejected_on_reading);
    }
    tests.beside("bounds::the_oldest_export_of_a_member_counts", the_oldest_counts);
    // Alone, since the limit holds for all members.
    tests.alone("bounds::a_member_exports_so_many_services_and_no_more", so_many_services);
}

/// An export of a Service by a member, as its agent writes it. An administrator creates it, whom no policy binds.
pub(crate) fn internal_export(
    member: &str,
    (namespace, name): (&str, &str),
    ports: usize,
) -> Value {
    let port = |number| json!({ "name": format!("p{number}"), "protocol": "TCP", "port": number });
    json!({
        "apiVersion": EXPORT.api_version(),
        "kind": EXPORT.kind,
        "metadata": {
            "name": format!("{namespace}-{name}"),
            "namespace": member_namespace(member),
            "finalizers": [finalizers::INTERNAL_SERVICE_EXPORT],
        },
        "spec": {
            "ports": (1..=ports).map(port).collect::<Vec<_>>(),
            "serviceReference": {
                "clusterId": member, "kind": "Service", "namespace": namespace, "name": name,
                "namespacedName": format!("{namespace}/{name}"), "resourceVersion": "1",
                "generation": 1, "uid": format!("{namespace}-{name}-{ports}"),
            },
        },
    })
}

pub(crate) async fn create(stage: &Stage, kind: ResourceKind, object: Value) -> Result<()> {
    let object: DynamicObject = serde_json::from_value(object)?;
    let namespace = object.metadata.namespace.clone().context("a namespace")?;
    api(stage.hub().client(), kind, Some(&namespace))
        .create(&PostParams::default(), &object)
        .await?;
    Ok(())
}

/// Waits until the hub agent has released an export that is being deleted.
async fn is_gone(stage: &Stage, key: (&str, &str)) -> Result<()> {
    let what = format!("{} is released", key.1);
    wait_until(&what, DEADLINE, async || Ok(find(stage.hub(), EXPORT, key).await?.is_none())).await
}

fn is_rejected(export: &DynamicObject, ports: usize) -> bool {
    let conditions = export.data["status"]["conditions"].as_array();
    let rejection = conditions.into_iter().flatten().find(|found| found["type"] == "Valid");
    rejection.is_some_and(|found| {
        let message = found["message"].as_str().unwrap_or_default();
        found["status"] == "False"
            && found["reason"] == "LimitExceeded"
            && message.contains(&format!("spec.ports has {ports} entries"))
    })
}

/// One export competes for a Service that crosses, the other one is for a Service of its own. Both are rejected; what
/// crosses is changed meanwhile and keeps its ports, and another Service crosses that did not exist before. The agent
/// that could act for the member would delete what its cluster does not export, so the member is one without an agent.
async fn thousands_of_ports(stage: &Stage, _: &mut Agents) -> Result<()> {
    let mut crossing = stage.crossing("thousands", &[IMPORTER]).await?;
    let (namespace, name) = (crossing.namespace.clone(), crossing.name.clone());
    let (member, hostile) = stage.guest("hostile").await?;
    create(stage, EXPORT, internal_export(&member, (&namespace, &name), MANY)).await?;
    create(stage, EXPORT, internal_export(&member, (&namespace, "other"), MORE)).await?;
    crossing.change(2).await?;
    let later = stage.crossing_in(&namespace, "later", &[IMPORTER]).await?;
    crossing.arrived().await?;

    for (service, ports) in [(name.as_str(), MANY), ("other", MORE)] {
        let object = format!("{namespace}-{service}");
        let key = (hostile.as_str(), object.as_str());
        becomes(stage.hub(), EXPORT, key, "is rejected", |export| is_rejected(export, ports))
            .await?;
    }
    let import = find(stage.hub(), kinds::SERVICE_IMPORT, crossing.key()).await?;
    let import = import.context("a ServiceImport")?;
    let ports = import.data["status"]["ports"].as_array().map(Vec::len);
    ensure!(ports == Some(1), "ports in force: {ports:?}");
    ensure!(
        find(stage.hub(), kinds::SERVICE_IMPORT, (&namespace, "other")).await?.is_none(),
        "a rejected export makes no ServiceImport"
    );
    for service in [name.as_str(), "other"] {
        let object = format!("{namespace}-{service}");
        let key = (hostile.as_str(), object.as_str());
        remove(stage.hub(), EXPORT, key).await?;
        is_gone(stage, key).await?;
    }
    crossing.arrived().await?;
    later.end().await?;
    crossing.withdraw().await
}

/// A member stores two exports of a Service that crosses from another one: the older is listed, the younger is rejected,
/// and a change of endpoints still crosses. When the older is deleted, the younger takes its place. An agent would delete
/// them, so the member is one without.
async fn the_oldest_counts(stage: &Stage) -> Result<()> {
    let mut crossing = stage.crossing("twice", &[IMPORTER]).await?;
    let (namespace, name) = (crossing.namespace.clone(), crossing.name.clone());
    let (member, theirs) = stage.guest("double").await?;
    let plain = format!("{namespace}-{name}");
    let younger = format!("{plain}-2");
    let clusters = [stage.exporter().name(), member.as_str()];
    let lists_both = |import: &DynamicObject| {
        let listed = import.data["status"]["clusters"].as_array().into_iter().flatten();
        let listed: BTreeSet<_> = listed.filter_map(|listed| listed["cluster"].as_str()).collect();
        listed == clusters.into()
    };
    // With the ports in force, and in another second than the next one.
    let mut export = internal_export(&member, (&namespace, &name), 1);
    export["spec"]["ports"] =
        json!([{ "name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080 }]);
    create(stage, EXPORT, export.clone()).await?;
    let (hub, kind) = (stage.hub(), kinds::SERVICE_IMPORT);
    becomes(hub, kind, crossing.key(), "lists both members", lists_both).await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    export["metadata"]["name"] = json!(younger);
    create(stage, EXPORT, export).await?;
    let valid = condition(hub, EXPORT, (&theirs, &younger), ("Valid", "False")).await?;
    ensure!(valid["reason"] == "Duplicate", "{valid}");
    crossing.change(2).await?;
    crossing.arrived().await?;

    remove(hub, EXPORT, (&theirs, &plain)).await?;
    let accepted = ("Conflict", "False");
    condition(hub, EXPORT, (&theirs, &younger), accepted).await?;
    is_gone(stage, (&theirs, &plain)).await?;
    becomes(hub, kind, crossing.key(), "still lists both", lists_both).await?;
    remove(hub, EXPORT, (&theirs, &younger)).await?;
    is_gone(stage, (&theirs, &younger)).await?;
    crossing.arrived().await?;
    crossing.withdraw().await
}

/// A member without an agent exports more Services than the hub agent accepts. Which ones count is the same after a restart,
/// and the next one counts when the oldest is deleted. The Service of another member crosses meanwhile.
async fn so_many_services(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let mut crossing = stage.crossing("somany", &[IMPORTER]).await?;
    let namespace = crossing.namespace.clone();
    let (member, theirs) = stage.guest("exporter").await?;
    agents.restart_with(Agent::Hub, &["--max-services-per-member=2"]).await?;
    // Of one second the first by name is the oldest.
    let names = ["a", "b", "c"].map(|service| format!("{namespace}-{service}"));
    for service in ["a", "b", "c"] {
        create(stage, EXPORT, internal_export(&member, (&namespace, service), 1)).await?;
    }
    let [first, second, third] = [0, 1, 2].map(|at: usize| (theirs.as_str(), names[at].as_str()));
    let (accepted, rejected) = (("Conflict", "False"), ("Valid", "False"));
    let counts = async || -> Result<()> {
        condition(stage.hub(), EXPORT, first, accepted).await?;
        condition(stage.hub(), EXPORT, second, accepted).await?;
        let valid = condition(stage.hub(), EXPORT, third, rejected).await?;
        let message = valid["message"].as_str().unwrap_or_default();
        ensure!(message.contains("--max-services-per-member=2"), "{valid}");
        ensure!(valid["reason"] == "LimitExceeded", "{valid}");
        Ok(())
    };
    counts().await?;
    agents.restart_with(Agent::Hub, &["--max-services-per-member=2"]).await?;
    crossing.change(2).await?;
    crossing.arrived().await?;
    counts().await?;
    remove(stage.hub(), EXPORT, first).await?;
    is_gone(stage, first).await?;
    condition(stage.hub(), EXPORT, third, accepted).await?;
    for export in [second, third] {
        remove(stage.hub(), EXPORT, export).await?;
        is_gone(stage, export).await?;
    }
    agents.restart_with(Agent::Hub, &[]).await?;
    crossing.arrived().await?;
    crossing.withdraw().await
}

/// A second cluster exports a Service that crosses, with one port more than is accepted. Without slices: a policy of the
/// hub would reject those, which the oracle does not expect.
async fn export_too_many(second: &Cluster, key: (&str, &str)) -> Result<()> {
    let port = |number| json!({ "name": format!("p{number}"), "port": number });
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": key.1 },
        "spec": { "ports": (1..=101).map(port).collect::<Vec<_>>() },
    });
    let services = api(second.client(), kinds::SERVICE, Some(key.0));
    services.create(&PostParams::default(), &serde_json::from_value(service)?).await?;
    export(second, key.0, key.1).await
}

/// With fewer ports it is exported like any other. Then it is withdrawn.
async fn accepted_with_fewer(second: &Cluster, key: (&str, &str)) -> Result<()> {
    let few = json!({ "spec": { "ports": [{ "name": "http", "port": 80, "targetPort": 8080 }] } });
    edit(second, kinds::SERVICE, key, few).await?;
    condition(second, kinds::SERVICE_EXPORT, key, ("Conflict", "False")).await?;
    condition(second, kinds::SERVICE_EXPORT, key, ("Valid", "True")).await?;
    unexport(second, key.0, key.1).await?;
    remove(second, kinds::SERVICE, key).await
}

/// P2: the user of a Service with too many ports reads which bound it exceeds.
async fn reported_to_the_user(stage: &Stage) -> Result<()> {
    let crossing = stage.crossing("toomany", &[IMPORTER]).await?;
    let (second, key) = (stage.member(SECOND_IMPORTER), crossing.key());
    export_too_many(second, key).await?;
    let note = "P2: spec.ports has more than 100 entries";
    told(second, key.0, WRITE_REFUSED, note).await?;
    // The Event comes before the condition, which is debounced.
    condition(second, kinds::SERVICE_EXPORT, key, ("Conflict", "Unknown")).await?;
    crossing.arrived().await?;
    accepted_with_fewer(second, key).await?;
    crossing.arrived().await?;
    crossing.withdraw().await
}

/// Without policies the hub agent answers, and the user reads it in the condition of the ServiceExport.
async fn rejected_on_reading(stage: &Stage, _: &mut Agents) -> Result<()> {
    let member = stage.exporter().name();
    policies::remove(stage.hub(), member).await?;
    let result = rejected_without_policies(stage).await;
    policies::install(stage.hub(), member).await?;
    result
}

async fn rejected_without_policies(stage: &Stage) -> Result<()> {
    let crossing = stage.crossing("unchecked", &[IMPORTER]).await?;
    let (second, key) = (stage.importer(), crossing.key());
    export_too_many(second, key).await?;
    let valid = condition(second, kinds::SERVICE_EXPORT, key, ("Valid", "False")).await?;
    let message = valid["message"].as_str().context("a message")?;
    ensure!(message.contains("spec.ports has 101 entries, but at most 100"), "{message}");
    ensure!(valid["reason"] == "LimitExceeded", "{valid}");
    crossing.arrived().await?;
    accepted_with_fewer(second, key).await?;
    crossing.arrived().await?;
    crossing.withdraw().await
}
