//! Bare relays: the writes and watches of an endpoint change, without anything an agent does between them.
//!
//! They use the agents' client stack, decoding, kinds and verbs, and objects of the same size. What they write is made
//! so that agents that run at the same time have nothing to do with it: a slice of no Service, a member and a Service
//! that no agent knows.

use anyhow::{Context, Result};
use fleet_api::names::member_namespace;
use fleet_api::{
    Endpoint, EndpointPort, ExportedObjectReference, ExportedSliceSpec, OwnerServiceReference,
    ResourceKind, annotations, kinds, labels,
};
use fleet_model::objects::{EndpointSliceExportWire, EndpointSliceImportWire, ManagedSliceWire};
use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arrivals::{Arrivals, Station};
use super::watching::Listener;

/// Namespace of the user's slice that the relays carry.
pub(super) const USER_NAMESPACE: &str = "bench-relay";
/// Name of that slice.
pub(super) const SLICE: &str = "relay";
/// Name of the slice that the shorter chain carries.
pub(super) const DIRECT: &str = "direct";
/// Members that do not exist, in whose namespaces on the hub the relays write.
pub(super) const EXPORTER: &str = "bench-exporter";
pub(super) const IMPORTER: &str = "bench-importer";

/// As long as the name that an agent gives.
const COPY: &str = "bench-exporter-bench-relay-relay-abcdefghijklmnopqrstuvwxyz";
pub(super) const DIRECT_COPY: &str = "bench-exporter-bench-relay-direct-abcdefghijklmnopqrstuvwxy";
/// A label as long as the one that importers select by; no agent selects by this one.
pub(super) const DIRECT_LABEL: &str = "bench.networking.fleet.azure.com/namespaces-of-it";
const MANAGER: &str = "fleet-bench";

/// One object that is written again and again, by a relay or a member that is played.
#[derive(Debug)]
pub(super) struct Output {
    client: ClientDebug,
    kind: ResourceKind,
    namespace: String,
    name: String,
    written: Option<Version>,
}

/// [`Client`] has no `Debug`.
struct ClientDebug(Client);

impl std::fmt::Debug for ClientDebug {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    uid: String,
    resource_version: String,
}

#[derive(Deserialize)]
struct Answer {
    metadata: Version,
}

impl Output {
    /// The object that a relay writes.
    pub(super) fn new(client: Client, kind: ResourceKind, namespace: String) -> Self {
        Self::named(client, kind, (namespace, COPY.to_owned()))
    }

    /// An object of any name in a namespace.
    pub(super) fn named(
        client: Client,
        kind: ResourceKind,
        (namespace, name): (String, String),
    ) -> Self {
        Self { client: ClientDebug(client), kind, namespace, name, written: None }
    }

    /// POST the first time, then PUT of the version in the last answer.
    pub(super) async fn write(&mut self, mut body: Value) -> Result<()> {
        let kind = self.kind.kind;
        let uri = self.uri();
        body["apiVersion"] = json!(self.kind.api_version());
        body["kind"] = json!(kind);
        body["metadata"]["namespace"] = json!(self.namespace);
        body["metadata"]["name"] = json!(self.name);
        let request = match &self.written {
            None => Request::post(format!("{uri}?fieldManager={MANAGER}")),
            Some(version) => {
                body["metadata"]["uid"] = json!(version.uid);
                body["metadata"]["resourceVersion"] = json!(version.resource_version);
                Request::put(format!("{uri}/{}?fieldManager={MANAGER}", self.name))
            }
        };
        let request = request
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/json")
            .body(serde_json::to_vec(&body)?)?;
        let answer: Answer =
            self.client.0.request(request).await.with_context(|| format!("write a {kind}"))?;
        self.written = Some(answer.metadata);
        Ok(())
    }

    /// Reads which version is there: a write may have been served without an answer.
    pub(super) async fn read(&mut self) -> Result<()> {
        let request = Request::get(format!("{}/{}", self.uri(), self.name)).body(Vec::new())?;
        let answer: Answer = self.client.0.request(request).await?;
        self.written = Some(answer.metadata);
        Ok(())
    }

    /// Bytes of the object, as a client gets it.
    pub(super) async fn size(&self) -> Result<usize> {
        let request = Request::get(format!("{}/{}", self.uri(), self.name)).body(Vec::new())?;
        Ok(self.client.0.request_text(request).await?.len())
    }

    fn uri(&self) -> String {
        let ResourceKind { group, version, plural, .. } = self.kind;
        format!("/apis/{group}/{version}/namespaces/{}/{plural}", self.namespace)
    }
}

fn is(metadata: &ObjectMeta, namespace: &str, name: &str) -> bool {
    metadata.namespace.as_deref() == Some(namespace) && metadata.name.as_deref() == Some(name)
}

fn addresses(endpoints: &[Endpoint]) -> impl Iterator<Item = &str> {
    endpoints.iter().flat_map(|endpoint| endpoint.addresses.iter().map(String::as_str))
}

/// Addresses of an EndpointSlice on the wire.
pub(super) fn slice_addresses(slice: &ManagedSliceWire) -> impl Iterator<Item = &str> {
    let endpoints = slice.endpoints.iter().flatten();
    endpoints.flat_map(|endpoint| endpoint.addresses.iter().map(String::as_str))
}

/// Relay 1: the user's EndpointSlice becomes an `EndpointSliceExport`.
#[derive(Debug)]
pub(super) struct ExportRelay {
    pub(super) arrivals: Arrivals,
    pub(super) output: Output,
}

/// Relay 1 of the shorter chain, whose `EndpointSliceExport` bears a label to select by. As an agent whose cluster imports its
/// own Service, it writes a slice there meanwhile.
#[derive(Debug)]
pub(super) struct DirectExportRelay {
    pub(super) hub: Output,
    pub(super) own: Output,
}

impl Listener<ManagedSliceWire> for DirectExportRelay {
    async fn applied(&mut self, slice: ManagedSliceWire) -> Result<()> {
        if !is(&slice.metadata, USER_NAMESPACE, DIRECT) {
            return Ok(());
        }
        let spec = exported(slice, DIRECT)?;
        let mut body = export_body(&spec)?;
        body["metadata"]["labels"] = json!({ DIRECT_LABEL: USER_NAMESPACE });
        let own = bound_body(&spec)?;
        futures::try_join!(self.hub.write(body), self.own.write(own))?;
        Ok(())
    }
}

impl Listener<ManagedSliceWire> for ExportRelay {
    async fn applied(&mut self, slice: ManagedSliceWire) -> Result<()> {
        self.arrivals.seen(Station::Source, slice_addresses(&slice));
        if !is(&slice.metadata, USER_NAMESPACE, SLICE) {
            return Ok(());
        }
        self.output.write(export_body(&exported(slice, SLICE)?)?).await
    }
}

fn export_body(spec: &ExportedSliceSpec) -> Result<Value> {
    Ok(json!({
        "metadata": { "finalizers": [fleet_api::finalizers::ENDPOINT_SLICE_EXPORT] },
        "spec": serde_json::to_value(spec)?,
    }))
}

fn exported(slice: ManagedSliceWire, name: &str) -> Result<ExportedSliceSpec> {
    let endpoints = slice.endpoints.unwrap_or_default();
    let meta = slice.metadata;
    let namespaced_name = format!("{USER_NAMESPACE}/{name}");
    Ok(ExportedSliceSpec {
        address_type: slice.address_type.as_str().into(),
        endpoints: endpoints
            .into_iter()
            .map(|endpoint| Endpoint::new(endpoint.addresses))
            .collect(),
        draining_endpoints: Vec::new(),
        ports: slice.ports.unwrap_or_default().iter().map(EndpointPort::from).collect(),
        endpoint_slice_reference: ExportedObjectReference {
            cluster_id: EXPORTER.to_owned(),
            api_version: Some(kinds::ENDPOINT_SLICE.api_version()),
            kind: kinds::ENDPOINT_SLICE.kind.to_owned(),
            namespace: USER_NAMESPACE.to_owned(),
            name: name.to_owned(),
            resource_version: meta.resource_version.unwrap_or_default(),
            generation: meta.generation.unwrap_or_default(),
            uid: meta.uid.unwrap_or_default(),
            namespaced_name: namespaced_name.clone(),
            // Of the right length is enough.
            exported_since: Some(serde_json::from_value(json!("2026-01-01T00:00:00Z"))?),
        },
        owner_service_reference: OwnerServiceReference {
            namespace: USER_NAMESPACE.to_owned(),
            name: name.to_owned(),
            namespaced_name,
        },
    })
}

/// Relay 2: an `EndpointSliceExport` becomes an `EndpointSliceImport`.
#[derive(Debug)]
pub(super) struct ImportRelay {
    pub(super) arrivals: Arrivals,
    pub(super) output: Output,
}

impl Listener<EndpointSliceExportWire> for ImportRelay {
    async fn applied(&mut self, copy: EndpointSliceExportWire) -> Result<()> {
        let Some(mut spec) = copy.spec else { return Ok(()) };
        self.arrivals.seen(Station::Export, addresses(&spec.endpoints));
        if !is(&copy.metadata, &member_namespace(EXPORTER), COPY) {
            return Ok(());
        }
        // A reference that contradicts itself, and an origin that is no member: the hub agent deletes copies without a request,
        // but leaves alone what it can attribute neither to a Service nor to a slice.
        spec.owner_service_reference.namespaced_name =
            spec.owner_service_reference.namespaced_name.replace('/', ".");
        let body = json!({
            "metadata": {
                "annotations": { annotations::ORIGIN_NAMESPACE: USER_NAMESPACE },
                "finalizers": [fleet_api::finalizers::ENDPOINT_SLICE_IMPORT],
            },
            "spec": serde_json::to_value(spec)?,
        });
        self.output.write(body).await
    }
}

/// The hub agent sees its own writes come back; relay 2 too.
#[derive(Debug)]
pub(super) struct ImportEcho(pub(super) Arrivals);

impl Listener<EndpointSliceImportWire> for ImportEcho {
    async fn applied(&mut self, copy: EndpointSliceImportWire) -> Result<()> {
        if let Some(spec) = &copy.spec {
            self.0.seen(Station::Import, addresses(&spec.endpoints));
        }
        Ok(())
    }
}

/// Relay 3: an `EndpointSliceImport` becomes an EndpointSlice of the importing member.
#[derive(Debug)]
pub(super) struct BindRelay(pub(super) Output);

impl Listener<EndpointSliceImportWire> for BindRelay {
    async fn applied(&mut self, copy: EndpointSliceImportWire) -> Result<()> {
        let Some(spec) = copy.spec else { return Ok(()) };
        if copy.metadata.name.as_deref() != Some(COPY) {
            return Ok(());
        }
        self.0.write(bound_body(&spec)?).await
    }
}

/// The last relay of the shorter chain: an `EndpointSliceExport` becomes an EndpointSlice of the importing member.
#[derive(Debug)]
pub(super) struct DirectBindRelay(pub(super) Output);

impl Listener<EndpointSliceExportWire> for DirectBindRelay {
    async fn applied(&mut self, export: EndpointSliceExportWire) -> Result<()> {
        match export.spec {
            Some(spec) if export.metadata.name.as_deref() == Some(DIRECT_COPY) => {
                self.0.write(bound_body(&spec)?).await
            }
            _ => Ok(()),
        }
    }
}

/// As many labels and annotations as an agent's. One manager's name is the agent's own, or the policies of its chart
/// would refuse the slice; the controller of that name is off.
fn bound_body(spec: &ExportedSliceSpec) -> Result<Value> {
    let generation = spec.endpoint_slice_reference.generation.to_string();
    Ok(json!({
        "metadata": {
            "labels": {
                "kubernetes.io/bench-slices": "bench-relay-relay",
                labels::MANAGED_BY: labels::MANAGED_BY_NETWORK,
            },
            "annotations": {
                "bench.networking.fleet.azure.com/service": "bench-relay/relay",
                "bench.networking.fleet.azure.com/observed-generation": generation,
            },
        },
        "addressType": spec.address_type,
        "endpoints": serde_json::to_value(&spec.endpoints)?,
        "ports": serde_json::to_value(&spec.ports)?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_relays_copy_cannot_be_attributed_to_a_service() {
        let mut spec = exported(ManagedSliceWire::default(), SLICE).unwrap();
        assert!(spec.owner_service_reference.object().is_some());
        let reference = &mut spec.owner_service_reference;
        reference.namespaced_name = reference.namespaced_name.replace('/', ".");
        assert_eq!(reference.object(), None);
    }
}
