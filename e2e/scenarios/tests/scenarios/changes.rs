//! What users change about Services and imports that are live.

use anyhow::{Context, Result, ensure};
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{kinds, labels};
use fleet_testbed::exchange::{
    derived_service, export, import, imported_slices, unimport, wait_gone, wait_imported,
};
use fleet_testbed::objects::{edit, find};
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::{ManualService, ServiceSpec, Workload, next_address};
use kube::api::DynamicObject;
use serde_json::json;

use crate::stage::{DEADLINE, IMPORTER, Stage, accepted, becomes, condition};
use crate::tests::Tests;

pub(crate) fn add(tests: &mut Tests) {
    tests.beside("changes::slices_come_and_go", slices_come_and_go);
    tests.beside("changes::a_port_change_reaches_importers", a_port_change_reaches_importers);
    tests.beside("changes::an_import_is_re_pointed", an_import_is_re_pointed);
    tests.beside("changes::an_import_is_made_anew", an_import_is_made_anew);
    tests.beside("changes::a_service_is_made_anew", a_service_is_made_anew);
    tests.beside("changes::a_second_import_takes_over", a_second_import_takes_over);
}

async fn slices_come_and_go(stage: &Stage) -> Result<()> {
    let mut crossing = stage.crossing("slices", &[IMPORTER]).await?;
    let more: Vec<String> = (0..3).map(|_| next_address()).collect();
    crossing.service.add_slice("web-more", &more).await?;
    crossing.addresses.extend(more.iter().cloned());
    crossing.arrived().await?;
    let derived = crossing.derived(IMPORTER).await?;
    ensure!(imported_slices(stage.importer(), &derived).await?.len() == 2);

    crossing.service.remove_slice("web-more").await?;
    crossing.addresses.retain(|address| !more.contains(address));
    crossing.arrived().await?;
    // Not only its addresses: the slice itself is gone, here and on the hub.
    wait_until("the slice is gone everywhere", DEADLINE, async || {
        let left = stage.leftovers_of(&crossing.namespace).await?;
        let slices =
            [kinds::ENDPOINT_SLICE, kinds::ENDPOINT_SLICE_EXPORT, kinds::ENDPOINT_SLICE_IMPORT];
        Ok(left.iter().filter(|one| slices.contains(&one.kind)).count() == 3)
    })
    .await?;

    // The last one goes, and another comes in its place.
    crossing.service.remove_slice("web").await?;
    crossing.addresses.clear();
    crossing.arrived().await?;
    let other = next_address();
    crossing.service.add_slice("web-other", std::slice::from_ref(&other)).await?;
    crossing.addresses.insert(other);
    crossing.arrived().await?;

    // A slice that leaves the Service by its label leaves the importers.
    let key = (crossing.namespace.as_str(), "web-other");
    let elsewhere = json!({ "metadata": { "labels": { labels::SERVICE_NAME: "elsewhere" } } });
    edit(stage.exporter(), kinds::ENDPOINT_SLICE, key, elsewhere).await?;
    crossing.addresses.clear();
    crossing.arrived().await?;
    crossing.withdraw().await
}

async fn a_port_change_reaches_importers(stage: &Stage) -> Result<()> {
    let namespace = stage.namespace("ports").await?;
    let mut web =
        Workload::deploy(stage.exporter(), ServiceSpec::http(&namespace, "web"), 2).await?;
    export(stage.exporter(), &namespace, "web").await?;
    import(stage.importer(), &namespace, "web", "web").await?;
    wait_imported(stage.importer(), &namespace, "web", &web.addresses(), DEADLINE).await?;

    let spec = ServiceSpec::new(&namespace, "web")
        .port("http", "TCP", 81, 9090)
        .port("metrics", "TCP", 9100, 9100);
    web.set_ports(spec).await?;
    let derived = format!("{namespace}-web");
    let has_ports = |service: &DynamicObject| {
        let ports = service.data["spec"]["ports"].as_array();
        let ports = ports.into_iter().flatten().map(|port| (&port["name"], &port["port"]));
        ports.collect::<Vec<_>>()
            == [(&json!("http"), &json!(81)), (&json!("metrics"), &json!(9100))]
    };
    let key = (SYSTEM_NAMESPACE, derived.as_str());
    becomes(stage.importer(), kinds::SERVICE, key, "has the ports", has_ports).await?;
    wait_until("imported slices have the ports", DEADLINE, async || {
        let slices = imported_slices(stage.importer(), &derived).await?;
        let ports = slices.iter().map(|slice| {
            let mut ports: Vec<_> =
                slice.ports.iter().flatten().filter_map(|port| port.port).collect();
            ports.sort_unstable();
            ports
        });
        Ok(!slices.is_empty() && ports.into_iter().all(|ports| ports == [9090, 9100]))
    })
    .await?;
    wait_imported(stage.importer(), &namespace, "web", &web.addresses(), DEADLINE).await?;
    let on_hub = (namespace.as_str(), "web");
    let resolved =
        find(stage.hub(), kinds::SERVICE_IMPORT, on_hub).await?.context("no import on the hub")?;
    ensure!(resolved.data["status"]["ports"][0]["port"] == 81, "{}", resolved.data["status"]);
    accepted(stage, on_hub).await
}

async fn an_import_is_re_pointed(stage: &Stage) -> Result<()> {
    let first = stage.crossing("pointing", &[IMPORTER]).await?;
    let namespace = first.namespace.clone();
    let second = stage.exported(&namespace, "desk").await?;
    accepted(stage, second.key()).await?;

    let kind = kinds::MULTI_CLUSTER_SERVICE;
    let point = json!({ "spec": { "serviceImport": { "name": "desk" } } });
    edit(stage.importer(), kind, first.key(), point).await?;
    wait_imported(stage.importer(), &namespace, "web", &second.addresses, DEADLINE).await?;
    let points = |mcs: &DynamicObject| {
        let labels = mcs.metadata.labels.clone().unwrap_or_default();
        labels.get(labels::SERVICE_IMPORT).is_some_and(|name| name == "desk")
    };
    becomes(stage.importer(), kind, first.key(), "names the other import", points).await?;
    wait_gone(stage.importer(), kinds::SERVICE_IMPORT, &namespace, "web", DEADLINE).await?;
    let request = fleet_api::names::internal_import_candidates(&fleet_api::ObjectName::new(
        namespace.as_str(),
        "web",
    ))
    .next()
    .context("a name")?;
    let hub_namespace = fleet_api::names::member_namespace(stage.importer().name());
    let request = (hub_namespace.as_str(), request.as_str());
    let kind_of_request = kinds::INTERNAL_SERVICE_IMPORT;
    wait_gone(stage.hub(), kind_of_request, request.0, request.1, DEADLINE).await?;

    // To a Service that no cluster exports: the import serves no client, and reports so.
    let point = json!({ "spec": { "serviceImport": { "name": "nobody" } } });
    edit(stage.importer(), kind, first.key(), point).await?;
    condition(stage.importer(), kind, first.key(), ("Valid", "Unknown")).await?;
    let nothing = std::collections::BTreeSet::new();
    wait_imported(stage.importer(), &namespace, "web", &nothing, DEADLINE).await?;

    // And back.
    let point = json!({ "spec": { "serviceImport": { "name": "web" } } });
    edit(stage.importer(), kind, first.key(), point).await?;
    first.arrived().await?;
    condition(stage.importer(), kind, first.key(), ("Valid", "True")).await?;
    fleet_testbed::exchange::unexport(stage.exporter(), &namespace, "desk").await?;
    first.withdraw().await
}

/// Deleted and made again at once: the one that ends and its successor have one name.
async fn an_import_is_made_anew(stage: &Stage) -> Result<()> {
    let mut crossing = stage.crossing("anew", &[IMPORTER]).await?;
    let kind = kinds::MULTI_CLUSTER_SERVICE;
    for _ in 0..3 {
        unimport(stage.importer(), &crossing.namespace, "web").await?;
        wait_gone(stage.importer(), kind, &crossing.namespace, "web", DEADLINE).await?;
        import(stage.importer(), &crossing.namespace, "web", "web").await?;
        crossing.change(2).await?;
        crossing.arrived().await?;
        condition(stage.importer(), kind, crossing.key(), ("Valid", "True")).await?;
    }
    crossing.withdraw().await
}

async fn a_service_is_made_anew(stage: &Stage) -> Result<()> {
    let crossing = stage.crossing("service", &[IMPORTER]).await?;
    let (namespace, importer) = (crossing.namespace.clone(), stage.importer());
    let key = (namespace.as_str(), "web");
    crossing.service.delete().await?;
    let kind = kinds::SERVICE_EXPORT;
    let gone = condition(stage.exporter(), kind, key, ("Valid", "False")).await?;
    ensure!(gone["reason"] == "ServiceNotFound", "{gone}");
    let nothing = std::collections::BTreeSet::new();
    wait_imported(importer, &namespace, "web", &nothing, DEADLINE).await?;
    wait_gone(stage.hub(), kinds::SERVICE_IMPORT, &namespace, "web", DEADLINE).await?;

    let spec = ServiceSpec::new(&namespace, "web").port("grpc", "TCP", 90, 9090);
    let address = next_address();
    let service =
        ManualService::deploy(stage.exporter(), &spec, std::slice::from_ref(&address)).await?;
    wait_imported(importer, &namespace, "web", &[address].into(), DEADLINE).await?;
    condition(stage.exporter(), kind, key, ("Valid", "True")).await?;
    condition(stage.exporter(), kind, key, ("Conflict", "False")).await?;
    condition(importer, kinds::MULTI_CLUSTER_SERVICE, key, ("Valid", "True")).await?;

    // The same at once: no time for a withdrawal between the two.
    service.delete().await?;
    let address = next_address();
    let service = ManualService::deploy(
        stage.exporter(),
        &ServiceSpec::http(&namespace, "web"),
        std::slice::from_ref(&address),
    )
    .await?;
    wait_imported(importer, &namespace, "web", &[address].into(), DEADLINE).await?;
    let derived = derived_service(importer, &namespace, "web").await?.context("bound")?;
    let has_port = |service: &DynamicObject| service.data["spec"]["ports"][0]["port"] == 80;
    let derived = (SYSTEM_NAMESPACE, derived.as_str());
    becomes(importer, kinds::SERVICE, derived, "has the new port", has_port).await?;
    service.delete().await
}

async fn a_second_import_takes_over(stage: &Stage) -> Result<()> {
    let crossing = stage.crossing("second", &[IMPORTER]).await?;
    let (namespace, importer) = (crossing.namespace.as_str(), stage.importer());
    import(importer, namespace, "other", "web").await?;
    let kind = kinds::MULTI_CLUSTER_SERVICE;
    let second = (namespace, "other");
    let waits = condition(importer, kind, second, ("Valid", "Unknown")).await?;
    let message = waits["message"].as_str().unwrap_or_default();
    ensure!(message.contains("web"), "it does not say who holds the import: {message}");
    crossing.arrived().await?;

    unimport(importer, namespace, "web").await?;
    wait_gone(importer, kind, namespace, "web", DEADLINE).await?;
    wait_imported(importer, namespace, "other", &crossing.addresses, DEADLINE).await?;
    condition(importer, kind, second, ("Valid", "True")).await?;
    unimport(importer, namespace, "other").await?;
    wait_gone(importer, kind, namespace, "other", DEADLINE).await?;
    fleet_testbed::exchange::unexport(stage.exporter(), namespace, "web").await?;
    stage.nothing_left(namespace).await
}
