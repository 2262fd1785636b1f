//! What one member or one user writes to harm others is reported and harms no one.

use anyhow::{Context, Result, ensure};
use fleet_api::names::member_namespace;
use fleet_api::{ResourceKind, annotations, finalizers, kinds};
use fleet_testbed::exchange::{export, unexport};
use fleet_testbed::objects::{api, edit, find, remove};
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::next_address;
use k8s_openapi::api::events::v1::Event;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::bounds::{EXPORT, create, internal_export};
use crate::stage::{DEADLINE, IMPORTER, SECOND_IMPORTER, Stage, becomes, condition};
use crate::tests::Tests;

/// A time that API servers accept and that no program can read.
const NO_TIME: &str = "2026-01-01T00:00:00+99:59";

pub(crate) fn add(tests: &mut Tests) {
    tests.beside("hostile::what_cannot_be_decoded_harms_no_other", undecodable);
    tests.beside("hostile::an_owner_does_not_hide_a_service_import", owner);
    tests.beside("hostile::a_taken_name_keeps_no_slice_away", squatter);
    let reserved = addresses_of_the_importer_are_no_endpoints;
    tests.beside("hostile::addresses_of_the_importer_are_no_endpoints", reserved);
}

fn reference(member: &str, kind: &str, (namespace, name): (&str, &str)) -> Value {
    json!({
        "clusterId": member, "kind": kind, "namespace": namespace, "name": name,
        "namespacedName": format!("{namespace}/{name}"), "resourceVersion": "1", "generation": 1,
        "uid": format!("{namespace}-{name}"),
    })
}

/// An object of a member, as its agent creates it.
fn object(member: &str, kind: ResourceKind, name: &str, finalizer: &str, spec: &Value) -> Value {
    let metadata = json!({
        "name": name, "namespace": member_namespace(member), "finalizers": [finalizer],
    });
    let (version, kind) = (kind.api_version(), kind.kind);
    json!({ "apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec })
}

/// A slice of a Service without endpoints.
fn slice(member: &str, name: &str, (namespace, service): (&str, &str)) -> Value {
    let spec = json!({
        "addressType": "IPv4", "endpoints": [],
        "endpointSliceReference": reference(member, "EndpointSlice", (namespace, "slice")),
        "ownerServiceReference": { "namespace": namespace, "name": service,
            "namespacedName": format!("{namespace}/{service}") },
    });
    let kind = kinds::ENDPOINT_SLICE_EXPORT;
    object(member, kind, name, finalizers::ENDPOINT_SLICE_EXPORT, &spec)
}

/// Deletes an object and waits until the hub agent has released it.
async fn released(stage: &Stage, kind: ResourceKind, key: (&str, &str)) -> Result<()> {
    remove(stage.hub(), kind, key).await?;
    let what = format!("{} {} is released", kind.kind, key.1);
    wait_until(&what, DEADLINE, async || Ok(find(stage.hub(), kind, key).await?.is_none())).await
}

/// A member stores an export, a request and a slice that no program can decode for a Service that crosses. They are
/// reported, the Service goes on, enters another member, and the objects can be deleted.
async fn undecodable(stage: &Stage) -> Result<()> {
    let mut crossing = stage.crossing("undecodable", &[IMPORTER]).await?;
    let (namespace, name) = (crossing.namespace.clone(), crossing.name.clone());
    let service = (namespace.as_str(), name.as_str());
    let (member, theirs) = stage.guest("garbled").await?;

    let mut bad_export = internal_export(&member, service, 1);
    bad_export["spec"]["serviceReference"]["exportedSince"] = json!(NO_TIME);
    let mut asked = reference(&member, "ServiceImport", service);
    asked["exportedSince"] = json!(NO_TIME);
    let request = kinds::INTERNAL_SERVICE_IMPORT;
    let plain = format!("{namespace}-{name}");
    let spec = json!({ "serviceImportReference": asked });
    let bad_request = object(&member, request, &plain, finalizers::INTERNAL_SERVICE_IMPORT, &spec);
    let mut bad_slice = slice(&member, "garbled", service);
    bad_slice["spec"]["endpointSliceReference"]["exportedSince"] = json!(NO_TIME);
    let slices = kinds::ENDPOINT_SLICE_EXPORT;
    for (kind, object) in [(EXPORT, bad_export), (request, bad_request), (slices, bad_slice)] {
        create(stage, kind, object).await?;
    }

    let key = (theirs.as_str(), plain.as_str());
    let valid = condition(stage.hub(), EXPORT, key, ("Valid", "False")).await?;
    let message = valid["message"].as_str().unwrap_or_default();
    ensure!(message.contains("it cannot be decoded: spec: "), "{valid}");
    // These have no conditions.
    for (kind, name) in [(request, &*plain), (slices, "garbled")] {
        let key = (theirs.as_str(), name);
        becomes(stage.hub(), kind, key, "has the reason", |object| {
            let why = object.annotations().get(annotations::REJECTED);
            why.is_some_and(|why| why.contains("it cannot be decoded: spec: "))
        })
        .await?;
    }
    crossing.change(2).await?;
    crossing.arrived().await?;
    crossing.enter(SECOND_IMPORTER).await?;
    crossing.arrived().await?;
    for (kind, name) in [(EXPORT, &*plain), (request, &*plain), (slices, "garbled")] {
        released(stage, kind, (&theirs, name)).await?;
    }
    crossing.change(1).await?;
    crossing.arrived().await?;
    crossing.withdraw().await
}

/// A user adds an owner to a ServiceImport on the hub: it is taken off, and another member can import.
async fn owner(stage: &Stage) -> Result<()> {
    let mut crossing = stage.crossing("owned", &[IMPORTER]).await?;
    let (namespace, _) = crossing.key();
    let kind = kinds::SERVICE_IMPORT;
    // One that exists: the garbage collector leaves the ServiceImport alone.
    let maps = ResourceKind { kind: "ConfigMap", plural: "configmaps", ..kinds::SERVICE };
    let owner = find(stage.hub(), maps, (namespace, "kube-root-ca.crt")).await?;
    let uid = owner.context("a ConfigMap in every namespace")?.uid();
    let owners = json!({ "metadata": { "ownerReferences": [{ "apiVersion": "v1",
        "kind": "ConfigMap", "name": "kube-root-ca.crt", "uid": uid, "controller": true }] } });
    edit(stage.hub(), kind, crossing.key(), owners).await?;
    becomes(stage.hub(), kind, crossing.key(), "has no owner", |import| {
        import.metadata.owner_references.as_ref().is_none_or(Vec::is_empty)
    })
    .await?;
    crossing.change(2).await?;
    crossing.enter(SECOND_IMPORTER).await?;
    crossing.arrived().await?;
    crossing.withdraw().await
}

/// While a Service is not exported, another member takes the name of its slice in the importer. When the Service is
/// exported again, its slice arrives under another name.
async fn squatter(stage: &Stage) -> Result<()> {
    let crossing = stage.crossing("squatter", &[IMPORTER]).await?;
    let (namespace, name) = (crossing.namespace.clone(), crossing.name.clone());
    let service = (namespace.as_str(), name.as_str());
    let slices = kinds::ENDPOINT_SLICE_EXPORT;
    let home = member_namespace(stage.exporter().name());
    let exports = api(stage.hub().client(), slices, Some(&home));
    let exported = exports.list(&ListParams::default()).await?;
    let owned = |slice: &&kube::api::DynamicObject| {
        slice.data["spec"]["ownerServiceReference"]["namespacedName"]
            == format!("{namespace}/{name}")
    };
    let taken = exported.items.iter().find(owned).context("an exported slice")?.name_any();

    let (member, theirs) = stage.guest("squat").await?;
    unexport(stage.exporter(), &namespace, &name).await?;
    let copies = kinds::ENDPOINT_SLICE_IMPORT;
    let importer = member_namespace(stage.importer().name());
    // A copy that is being deleted still has the name.
    let gone = async || {
        let exported = find(stage.hub(), slices, (&home, &taken)).await?;
        Ok(exported.is_none() && find(stage.hub(), copies, (&importer, &taken)).await?.is_none())
    };
    wait_until("the slice and its copy are gone", DEADLINE, gone).await?;
    let mut theirs_export = internal_export(&member, service, 1);
    theirs_export["spec"]["ports"] =
        json!([{ "name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080 }]);
    create(stage, EXPORT, theirs_export).await?;
    create(stage, slices, slice(&member, &taken, service)).await?;
    let is_theirs = |copy: &kube::api::DynamicObject| {
        copy.annotations().get(annotations::ORIGIN_NAMESPACE) == Some(&theirs)
    };
    becomes(stage.hub(), copies, (&importer, &taken), "is the squatter's", is_theirs).await?;

    export(stage.exporter(), &namespace, &name).await?;
    crossing.arrived().await?;
    let kept = find(stage.hub(), copies, (&importer, &taken)).await?.context("the first copy")?;
    ensure!(is_theirs(&kept), "the first copy keeps its name");

    released(stage, slices, (&theirs, &taken)).await?;
    let plain = format!("{namespace}-{name}");
    released(stage, EXPORT, (&theirs, &plain)).await?;
    crossing.arrived().await?;
    crossing.withdraw().await
}

/// A member exports addresses of the importer: of its Services, of its API server, of a Node. They are skipped with an Event, the
/// others arrive. When the Node is gone, its address is one like any other.
async fn addresses_of_the_importer_are_no_endpoints(stage: &Stage) -> Result<()> {
    let mut crossing = stage.crossing("reserved", &[IMPORTER]).await?;
    let importer = stage.importer();
    let services = api(importer.client(), kinds::SERVICE, Some("default"));
    let address = services.get("kubernetes").await?.data["spec"]["clusterIP"].clone();
    let of_service = address.as_str().context("an address")?.to_owned();
    // The testbed's API servers do not list themselves.
    let server = find(importer, kinds::ENDPOINT_SLICE, ("default", "kubernetes")).await?;
    let of_server = server
        .and_then(|slice| slice.data["endpoints"][0]["addresses"][0].as_str().map(str::to_owned));
    let of_node = next_address();
    let nodes = api(importer.client(), kinds::NODE, None);
    let node = stage.namespace_name("reserved-node");
    let object = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": node } });
    nodes.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
    let status =
        json!({ "status": { "addresses": [{ "type": "InternalIP", "address": of_node }] } });
    nodes.patch_status(&node, &PatchParams::default(), &Patch::Merge(status)).await?;
    // The agent has seen the Node when it knows an object that is younger.
    crossing.change(1).await?;
    crossing.arrived().await?;

    let good = next_address();
    let all = [good.clone(), of_service.clone(), of_node.clone()].into_iter().chain(of_server);
    crossing.service.set_addresses(&all.collect::<Vec<_>>()).await?;
    crossing.addresses = [good.clone()].into();
    crossing.arrived().await?;
    let (namespace, _) = crossing.key();
    let events: Api<Event> = Api::namespaced(importer.client(), namespace);
    wait_until("the user is told", DEADLINE, async || {
        let said = events.list(&ListParams::default()).await?.items.into_iter();
        let mut told = said.filter_map(|event| event.note);
        Ok(told.any(|note| note.contains(&format!("{of_service} is in the Service range"))))
    })
    .await?;
    nodes.delete(&node, &DeleteParams::default()).await?;
    crossing.addresses = [good, of_node].into();
    crossing.arrived().await?;
    crossing.withdraw().await
}
