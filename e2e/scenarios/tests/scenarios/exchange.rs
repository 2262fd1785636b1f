//! Export and import of Services with Pods, whose slices the real EndpointSlice controller makes.

use anyhow::{Context, Result, ensure};
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{kinds, labels};
use fleet_testbed::exchange::{
    export, import, imported_slices, unexport, unimport, wait_exists, wait_imported,
};
use fleet_testbed::objects::find;
use fleet_testbed::workload::{ServiceSpec, Workload};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::stage::{DEADLINE, IMPORTER, Stage, becomes, condition, name_of};
use crate::tests::Tests;

pub(crate) fn add(tests: &mut Tests) {
    tests.beside("exchange::a_service_with_pods_crosses", a_service_with_pods_crosses);
    tests
        .beside("exchange::scaling_and_readiness_are_followed", scaling_and_readiness_are_followed);
    tests.beside("exchange::an_import_waits_for_its_export", an_import_waits_for_its_export);
    tests.beside("exchange::services_side_by_side_do_not_mix", services_side_by_side_do_not_mix);
    tests.beside("exchange::what_cannot_be_exported_says_so", what_cannot_be_exported_says_so);
}

/// Everything a user can read of an exchange, in all three clusters.
async fn a_service_with_pods_crosses(stage: &Stage) -> Result<()> {
    let namespace = stage.namespace("pods").await?;
    let key = (namespace.as_str(), "web");
    let spec = ServiceSpec::new(&namespace, "web")
        .port("http", "TCP", 80, 8080)
        .port("dns", "UDP", 53, 5353);
    let web = Workload::deploy(stage.exporter(), spec, 2).await?;
    web.wait_for_slices().await?;
    let before = web.slices().await?;

    export(stage.exporter(), &namespace, "web").await?;
    let valid = condition(stage.exporter(), kinds::SERVICE_EXPORT, key, ("Valid", "True")).await?;
    ensure!(valid["reason"] == "ServiceIsValid", "{valid}");
    ensure!(valid["observedGeneration"] == 1, "{valid}");
    let conflict =
        condition(stage.exporter(), kinds::SERVICE_EXPORT, key, ("Conflict", "False")).await?;
    ensure!(conflict["reason"] == "NoConflictFound", "{conflict}");

    import(stage.importer(), &namespace, "web", "web").await?;
    wait_imported(stage.importer(), &namespace, "web", &web.addresses(), DEADLINE).await?;
    let kind = kinds::MULTI_CLUSTER_SERVICE;
    let valid = condition(stage.importer(), kind, key, ("Valid", "True")).await?;
    ensure!(valid["reason"] == "FoundServiceImport", "{valid}");

    the_hub_knows_ports_and_clusters(stage, key).await?;
    the_derived_service_has_the_ports(stage, &namespace).await?;
    for slice in imported_slices(stage.importer(), &format!("{namespace}-web")).await? {
        an_imported_slice_is_plain(&slice)?;
    }
    // What is the user's was not written to.
    ensure!(web.slices().await? == before, "the user's slices have changed");

    unexport(stage.exporter(), &namespace, "web").await?;
    unimport(stage.importer(), &namespace, "web").await?;
    stage.nothing_left(&namespace).await?;
    web.delete().await
}

async fn the_hub_knows_ports_and_clusters(stage: &Stage, key: (&str, &str)) -> Result<()> {
    let on_hub = find(stage.hub(), kinds::SERVICE_IMPORT, key).await?.context("no import")?;
    let status = &on_hub.data["status"];
    ensure!(status["clusters"] == json!([{ "cluster": stage.exporter().name() }]), "{status}");
    ensure!(status["type"] == "ClusterSetIP", "{status}");
    ensure!(ports_of(&status["ports"]) == expected_ports(), "{status}");

    // The member sees the same, under the MultiClusterService.
    let kind = kinds::SERVICE_IMPORT;
    let imported = find(stage.importer(), kind, key).await?.context("no import on the member")?;
    ensure!(imported.data["status"] == *status, "{}", imported.data["status"]);
    let owners = imported.metadata.owner_references.unwrap_or_default();
    ensure!(owners.len() == 1 && owners[0].kind == "MultiClusterService", "{owners:?}");
    Ok(())
}

async fn the_derived_service_has_the_ports(stage: &Stage, namespace: &str) -> Result<()> {
    let name = format!("{namespace}-web");
    let derived = find(stage.importer(), kinds::SERVICE, (SYSTEM_NAMESPACE, &name)).await?;
    let derived = derived.with_context(|| format!("there is no derived Service {name}"))?;
    let spec = &derived.data["spec"];
    ensure!(ports_of(&spec["ports"]) == expected_ports(), "{spec}");
    ensure!(spec["type"] == type_of_derived() && spec["selector"].is_null(), "{spec}");
    let labels = derived.metadata.labels.unwrap_or_default();
    ensure!(labels[labels::MULTI_CLUSTER_SERVICE_NAME] == "web", "{labels:?}");
    ensure!(labels[labels::MULTI_CLUSTER_SERVICE_NAMESPACE] == namespace, "{labels:?}");
    Ok(())
}

/// An agent without flags makes what the original makes; the charts, which install existing clusters, have a default of
/// their own.
fn type_of_derived() -> &'static str {
    match std::env::var_os(fleet_testbed::fleet::HUB_KUBECONFIG) {
        None => "LoadBalancer",
        Some(_) => "ClusterIP",
    }
}

/// Name, protocol, port and target port, as far as they are set.
fn ports_of(ports: &Value) -> Vec<Value> {
    let port =
        |port: &Value| json!([port["name"], port["protocol"], port["port"], port["targetPort"]]);
    ports.as_array().into_iter().flatten().map(port).collect()
}

fn expected_ports() -> Vec<Value> {
    vec![json!(["http", "TCP", 80, 8080]), json!(["dns", "UDP", 53, 5353])]
}

/// It carries addresses and ports, and nothing that means something in the exporter's cluster only.
fn an_imported_slice_is_plain(slice: &EndpointSlice) -> Result<()> {
    let name = name_of(slice.metadata.name.as_ref())?;
    let labels = slice.metadata.labels.clone().unwrap_or_default();
    ensure!(labels[labels::MANAGED_BY] == labels::MANAGED_BY_IMPORT, "{name}: {labels:?}");
    ensure!(labels.len() == 2, "{name}: {labels:?}");
    ensure!(slice.address_type == "IPv4", "{name}: {}", slice.address_type);
    let mut ports: Vec<_> = slice.ports.iter().flatten().collect();
    ports.sort_by_key(|port| port.port);
    let ports: Vec<_> = ports
        .iter()
        .map(|port| (port.name.as_deref(), port.protocol.as_deref(), port.port))
        .collect();
    let wanted = [(Some("dns"), Some("UDP"), Some(5353)), (Some("http"), Some("TCP"), Some(8080))];
    ensure!(ports == wanted, "{name}: {ports:?}");
    for endpoint in &slice.endpoints {
        let plain = endpoint.target_ref.is_none() && endpoint.node_name.is_none();
        ensure!(plain && endpoint.hostname.is_none(), "{name}: {endpoint:?}");
    }
    Ok(())
}

async fn scaling_and_readiness_are_followed(stage: &Stage) -> Result<()> {
    let namespace = stage.namespace("scale").await?;
    let spec = ServiceSpec::http(&namespace, "web");
    let mut web = Workload::deploy(stage.exporter(), spec, 2).await?;
    export(stage.exporter(), &namespace, "web").await?;
    import(stage.importer(), &namespace, "web", "web").await?;
    let imported = async |wanted: &_| {
        wait_imported(stage.importer(), &namespace, "web", wanted, DEADLINE).await
    };
    imported(&web.addresses()).await?;

    for replicas in [5, 1, 3] {
        web.scale(replicas).await?;
        imported(&web.addresses()).await.with_context(|| format!("scaled to {replicas}"))?;
    }

    let pod = web.pods().next().context("three Pods")?.to_owned();
    let all = web.addresses();
    web.set_ready(&pod, false).await?;
    let ready = fleet_testbed::wait::wait_for("a slice without the Pod", DEADLINE, async || {
        let ready = fleet_testbed::workload::ready_addresses(&web.slices().await?);
        Ok((ready.len() == 2).then_some(ready))
    })
    .await?;
    imported(&ready).await.context("a Pod is not ready")?;
    web.set_ready(&pod, true).await?;
    imported(&all).await.context("the Pod is ready again")?;

    // No Pod at all: the import stays, without endpoints.
    web.scale(0).await?;
    imported(&web.addresses()).await.context("scaled to nothing")?;
    let key = (namespace.as_str(), "web");
    condition(stage.importer(), kinds::MULTI_CLUSTER_SERVICE, key, ("Valid", "True")).await?;
    Ok(())
}

async fn an_import_waits_for_its_export(stage: &Stage) -> Result<()> {
    let namespace = stage.namespace("early").await?;
    let key = (namespace.as_str(), "web");
    import(stage.importer(), &namespace, "web", "web").await?;
    let kind = kinds::MULTI_CLUSTER_SERVICE;
    let waiting = condition(stage.importer(), kind, key, ("Valid", "Unknown")).await?;
    ensure!(waiting["reason"] == "UnknownServiceImport", "{waiting}");
    ensure!(stage.leftovers_of(&namespace).await?.iter().all(|one| one.kind != kinds::SERVICE));

    let web = Workload::deploy(stage.exporter(), ServiceSpec::http(&namespace, "web"), 1).await?;
    export(stage.exporter(), &namespace, "web").await?;
    wait_imported(stage.importer(), &namespace, "web", &web.addresses(), DEADLINE).await?;
    condition(stage.importer(), kind, key, ("Valid", "True")).await?;
    Ok(())
}

/// Equal names in different namespaces; and names that make the same `<namespace>-<name>`, which is what objects on the
/// hub and derived Services are called.
async fn services_side_by_side_do_not_mix(stage: &Stage) -> Result<()> {
    let short = stage.namespace("side").await?;
    let long = stage.namespace(&short).await?;
    let rest =
        long.strip_prefix(&format!("{short}-")).context("the names have a beginning in common")?;
    let twin = format!("{rest}-side");
    let pairs = [(&short, "side"), (&long, "side"), (&short, &twin)];
    let mut crossings = Vec::new();
    for (namespace, name) in pairs {
        crossings.push(stage.crossing_in(namespace, name, &[IMPORTER]).await?);
    }
    let mut derived = Vec::new();
    for crossing in &mut crossings {
        crossing.change(2).await?;
        crossing.arrived().await?;
        derived.push(crossing.derived(IMPORTER).await?);
    }
    let names: std::collections::BTreeSet<_> = derived.iter().collect();
    ensure!(names.len() == pairs.len(), "{derived:?}");
    // The first goes, the others stay as they are.
    let first = crossings.remove(0);
    unexport(stage.exporter(), &first.namespace, &first.name).await?;
    unimport(stage.importer(), &first.namespace, &first.name).await?;
    fleet_testbed::exchange::wait_gone(
        stage.importer(),
        kinds::MULTI_CLUSTER_SERVICE,
        &first.namespace,
        &first.name,
        DEADLINE,
    )
    .await?;
    for crossing in &crossings {
        crossing.arrived().await?;
    }
    Ok(())
}

async fn what_cannot_be_exported_says_so(stage: &Stage) -> Result<()> {
    let namespace = stage.namespace("unfit").await?;
    let kind = kinds::SERVICE_EXPORT;
    let key = (namespace.as_str(), "web");
    export(stage.exporter(), &namespace, "web").await?;
    let missing = condition(stage.exporter(), kind, key, ("Valid", "False")).await?;
    ensure!(missing["reason"] == "ServiceNotFound", "{missing}");

    let services = fleet_testbed::objects::api(
        stage.exporter().client(),
        kinds::SERVICE,
        Some(namespace.as_str()),
    );
    let headless: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web" },
        "spec": { "clusterIP": "None", "ports": [{ "port": 80 }] },
    }))?;
    services.create(&kube::api::PostParams::default(), &headless).await?;
    let is_headless = |export: &DynamicObject| {
        let conditions = export.data["status"]["conditions"].as_array();
        conditions.into_iter().flatten().any(|found| found["reason"] == "ServiceIneligible")
    };
    becomes(stage.exporter(), kind, key, "is ineligible", is_headless).await?;

    services.delete("web", &kube::api::DeleteParams::default()).await?;
    let web = Workload::deploy(stage.exporter(), ServiceSpec::http(&namespace, "web"), 1).await?;
    condition(stage.exporter(), kind, key, ("Valid", "True")).await?;
    condition(stage.exporter(), kind, key, ("Conflict", "False")).await?;
    wait_exists(stage.hub(), kinds::SERVICE_IMPORT, &namespace, "web", DEADLINE).await?;
    unexport(stage.exporter(), &namespace, "web").await?;
    stage.nothing_left(&namespace).await?;
    web.delete().await
}
