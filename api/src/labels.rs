//! Label keys and fixed label values.

/// On a MultiClusterService: name of the ServiceImport it currently manages.
pub const SERVICE_IMPORT: &str = "networking.fleet.azure.com/service-import";
/// On a MultiClusterService: name of its derived Service; present while the import is live.
pub const DERIVED_SERVICE: &str = "networking.fleet.azure.com/derived-service";
/// On a derived Service: name of the MultiClusterService it belongs to.
pub const MULTI_CLUSTER_SERVICE_NAME: &str =
    "networking.fleet.azure.com/multi-cluster-service-name";
/// On a derived Service: namespace of the MultiClusterService it belongs to.
pub const MULTI_CLUSTER_SERVICE_NAMESPACE: &str =
    "networking.fleet.azure.com/multi-cluster-service-namespace";

/// On an EndpointSlice: name of the Service in its namespace that it backs.
pub const SERVICE_NAME: &str = "kubernetes.io/service-name";
/// On an EndpointSlice: which controller manages it.
pub const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
/// Value of [`MANAGED_BY`] on imported EndpointSlices; the Go agents' value, kept so that either
/// side adopts the other's slices.
pub const MANAGED_BY_IMPORT: &str = "endpointsliceimport-controller.networking.fleet.azure.com";
/// Value of [`MANAGED_BY`] on EndpointSlices that the member agent creates for ExternalWorkloads.
pub const MANAGED_BY_EXTERNAL_WORKLOADS: &str =
    "external-workloads-controller.networking.fleet.azure.com";
/// Value of [`MANAGED_BY`] on those of Linkerd's controller.
pub const MANAGED_BY_LINKERD: &str = "linkerd-external-workloads-controller";
/// Value of [`MANAGED_BY`] on EndpointSlices with addresses on a secondary network.
pub const MANAGED_BY_NETWORK: &str = "endpoint-network-controller.networking.fleet.azure.com";
/// On those slices, instead of [`SERVICE_NAME`]: they are for other clusters, and proxies in this cluster must not find
/// them.
pub const NETWORK_SERVICE: &str = "networking.fleet.azure.com/endpoint-network-of";

/// On a `ResolvedService`, and on an `EndpointSliceExport` of a Service that is exported by the standard API: namespace of the
/// Service. Members select by it.
pub const MULTICLUSTER_NAMESPACE: &str = "multicluster.networking.fleet.azure.com/namespace";
/// On an EndpointSlice that was imported by the standard API: name of the imported Service.
pub const MULTICLUSTER_SERVICE_NAME: &str = "multicluster.kubernetes.io/service-name";
/// On an EndpointSlice that was imported by the standard API: the cluster whose endpoints these are.
pub const MULTICLUSTER_SOURCE_CLUSTER: &str = "multicluster.kubernetes.io/source-cluster";
/// Value of [`MANAGED_BY`] on EndpointSlices that were imported by the standard API.
pub const MANAGED_BY_MULTICLUSTER: &str = "multicluster-controller.networking.fleet.azure.com";
/// On a Service, and on its Endpoints, which inherit it: `true` keeps Kubernetes from copying those into EndpointSlices, as it does where
/// a Service has no selector.
pub const SKIP_MIRROR: &str = "endpointslice.kubernetes.io/skip-mirror";
/// On an EndpointSlice of a headless Service.
pub const HEADLESS: &str = "service.kubernetes.io/headless";

/// On a Node that stands for another member, and the key of its taint: name of the executor.
pub const VIRTUAL_NODE: &str = "offload.networking.fleet.azure.com/virtual";
/// Key of the taint of a virtual node whose executor could not place a Pod: it pauses.
pub const VIRTUAL_NODE_CAPACITY: &str = "offload.networking.fleet.azure.com/capacity";
/// On what the executor makes for a Pod: name of the member that it comes from.
pub const OFFLOAD_ORIGIN: &str = "offload.networking.fleet.azure.com/origin";
/// On what the executor makes for a Pod: uid of the Pod in its own cluster.
pub const OFFLOAD_ORIGIN_UID: &str = "offload.networking.fleet.azure.com/origin-uid";
/// Begins the keys under which the labels of a Pod stand in the cluster of its executor.
pub const OFFLOADED_LABEL_PREFIX: &str = "pod.offload.networking.fleet.azure.com/";

/// The Service that an EndpointSlice with these labels backs, in the slice's namespace.
pub fn backed_service<'a>(label: impl Fn(&str) -> Option<&'a str>) -> Option<&'a str> {
    let manager = label(MANAGED_BY);
    let key = if manager == Some(MANAGED_BY_NETWORK) { NETWORK_SERVICE } else { SERVICE_NAME };
    label(key).filter(|name| !name.is_empty())
}
