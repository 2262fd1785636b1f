//! Objects as Go agents leave them: a Service that east exports to north, and one that it imports from there.

use anyhow::{Context, Result, ensure};
use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace};
use fleet_api::{ResourceKind, annotations, finalizers, kinds, labels};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::fleet::Fleet;
use fleet_testbed::join::namespace;
use fleet_testbed::objects::{api, edit, find};
use fleet_testbed::workload::{ManualService, ServiceSpec};
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::members::{NORTH, OF_NORTH, next_address_of};
use crate::part::EAST;

/// Namespace of the Services that Go agents have carried.
pub(crate) const GO_MADE: &str = "gomade";
/// Service that east exports.
const SHOP: &str = "shop";
/// Service that north exports.
pub(crate) const DESK: &str = "desk";
/// Name of the derived Service of [`DESK`].
pub(crate) const DERIVED: &str = "gomade-desk";

/// Name of a slice's copy: with a random suffix of five hexadecimal digits.
const SHOP_COPY: &str = "east-gomade-shop-1a2b3";
const DESK_COPY: &str = "north-gomade-desk-4c5d6";

/// An object as it was made.
#[derive(Debug)]
struct Made {
    cluster: String,
    kind: ResourceKind,
    object: DynamicObject,
}

/// What Go agents have made.
#[derive(Debug)]
pub(crate) struct GoMade {
    made: Vec<Made>,
    /// Addresses of [`DESK`].
    pub(crate) kept: Vec<String>,
}

impl GoMade {
    /// Makes the objects in a fleet that has no agents yet.
    pub(crate) async fn make(fleet: &Fleet) -> Result<Self> {
        let (hub, east) = (fleet.hub(), fleet.member(EAST));
        fleet.user_namespace(GO_MADE).await?;
        namespace(&hub.client(), &member_namespace(NORTH)).await?;
        let mut this = Self { made: Vec::new(), kept: vec![next_address_of(OF_NORTH)] };
        let version = this.export(east).await?;
        this.exported_to_hub(hub, east, &version).await?;
        this.imported_by_north(hub).await?;
        this.exported_by_north(hub).await?;
        this.import(east).await?;
        this.imported_from_hub(hub, east).await?;
        Ok(this)
    }

    /// An error if an object is not what Go agents have made, or lacks anything of it.
    pub(crate) async fn is_kept(&self, fleet: &Fleet) -> Result<()> {
        for Made { cluster, kind, object } in &self.made {
            let cluster =
                fleet.clusters().find(|one| one.name() == cluster).context("a cluster")?;
            let (namespace, name) = key(object)?;
            let title = format!("{} {namespace}/{name} of {}", kind.kind, cluster.name());
            let now = find(cluster, *kind, (namespace, name)).await?;
            let now = now.with_context(|| format!("{title} is gone"))?;
            let lost = lost(&lasting(object)?, &lasting(&now)?, "");
            ensure!(lost.is_empty(), "{title} has lost {}", lost.join(", "));
        }
        Ok(())
    }

    /// The ServiceExport, and the slice with its name; version of the Service.
    async fn export(&mut self, east: &Cluster) -> Result<String> {
        let spec = ServiceSpec::http(GO_MADE, SHOP);
        ManualService::deploy(east, &spec, &[next_address_of(EAST)]).await?;
        let service = find(east, kinds::SERVICE, (GO_MADE, SHOP)).await?.context("a Service")?;
        let version = service.metadata.resource_version.context("a version")?;
        let export = json!({ "metadata": {
            "name": SHOP, "namespace": GO_MADE,
            "finalizers": [finalizers::SERVICE_EXPORT],
            "annotations": {
                (annotations::LAST_SEEN_RESOURCE_VERSION): version,
                (annotations::LAST_SEEN_TIMESTAMP): TIME,
            },
        }});
        let conditions = [
            condition("Valid", "ServiceIsValid", "service gomade/shop is valid for export", 1),
            no_conflict(1),
        ];
        let status = json!({ "conditions": conditions });
        self.make_one(east, kinds::SERVICE_EXPORT, export, status).await?;
        let marks = json!({ "metadata": { "annotations": {
            (annotations::FLEET_UNIQUE_NAME): SHOP_COPY,
            (annotations::LAST_SEEN_GENERATION): "1",
            (annotations::LAST_SEEN_TIMESTAMP): TIME,
        }}});
        let slice = edit(east, kinds::ENDPOINT_SLICE, (GO_MADE, SHOP), marks).await?;
        self.keep(east, kinds::ENDPOINT_SLICE, slice);
        Ok(version)
    }

    /// The copies of the Service and its slice on the hub, and the Service of the fleet.
    async fn exported_to_hub(
        &mut self,
        hub: &Cluster,
        east: &Cluster,
        version: &str,
    ) -> Result<()> {
        let service = find(east, kinds::SERVICE, (GO_MADE, SHOP)).await?.context("a Service")?;
        let internal = json!({
            "metadata": {
                "name": "gomade-shop", "namespace": member_namespace(east.name()),
                "finalizers": [finalizers::INTERNAL_SERVICE_EXPORT],
                "annotations": { (annotations::LAST_OBSERVED_RESOURCE_VERSION): version },
            },
            "spec": {
                "ports": ports(),
                "serviceReference": reference(east.name(), kinds::SERVICE, &service),
            },
        });
        let status = json!({ "conditions": [no_conflict(1)] });
        self.make_one(hub, kinds::INTERNAL_SERVICE_EXPORT, internal, status).await?;
        let slice = find(east, kinds::ENDPOINT_SLICE, (GO_MADE, SHOP)).await?.context("a slice")?;
        let spec = copy(east.name(), SHOP, &slice, &slice.data["endpoints"]);
        let metadata = json!({ "name": SHOP_COPY, "namespace": member_namespace(east.name()) });
        let export = json!({ "metadata": metadata, "spec": spec });
        self.make_one(hub, kinds::ENDPOINT_SLICE_EXPORT, export, Value::Null).await?;
        let import = json!({
            "metadata": {
                "name": SHOP_COPY, "namespace": member_namespace(NORTH),
                "finalizers": [finalizers::ENDPOINT_SLICE_IMPORT],
                "annotations": { (annotations::LAST_OBSERVED_GENERATION): "1" },
            },
            "spec": spec,
        });
        self.make_one(hub, kinds::ENDPOINT_SLICE_IMPORT, import, Value::Null).await?;
        self.service_of_fleet(hub, SHOP, east.name(), NORTH).await
    }

    /// The Service of the fleet, and its one importer.
    async fn service_of_fleet(
        &mut self,
        hub: &Cluster,
        name: &str,
        exporter: &str,
        importer: &str,
    ) -> Result<()> {
        let claim = json!({ "memberClusters": { (member_namespace(importer)): importer } });
        let import = json!({ "metadata": {
            "name": name, "namespace": GO_MADE,
            "finalizers": [finalizers::SERVICE_IMPORT],
            "annotations": { (annotations::SERVICE_IN_USE_BY): claim.to_string() },
        }});
        self.make_one(hub, kinds::SERVICE_IMPORT, import, resolved(exporter)).await
    }

    async fn imported_by_north(&mut self, hub: &Cluster) -> Result<()> {
        let import = DynamicObject::new(SHOP, &resource(kinds::SERVICE_IMPORT)).within(GO_MADE);
        let reference = reference(NORTH, kinds::SERVICE_IMPORT, &import);
        self.request(hub, NORTH, SHOP, reference, "east").await
    }

    async fn request(
        &mut self,
        hub: &Cluster,
        member: &str,
        name: &str,
        reference: Value,
        exporter: &str,
    ) -> Result<()> {
        let request = json!({
            "metadata": {
                "name": format!("{GO_MADE}-{name}"), "namespace": member_namespace(member),
                "finalizers": [finalizers::INTERNAL_SERVICE_IMPORT],
            },
            "spec": { "serviceImportReference": reference },
        });
        let status = resolved(exporter);
        self.make_one(hub, kinds::INTERNAL_SERVICE_IMPORT, request, status).await
    }

    async fn exported_by_north(&mut self, hub: &Cluster) -> Result<()> {
        let service = DynamicObject::new(DESK, &resource(kinds::SERVICE)).within(GO_MADE);
        let internal = json!({
            "metadata": {
                "name": "gomade-desk", "namespace": member_namespace(NORTH),
                "finalizers": [finalizers::INTERNAL_SERVICE_EXPORT],
                "annotations": { (annotations::LAST_OBSERVED_RESOURCE_VERSION): "77" },
            },
            "spec": {
                "ports": ports(),
                "serviceReference": reference(NORTH, kinds::SERVICE, &service),
            },
        });
        let mut desk = no_conflict(1);
        desk["message"] = "service gomade/desk is exported without conflict".into();
        let status = json!({ "conditions": [desk] });
        self.make_one(hub, kinds::INTERNAL_SERVICE_EXPORT, internal, status).await?;
        let metadata = json!({ "name": DESK_COPY, "namespace": member_namespace(NORTH) });
        let export = json!({ "metadata": metadata, "spec": self.desk_copy() });
        self.make_one(hub, kinds::ENDPOINT_SLICE_EXPORT, export, Value::Null).await?;
        self.service_of_fleet(hub, DESK, NORTH, "east").await
    }

    fn desk_copy(&self) -> Value {
        let slice = DynamicObject::new("desk-y1", &resource(kinds::ENDPOINT_SLICE)).within(GO_MADE);
        copy(NORTH, DESK, &slice, &self.endpoints())
    }

    fn endpoints(&self) -> Value {
        self.kept.iter().map(|address| json!({ "addresses": [address] })).collect()
    }

    /// The MultiClusterService, and what belongs to it in the member.
    async fn import(&mut self, east: &Cluster) -> Result<()> {
        let addresses = json!({ "ingress": [{ "ip": "192.0.2.7", "ipMode": "VIP" }] });
        let mcs = json!({
            "metadata": {
                "name": DESK, "namespace": GO_MADE,
                "finalizers": [finalizers::MULTI_CLUSTER_SERVICE],
                "labels": {
                    (labels::SERVICE_IMPORT): DESK,
                    (labels::DERIVED_SERVICE): DERIVED,
                },
            },
            "spec": { "serviceImport": { "name": DESK } },
        });
        let valid = condition("Valid", "FoundServiceImport", "found valid service import", 1);
        let status = json!({ "loadBalancer": addresses, "conditions": [valid] });
        self.make_one(east, kinds::MULTI_CLUSTER_SERVICE, mcs, status).await?;
        let mcs = find(east, kinds::MULTI_CLUSTER_SERVICE, (GO_MADE, DESK)).await?;
        let import = json!({ "metadata": {
            "name": DESK, "namespace": GO_MADE,
            "finalizers": [finalizers::SERVICE_IMPORT],
            "ownerReferences": [{
                "apiVersion": kinds::MULTI_CLUSTER_SERVICE.api_version(),
                "kind": "MultiClusterService", "name": DESK,
                "uid": mcs.context("an MCS")?.metadata.uid, "controller": true,
                "blockOwnerDeletion": true,
            }],
        }});
        self.make_one(east, kinds::SERVICE_IMPORT, import, resolved(NORTH)).await?;
        let service = json!({
            "metadata": {
                "name": DERIVED, "namespace": SYSTEM_NAMESPACE,
                "finalizers": ["service.kubernetes.io/load-balancer-cleanup"],
                "labels": {
                    (labels::MULTI_CLUSTER_SERVICE_NAME): DESK,
                    (labels::MULTI_CLUSTER_SERVICE_NAMESPACE): GO_MADE,
                },
            },
            "spec": { "type": "LoadBalancer", "ports": ports() },
        });
        let status = json!({ "loadBalancer": addresses });
        self.make_one(east, kinds::SERVICE, service, status).await?;
        let slice = json!({
            "metadata": {
                "name": DESK_COPY, "namespace": SYSTEM_NAMESPACE,
                "labels": {
                    (labels::SERVICE_NAME): DERIVED,
                    (labels::MANAGED_BY): labels::MANAGED_BY_IMPORT,
                },
            },
            "addressType": "IPv4", "endpoints": self.endpoints(), "ports": slice_ports(),
        });
        self.make_one(east, kinds::ENDPOINT_SLICE, slice, Value::Null).await
    }

    /// The request of east, and its copy of the slice.
    async fn imported_from_hub(&mut self, hub: &Cluster, east: &Cluster) -> Result<()> {
        let import = find(east, kinds::SERVICE_IMPORT, (GO_MADE, DESK)).await?;
        let import = import.context("an import")?;
        let reference = reference(east.name(), kinds::SERVICE_IMPORT, &import);
        self.request(hub, east.name(), DESK, reference, NORTH).await?;
        let copy = json!({
            "metadata": {
                "name": DESK_COPY, "namespace": member_namespace(east.name()),
                "finalizers": [finalizers::ENDPOINT_SLICE_IMPORT],
                "annotations": { (annotations::LAST_OBSERVED_GENERATION): "1" },
            },
            "spec": self.desk_copy(),
        });
        self.make_one(hub, kinds::ENDPOINT_SLICE_IMPORT, copy, Value::Null).await
    }

    async fn make_one(
        &mut self,
        cluster: &Cluster,
        kind: ResourceKind,
        mut object: Value,
        status: Value,
    ) -> Result<()> {
        object["apiVersion"] = kind.api_version().into();
        object["kind"] = kind.kind.into();
        let object: DynamicObject = serde_json::from_value(object)?;
        let (namespace, name) = key(&object)?;
        let api = api(cluster.client(), kind, Some(namespace));
        let title = format!("make the {} {namespace}/{name} of Go agents", kind.kind);
        let mut made = api.create(&PostParams::default(), &object).await.context(title.clone())?;
        if !status.is_null() {
            let patch = Patch::Merge(json!({ "status": status }));
            let params = PatchParams::default();
            made = api.patch_status(name, &params, &patch).await.context(title)?;
        }
        self.keep(cluster, kind, made);
        Ok(())
    }

    fn keep(&mut self, cluster: &Cluster, kind: ResourceKind, object: DynamicObject) {
        self.made.push(Made { cluster: cluster.name().to_owned(), kind, object });
    }
}

const TIME: &str = "2026-01-01T00:00:00+01:00";

fn resource(kind: ResourceKind) -> kube::api::ApiResource {
    kube::api::ApiResource {
        group: kind.group.to_owned(),
        version: kind.version.to_owned(),
        api_version: kind.api_version(),
        kind: kind.kind.to_owned(),
        plural: kind.plural.to_owned(),
    }
}

fn key(object: &DynamicObject) -> Result<(&str, &str)> {
    let namespace = object.metadata.namespace.as_deref().context("a namespace")?;
    Ok((namespace, object.metadata.name.as_deref().context("a name")?))
}

fn condition(type_: &str, reason: &str, message: &str, generation: i64) -> Value {
    let status = if type_ == "Conflict" { "False" } else { "True" };
    json!({
        "type": type_, "status": status, "reason": reason, "message": message,
        "observedGeneration": generation, "lastTransitionTime": "2025-12-31T23:00:00Z",
    })
}

fn no_conflict(generation: i64) -> Value {
    let message = "service gomade/shop is exported without conflict";
    condition("Conflict", "NoConflictFound", message, generation)
}

fn ports() -> Value {
    json!([{ "name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080 }])
}

fn slice_ports() -> Value {
    json!([{ "name": "http", "protocol": "TCP", "port": 8080 }])
}

fn resolved(exporter: &str) -> Value {
    json!({ "type": "ClusterSetIP", "ports": ports(), "clusters": [{ "cluster": exporter }] })
}

fn reference(cluster: &str, kind: ResourceKind, object: &DynamicObject) -> Value {
    let metadata = &object.metadata;
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let name = metadata.name.as_deref().unwrap_or_default();
    json!({
        "clusterId": cluster, "apiVersion": kind.api_version(), "kind": kind.kind,
        "namespace": namespace, "name": name, "namespacedName": format!("{namespace}/{name}"),
        "resourceVersion": metadata.resource_version.as_deref().unwrap_or("77"),
        "generation": metadata.generation.unwrap_or_default(),
        "uid": metadata.uid.as_deref().unwrap_or("uid-in-north"),
        "exportedSince": "2025-12-31T23:00:00Z",
    })
}

/// The content of an EndpointSliceExport, and of an EndpointSliceImport.
fn copy(cluster: &str, service: &str, slice: &DynamicObject, endpoints: &Value) -> Value {
    let endpoints = endpoints.as_array().into_iter().flatten();
    json!({
        "addressType": "IPv4",
        "endpoints": endpoints.map(|one| json!({ "addresses": one["addresses"] })).collect::<Value>(),
        "ports": slice_ports(),
        "endpointSliceReference": reference(cluster, kinds::ENDPOINT_SLICE, slice),
        "ownerServiceReference": {
            "namespace": GO_MADE, "name": service, "namespacedName": format!("{GO_MADE}/{service}"),
        },
    })
}

/// What must stay of an object.
fn lasting(object: &DynamicObject) -> Result<Value> {
    let mut value = serde_json::to_value(object)?;
    let metadata = value["metadata"].as_object_mut().context("metadata")?;
    let lasting = ["uid", "labels", "annotations", "finalizers", "ownerReferences"];
    metadata.retain(|name, _| lasting.contains(&name.as_str()));
    if let Some(fields) = value.as_object_mut() {
        fields.remove("status");
    }
    Ok(value)
}

/// Paths of what one value has and another has not, or has otherwise.
fn lost(before: &Value, now: &Value, path: &str) -> Vec<String> {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            let below = before.iter().flat_map(|(name, value)| {
                lost(value, now.get(name).unwrap_or(&Value::Null), &format!("{path}/{name}"))
            });
            below.collect()
        }
        _ if before == now => Vec::new(),
        _ => vec![format!("{path} ({before}, now {now})")],
    }
}
