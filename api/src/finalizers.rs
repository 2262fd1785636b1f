//! Finalizer keys: the object that each protects, and the agent that removes it. All but those of offloaded Pods are shared with the Go agents.

/// On a ServiceExport; the member agent removes it once the `InternalServiceExport` is deleted.
pub const SERVICE_EXPORT: &str = "networking.fleet.azure.com/svc-export-cleanup";
/// On an `InternalServiceExport`; the hub agent removes it once the ServiceImport no longer lists the cluster.
pub const INTERNAL_SERVICE_EXPORT: &str = "networking.fleet.azure.com/internal-svc-export-cleanup";
/// On a ServiceImport. On the hub: present while a member imports it; the hub agent removes it. On a
/// member: the member agent removes it once the `InternalServiceImport` is deleted.
pub const SERVICE_IMPORT: &str = "networking.fleet.azure.com/serviceimport-cleanup";
/// On an `InternalServiceImport`; the hub agent removes it once the ServiceImport no longer lists the
/// member as an importer.
pub const INTERNAL_SERVICE_IMPORT: &str = "networking.fleet.azure.com/internalsvcimport-cleanup";
/// On an `EndpointSliceExport`; the hub agent removes it once no importer has a copy.
pub const ENDPOINT_SLICE_EXPORT: &str = "networking.fleet.azure.com/endpointsliceexport-cleanup";
/// On an `EndpointSliceImport`; the importing member agent removes it once its EndpointSlice is deleted;
/// the hub agent does if the member is gone.
pub const ENDPOINT_SLICE_IMPORT: &str = "networking.fleet.azure.com/endpointsliceimport-cleanup";
/// On a MultiClusterService; the member agent removes it once derived Service and ServiceImport are
/// deleted.
pub const MULTI_CLUSTER_SERVICE: &str = "networking.fleet.azure.com/service-resources-cleanup";
/// On a `PodExport`; the hub agent removes it once the executor has nothing of the Pod any more.
pub const POD_EXPORT: &str = "offload.networking.fleet.azure.com/podexport-cleanup";
/// On a `PodImport`; the executor removes it once the Pod and what it uses are gone.
pub const POD_IMPORT: &str = "offload.networking.fleet.azure.com/podimport-cleanup";
/// On an `OffloadOffer`; the hub agent sets it, and removes it once the virtual nodes are withdrawn. So an offer that was deleted is not
/// taken for one that the hub has lost.
pub const OFFLOAD_OFFER: &str = "offload.networking.fleet.azure.com/offer-cleanup";
