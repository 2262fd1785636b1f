//! A user edits or deletes by hand what the agents have made: it heals, and no other Service is harmed.

use anyhow::{Context, Result, ensure};
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{ResourceKind, events, kinds, labels};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::exchange::{imported_slices, unexport};
use fleet_testbed::objects::{Found, edit, find, remove};
use fleet_testbed::wait::{wait_for, wait_until};
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::{DynamicObject, ListParams, PostParams};
use serde_json::{Value, json};

use crate::stage::{Crossing, DEADLINE, IMPORTER, Stage, accepted, becomes, condition, name_of};
use crate::tests::Tests;

pub(crate) fn add(tests: &mut Tests) {
    tests.beside("tampering::an_imported_slice_heals", an_imported_slice_heals);
    tests.beside("tampering::a_derived_service_heals", a_derived_service_heals);
    tests.beside("tampering::a_foreign_service_is_not_bound", a_foreign_service_is_not_bound);
    tests.beside("tampering::labels_of_an_import_heal", labels_of_an_import_heal);
    tests.beside("tampering::objects_on_the_hub_heal", objects_on_the_hub_heal);
    tests.beside("tampering::the_members_import_heals", the_members_import_heals);
    tests.beside("tampering::a_foreign_slice_stays", a_foreign_slice_stays);
}

/// Its one imported slice.
async fn imported_slice(stage: &Stage, crossing: &Crossing<'_>) -> Result<String> {
    let derived = crossing.derived(IMPORTER).await?;
    let slices = imported_slices(stage.importer(), &derived).await?;
    ensure!(slices.len() == 1, "{} slices", slices.len());
    Ok(name_of(slices[0].metadata.name.as_ref())?.to_owned())
}

async fn an_imported_slice_heals(stage: &Stage) -> Result<()> {
    let mut crossing = stage.crossing("slice", &[IMPORTER]).await?;
    let name = imported_slice(stage, &crossing).await?;
    let (importer, kind) = (stage.importer(), kinds::ENDPOINT_SLICE);
    let key = (SYSTEM_NAMESPACE, name.as_str());
    let derived = crossing.derived(IMPORTER).await?;

    for tampering in [
        json!({ "endpoints": [{ "addresses": ["192.0.2.66"] }] }),
        json!({ "endpoints": [] }),
        json!({ "ports": [{ "name": "http", "port": 6666, "protocol": "TCP" }] }),
        json!({ "metadata": { "labels": { labels::SERVICE_NAME: "elsewhere" } } }),
        json!({ "metadata": { "labels": { labels::SERVICE_NAME: null } } }),
        json!({ "metadata": { "labels": { labels::MANAGED_BY: "somebody" } } }),
        json!({ "metadata": { "annotations": { fleet_api::annotations::FLEET_SERVICE: null } } }),
        json!({ "metadata": { "annotations": { fleet_api::annotations::FLEET_SERVICE: "a/b" } } }),
    ] {
        let what = format!("heals from {tampering}");
        edit(importer, kind, key, tampering).await?;
        let healed = |slice: &DynamicObject| {
            let labels = slice.metadata.labels.clone().unwrap_or_default();
            labels.get(labels::SERVICE_NAME) == Some(&derived)
                && labels.get(labels::MANAGED_BY).is_some_and(|by| by == labels::MANAGED_BY_IMPORT)
                && slice.data["ports"][0]["port"] == 8080
        };
        becomes(importer, kind, key, &what, healed).await?;
        crossing.arrived().await?;
        // Whatever was done to it, it still follows.
        crossing.change(1).await?;
        crossing.arrived().await.context(what)?;
    }
    remove(importer, kind, key).await?;
    crossing.arrived().await.context("deleted")?;
    crossing.change(1).await?;
    crossing.arrived().await?;
    crossing.withdraw().await
}

async fn a_derived_service_heals(stage: &Stage) -> Result<()> {
    let crossing = stage.crossing("derived", &[IMPORTER]).await?;
    let (importer, kind) = (stage.importer(), kinds::SERVICE);
    let name = crossing.derived(IMPORTER).await?;
    let key = (SYSTEM_NAMESPACE, name.as_str());
    let healthy = |service: &DynamicObject| {
        let (spec, labels) = (&service.data["spec"], service.metadata.labels.as_ref());
        let back = labels.and_then(|labels| labels.get(labels::MULTI_CLUSTER_SERVICE_NAME));
        spec["ports"].as_array().is_some_and(|ports| ports.len() == 1)
            && spec["ports"][0]["port"] == 80
            && spec["selector"].is_null()
            && spec["type"] == "LoadBalancer"
            && back.is_some_and(|name| name == "web")
            && service.metadata.deletion_timestamp.is_none()
    };
    becomes(importer, kind, key, "is healthy", healthy).await?;

    for tampering in [
        json!({ "spec": { "ports": [{ "name": "http", "port": 81, "targetPort": 8080 }] } }),
        json!({ "spec": { "selector": { "app": "somebody" } } }),
        json!({ "spec": { "type": "ExternalName", "externalName": "example.com" } }),
        json!({ "metadata": { "annotations": { fleet_api::annotations::FLEET_SERVICE: null } } }),
    ] {
        let what = format!("heals from {tampering}");
        let tampered = edit(importer, kind, key, tampering).await?;
        let version = tampered.metadata.resource_version;
        let healed = |service: &DynamicObject| {
            service.metadata.resource_version != version && healthy(service)
        };
        becomes(importer, kind, key, &what, healed).await?;
        crossing.arrived().await?;
    }

    // Without its back-pointer it has no owner: another takes its place, or it is taken back.
    let orphan = json!({ "metadata": { "labels": { labels::MULTI_CLUSTER_SERVICE_NAME: null } } });
    edit(importer, kind, key, orphan).await?;
    bound_to_a_healthy_service(stage, &crossing, healthy).await?;

    let name = crossing.derived(IMPORTER).await?;
    remove(importer, kind, (SYSTEM_NAMESPACE, &name)).await?;
    bound_to_a_healthy_service(stage, &crossing, healthy).await?;
    crossing.withdraw().await
}

async fn bound_to_a_healthy_service(
    stage: &Stage,
    crossing: &Crossing<'_>,
    healthy: impl Fn(&DynamicObject) -> bool,
) -> Result<()> {
    wait_until("the import is bound to a healthy Service", DEADLINE, async || {
        let name = crossing.derived(IMPORTER).await?;
        let service = find(stage.importer(), kinds::SERVICE, (SYSTEM_NAMESPACE, &name)).await?;
        Ok(service.is_some_and(|service| healthy(&service)))
    })
    .await?;
    crossing.arrived().await
}

/// The `derived-service` label is output: made to name another Service, it is rewritten, and that Service is not
/// touched.
async fn a_foreign_service_is_not_bound(stage: &Stage) -> Result<()> {
    let crossing = stage.crossing("foreign", &[IMPORTER]).await?;
    let importer = stage.importer();
    let derived = crossing.derived(IMPORTER).await?;
    // Outside the names of this namespace, so that nothing of it counts as left over.
    let victim = format!("victim-of-{}", crossing.namespace);
    let services =
        fleet_testbed::objects::api(importer.client(), kinds::SERVICE, Some(SYSTEM_NAMESPACE));
    let service: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": victim },
        "spec": { "ports": [{ "port": 7777 }] },
    }))?;
    let before = services.create(&PostParams::default(), &service).await?;

    let kind = kinds::MULTI_CLUSTER_SERVICE;
    for name in [victim.as_str(), "no-such-service", "Not-A-DNS-Name"] {
        let label = json!({ "metadata": { "labels": { labels::DERIVED_SERVICE: name } } });
        edit(importer, kind, crossing.key(), label).await?;
        let rewritten = |mcs: &DynamicObject| {
            let labels = mcs.metadata.labels.as_ref();
            labels.and_then(|labels| labels.get(labels::DERIVED_SERVICE)) == Some(&derived)
        };
        becomes(importer, kind, crossing.key(), "names its own Service", rewritten).await?;
        crossing.arrived().await?;
        event(importer, crossing.key(), name).await?;
    }
    ensure!(imported_slices(importer, &victim).await?.is_empty(), "slices bound to the victim");
    crossing.withdraw().await?;
    let after = services.get(&victim).await?;
    ensure!(after.metadata.resource_version == before.metadata.resource_version, "{after:?}");
    services.delete(&victim, &kube::api::DeleteParams::default()).await?;
    Ok(())
}

/// Waits for the Event about the label that was rewritten.
async fn event(cluster: &Cluster, key: (&str, &str), named: &str) -> Result<()> {
    let all: Api<Event> = Api::namespaced(cluster.client(), key.0);
    let what = format!("an Event about the label that named {named}");
    wait_until(&what, DEADLINE, async || {
        let found = all.list(&ListParams::default()).await?;
        Ok(found.iter().any(|event| {
            let about = event.regarding.as_ref().and_then(|about| about.name.as_deref());
            about == Some(key.1)
                && event.reason.as_deref() == Some(events::DERIVED_SERVICE_LABEL_REWRITTEN)
                && event.note.as_ref().is_some_and(|note| note.contains(named))
        }))
    })
    .await
}

async fn labels_of_an_import_heal(stage: &Stage) -> Result<()> {
    let crossing = stage.crossing("labels", &[IMPORTER]).await?;
    let (importer, kind) = (stage.importer(), kinds::MULTI_CLUSTER_SERVICE);
    let derived = crossing.derived(IMPORTER).await?;
    for tampering in [
        json!({ "metadata": { "labels": null } }),
        json!({ "metadata": { "labels": { labels::SERVICE_IMPORT: "elsewhere" } } }),
        json!({ "metadata": { "finalizers": null } }),
        json!({ "metadata": { "labels": null, "finalizers": null } }),
    ] {
        edit(importer, kind, crossing.key(), tampering.clone()).await?;
        let healed = |mcs: &DynamicObject| {
            let labels = mcs.metadata.labels.clone().unwrap_or_default();
            labels.get(labels::DERIVED_SERVICE) == Some(&derived)
                && labels.get(labels::SERVICE_IMPORT).is_some_and(|name| name == "web")
                && mcs.metadata.finalizers.as_ref().is_some_and(|held| held.len() == 1)
        };
        becomes(importer, kind, crossing.key(), &format!("heals from {tampering}"), healed).await?;
        crossing.arrived().await?;
    }
    // Its status is the agent's too.
    let status = json!({ "status": { "conditions": [] } });
    fleet_testbed::objects::api(importer.client(), kind, Some(crossing.namespace.as_str()))
        .patch_status("web", &kube::api::PatchParams::default(), &kube::api::Patch::Merge(status))
        .await?;
    condition(importer, kind, crossing.key(), ("Valid", "True")).await?;
    crossing.withdraw().await
}

/// Each object of an exchange on the hub is deleted by hand, and comes back as another.
async fn objects_on_the_hub_heal(stage: &Stage) -> Result<()> {
    let mut crossing = stage.crossing("hub", &[IMPORTER]).await?;
    for kind in [
        kinds::ENDPOINT_SLICE_IMPORT,
        kinds::ENDPOINT_SLICE_EXPORT,
        kinds::INTERNAL_SERVICE_IMPORT,
        kinds::INTERNAL_SERVICE_EXPORT,
        kinds::SERVICE_IMPORT,
    ] {
        let before = on_hub(stage, kind, &crossing.namespace).await?;
        let uid = before.object.metadata.uid.clone();
        remove(stage.hub(), kind, key_of(&before.object)?).await?;
        let what = format!("another {} after a deletion by hand", kind.kind);
        wait_for(&what, DEADLINE, async || {
            let now = on_hub(stage, kind, &crossing.namespace).await?;
            Ok((now.object.metadata.uid != uid).then_some(()))
        })
        .await?;
        crossing.arrived().await.context(what.clone())?;
        crossing.change(1).await?;
        crossing.arrived().await.context(what)?;
        accepted(stage, crossing.key()).await?;
        let mcs = kinds::MULTI_CLUSTER_SERVICE;
        condition(stage.importer(), mcs, crossing.key(), ("Valid", "True")).await?;
    }
    // Edited, they heal too.
    for (kind, tampering) in edits() {
        let before = on_hub(stage, kind, &crossing.namespace).await?;
        edit(stage.hub(), kind, key_of(&before.object)?, tampering.clone()).await?;
        let asks_for =
            |object: &DynamicObject| object.data["spec"]["serviceImportReference"]["uid"].clone();
        wait_for("a request asks for its import again", DEADLINE, async || {
            let now = on_hub(stage, kind, &crossing.namespace).await?;
            Ok((asks_for(&now.object) == asks_for(&before.object)).then_some(()))
        })
        .await?;
        crossing.arrived().await.with_context(|| format!("{}: {tampering}", kind.kind))?;
        crossing.change(1).await?;
        crossing.arrived().await.with_context(|| format!("{}: {tampering}", kind.kind))?;
    }
    crossing.withdraw().await
}

fn edits() -> Vec<(ResourceKind, Value)> {
    let endpoints = json!({ "spec": { "endpoints": [{ "addresses": ["192.0.2.66"] }] } });
    let claim = fleet_api::annotations::SERVICE_IN_USE_BY;
    vec![
        (kinds::ENDPOINT_SLICE_IMPORT, endpoints.clone()),
        (kinds::ENDPOINT_SLICE_EXPORT, endpoints),
        (kinds::SERVICE_IMPORT, json!({ "metadata": { "annotations": { claim: null } } })),
        (kinds::SERVICE_IMPORT, json!({ "metadata": { "annotations": { claim: "no JSON" } } })),
        (kinds::SERVICE_IMPORT, json!({ "metadata": { "finalizers": null } })),
        (
            kinds::INTERNAL_SERVICE_IMPORT,
            json!({ "spec": { "serviceImportReference": { "uid": "another" } } }),
        ),
        (
            kinds::INTERNAL_SERVICE_EXPORT,
            json!({ "spec": { "ports": [{ "name": "x", "port": 1, "protocol": "TCP" }] } }),
        ),
    ]
}

/// The one object of a kind that the hub has for a user namespace.
async fn on_hub(stage: &Stage, kind: ResourceKind, namespace: &str) -> Result<Found> {
    let mut found = stage.leftovers_of(namespace).await?;
    found.retain(|one| one.kind == kind && one.cluster == stage.hub().name());
    ensure!(found.len() == 1, "{} of {}", found.len(), kind.kind);
    found.pop().context("one")
}

fn key_of(object: &DynamicObject) -> Result<(&str, &str)> {
    let namespace = name_of(object.metadata.namespace.as_ref())?;
    Ok((namespace, name_of(object.metadata.name.as_ref())?))
}

async fn the_members_import_heals(stage: &Stage) -> Result<()> {
    let mut crossing = stage.crossing("member", &[IMPORTER]).await?;
    let (importer, kind) = (stage.importer(), kinds::SERVICE_IMPORT);
    let before = find(importer, kind, crossing.key()).await?.context("an import")?;
    remove(importer, kind, crossing.key()).await?;
    let another = |import: &DynamicObject| {
        import.metadata.uid != before.metadata.uid && import.metadata.deletion_timestamp.is_none()
    };
    becomes(importer, kind, crossing.key(), "is another", another).await?;
    crossing.change(2).await?;
    crossing.arrived().await?;
    let mcs = kinds::MULTI_CLUSTER_SERVICE;
    condition(importer, mcs, crossing.key(), ("Valid", "True")).await?;
    crossing.withdraw().await
}

/// A slice in the agents' namespace that a user made for another Service.
async fn a_foreign_slice_stays(stage: &Stage) -> Result<()> {
    let crossing = stage.crossing("others", &[IMPORTER]).await?;
    let importer = stage.importer();
    let name = format!("own-of-{}", crossing.namespace);
    let slices = fleet_testbed::objects::api(
        importer.client(),
        kinds::ENDPOINT_SLICE,
        Some(SYSTEM_NAMESPACE),
    );
    let slice: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": { "name": name, "labels": { labels::SERVICE_NAME: name } },
        "addressType": "IPv4", "endpoints": [{ "addresses": ["192.0.2.1"] }], "ports": [],
    }))?;
    let before = slices.create(&PostParams::default(), &slice).await?;
    unexport(stage.exporter(), &crossing.namespace, "web").await?;
    let mcs = kinds::MULTI_CLUSTER_SERVICE;
    condition(importer, mcs, crossing.key(), ("Valid", "Unknown")).await?;
    fleet_testbed::exchange::unimport(importer, &crossing.namespace, "web").await?;
    stage.nothing_left(&crossing.namespace).await?;
    let after = slices.get(&name).await?;
    ensure!(after.metadata.resource_version == before.metadata.resource_version);
    slices.delete(&name, &kube::api::DeleteParams::default()).await?;
    Ok(())
}
