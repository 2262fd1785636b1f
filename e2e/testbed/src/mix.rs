//! How many writes a second all API servers do together: the writes of first exports and imports, without an agent,
//! without one waiting for another, so many at a time.
//!
//! It shows how much of a bulk import is the servers' own time.

use std::time::Instant;

use anyhow::{Context, Result};
use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace};
use fleet_api::{ResourceKind, kinds};
use futures::{StreamExt, TryStreamExt};
use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE};
use kube::Client;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::fleet::Fleet;

/// Writes that are under way at the same time, in all clusters together.
const IN_FLIGHT: usize = 16;
const NAMESPACE: &str = "bench-mix";

/// Where one kind is written.
#[derive(Clone)]
struct Place {
    client: Client,
    kind: ResourceKind,
    namespace: String,
}

/// One write of a first export and import.
struct Write {
    place: Place,
    /// The object, without its identity.
    object: Value,
    /// What is changed afterwards; without, making the object is the write.
    change: Option<Change>,
}

struct Change {
    status: bool,
    operation: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    uid: String,
    resource_version: String,
}

#[derive(Deserialize)]
struct Answer {
    metadata: Version,
}

/// Replays the writes of `services` Services between these two members. No agent may run, and what is made stays.
pub async fn rate(fleet: &Fleet, members: [usize; 2], services: usize) -> Result<f64> {
    fleet.user_namespace(NAMESPACE).await?;
    let clients = Clients::of(fleet, members);
    let mut writes = Vec::new();
    for number in 0..services {
        writes.extend(clients.first_export_and_import(number));
    }
    // What is changed has to be there; each write has an object of its own.
    let requests: Vec<(Client, Request<Vec<u8>>)> =
        futures::stream::iter(writes.iter().enumerate())
            .map(async |(number, write)| {
                let name = format!("mix-{number}");
                let request = write.request(&name).await.context(name)?;
                anyhow::Ok((write.place.client.clone(), request))
            })
            .buffered(IN_FLIGHT)
            .try_collect()
            .await?;
    let count = u32::try_from(requests.len())?;
    let begin = Instant::now();
    futures::stream::iter(requests)
        .map(async |(client, request)| send(&client, request).await)
        .buffer_unordered(IN_FLIGHT)
        .try_collect::<Vec<()>>()
        .await
        .context("replay writes")?;
    Ok(f64::from(count) / begin.elapsed().as_secs_f64())
}

impl Write {
    /// The request to be timed; where it changes an object, makes that first.
    async fn request(&self, name: &str) -> Result<Request<Vec<u8>>> {
        let ResourceKind { group, version, kind, plural, .. } = self.place.kind;
        let group = if group.is_empty() { "/api".to_owned() } else { format!("/apis/{group}") };
        let uri = format!("{group}/{version}/namespaces/{}/{plural}", self.place.namespace);
        let mut object = self.object.clone();
        object["apiVersion"] = self.place.kind.api_version().into();
        object["kind"] = kind.into();
        object["metadata"]["name"] = name.into();
        let create = Request::post(&uri)
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/json")
            .body(serde_json::to_vec(&object)?)?;
        let Some(Change { status, operation }) = &self.change else { return Ok(create) };
        let made: Answer = self.place.client.request(create).await?;
        let patch = json!([
            { "op": "test", "path": "/metadata/uid", "value": made.metadata.uid },
            { "op": "test", "path": "/metadata/resourceVersion", "value": made.metadata.resource_version },
            operation,
        ]);
        let subresource = if *status { "/status" } else { "" };
        Ok(Request::patch(format!("{uri}/{name}{subresource}"))
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/json-patch+json")
            .body(serde_json::to_vec(&patch)?)?)
    }
}

/// Who writes, and where on the hub.
struct Clients {
    hub: Client,
    exporter: Client,
    importer: Client,
    namespaces: [String; 2],
}

impl Clients {
    fn of(fleet: &Fleet, members: [usize; 2]) -> Self {
        let [exporter, importer] = members.map(|position| fleet.member(position).client());
        let namespaces = members.map(|position| member_namespace(fleet.member(position).name()));
        Self { hub: fleet.hub().client(), exporter, importer, namespaces }
    }

    /// The 17 writes of one Service with one slice.
    fn first_export_and_import(&self, number: usize) -> Vec<Write> {
        let at = |client: &Client, kind, namespace: &str| Place {
            client: client.clone(),
            kind,
            namespace: namespace.to_owned(),
        };
        let Self { hub, exporter: exports, importer: imports, namespaces } = self;
        let [exporter, importer] = namespaces;
        writes(
            Places {
                export: at(exports, kinds::SERVICE_EXPORT, NAMESPACE),
                internal_export: at(hub, kinds::INTERNAL_SERVICE_EXPORT, exporter),
                slice_export: at(hub, kinds::ENDPOINT_SLICE_EXPORT, exporter),
                import: at(hub, kinds::SERVICE_IMPORT, NAMESPACE),
                internal_import: at(hub, kinds::INTERNAL_SERVICE_IMPORT, importer),
                slice_import: at(hub, kinds::ENDPOINT_SLICE_IMPORT, importer),
                mcs: at(imports, kinds::MULTI_CLUSTER_SERVICE, NAMESPACE),
                member_import: at(imports, kinds::SERVICE_IMPORT, NAMESPACE),
                derived: at(imports, kinds::SERVICE, SYSTEM_NAMESPACE),
                bound: at(imports, kinds::ENDPOINT_SLICE, SYSTEM_NAMESPACE),
            },
            number,
        )
    }
}

/// Where each kind is written.
struct Places {
    export: Place,
    internal_export: Place,
    slice_export: Place,
    import: Place,
    internal_import: Place,
    slice_import: Place,
    mcs: Place,
    member_import: Place,
    derived: Place,
    bound: Place,
}

fn writes(places: Places, number: usize) -> Vec<Write> {
    let Places {
        export,
        internal_export,
        slice_export,
        import,
        internal_import,
        slice_import,
        mcs,
        member_import,
        derived,
        bound,
    } = places;

    let wanted = json!({ "spec": { "serviceImport": { "name": "mix" } } });
    let offered = json!({ "spec": { "ports": ports(), "serviceReference": reference() } });
    let requested = json!({ "spec": { "serviceImportReference": reference() } });
    let slice = json!({ "spec": exported_slice(number) });
    let resolved = json!({
        "type": "ClusterSetIP", "ports": ports(), "clusters": [{ "cluster": "member-1" }],
    });
    let finalizer = |name: &str| finalizers(&format!("networking.fleet.azure.com/{name}"));
    let in_use = json!({ "networking.fleet.azure.com/service-in-use-by":
        r#"{"MemberClusters":{"fleet-member-member-2":"member-2"}}"# });

    vec![
        patch(&export, json!({}), finalizer("svc-export-cleanup")),
        status(&export, json!({}), &conditions(&["Valid", "Conflict"])),
        create(&internal_export, offered.clone()),
        create(&slice_export, slice.clone()),
        create(&import, json!({})),
        status(&import, json!({}), &resolved),
        status(&internal_export, offered, &conditions(&["Conflict"])),
        patch(&import, json!({}), add("/metadata/annotations", &in_use)),
        create(&internal_import, requested.clone()),
        status(&internal_import, requested, &resolved),
        create(&slice_import, slice),
        patch(&mcs, wanted.clone(), finalizer("service-resources-cleanup")),
        create(&member_import, json!({})),
        status(&member_import, json!({}), &resolved),
        create(&derived, json!({ "spec": { "ports": ports() } })),
        create(&bound, bound_slice(number)),
        status(&mcs, wanted, &conditions(&["Valid"])),
    ]
}

fn create(place: &Place, object: Value) -> Write {
    Write { place: place.clone(), object, change: None }
}

fn patch(place: &Place, object: Value, operation: Value) -> Write {
    Write { place: place.clone(), object, change: Some(Change { status: false, operation }) }
}

fn status(place: &Place, object: Value, status: &Value) -> Write {
    let operation = add("/status", status);
    Write { place: place.clone(), object, change: Some(Change { status: true, operation }) }
}

fn add(path: &str, value: &Value) -> Value {
    json!({ "op": "add", "path": path, "value": value })
}

fn finalizers(name: &str) -> Value {
    add("/metadata/finalizers", &json!([name]))
}

fn conditions(types: &[&str]) -> Value {
    let condition = |name: &&str| {
        json!({
            "type": name, "status": "True", "reason": "ServiceIsValid", "observedGeneration": 1,
            "lastTransitionTime": "2026-01-01T00:00:00Z", "message": "the service is as it should be",
        })
    };
    json!({ "conditions": types.iter().map(condition).collect::<Value>() })
}

fn ports() -> Value {
    json!([{ "name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080 }])
}

fn reference() -> Value {
    json!({
        "clusterId": "member-1", "apiVersion": "v1", "kind": "Service", "namespace": NAMESPACE,
        "name": "mix", "resourceVersion": "1", "generation": 0,
        "uid": "01234567-89ab-cdef-0123-456789abcdef", "namespacedName": format!("{NAMESPACE}/mix"),
        "exportedSince": "2026-01-01T00:00:00Z",
    })
}

fn endpoints(number: usize) -> Value {
    let [high, low] = [number / 250 % 250, number % 250];
    (1..=10).map(|last| json!({ "addresses": [format!("10.{high}.{low}.{last}")] })).collect()
}

fn exported_slice(number: usize) -> Value {
    json!({
        "addressType": "IPv4", "endpoints": endpoints(number),
        "ports": [{ "name": "http", "protocol": "TCP", "port": 8080 }],
        "endpointSliceReference": reference(),
        "ownerServiceReference": {
            "namespace": NAMESPACE, "name": "mix", "namespacedName": format!("{NAMESPACE}/mix"),
        },
    })
}

fn bound_slice(number: usize) -> Value {
    json!({
        "metadata": { "labels": { "kubernetes.io/service-name": "bench-mix-mix" } },
        "addressType": "IPv4", "endpoints": endpoints(number),
        "ports": [{ "name": "http", "protocol": "TCP", "port": 8080 }],
    })
}

/// Sends a request whose answer does not matter beyond success.
pub async fn send(client: &Client, request: Request<Vec<u8>>) -> Result<()> {
    client.request::<IgnoredAny>(request).await?;
    Ok(())
}
