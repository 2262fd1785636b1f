//! Finalizer keys: which object each guards and who releases it. All are shared with the Go agents.

/// On a ServiceExport; its member's agent releases it once the `InternalServiceExport` is gone.
pub const SERVICE_EXPORT: &str = "networking.fleet.azure.com/svc-export-cleanup";
/// On an `InternalServiceExport`; the hub releases it once the cluster left the ServiceImport.
pub const INTERNAL_SERVICE_EXPORT: &str = "networking.fleet.azure.com/internal-svc-export-cleanup";
/// On a ServiceImport. On the hub: while a cluster imports it, released by the hub. On a member:
/// released by its agent once the `InternalServiceImport` is gone.
pub const SERVICE_IMPORT: &str = "networking.fleet.azure.com/serviceimport-cleanup";
/// On an `InternalServiceImport`; the hub releases it once the member's claim is withdrawn.
pub const INTERNAL_SERVICE_IMPORT: &str = "networking.fleet.azure.com/internalsvcimport-cleanup";
/// On an `EndpointSliceExport`; the hub releases it once no importer holds a copy.
pub const ENDPOINT_SLICE_EXPORT: &str = "networking.fleet.azure.com/endpointsliceexport-cleanup";
/// On an `EndpointSliceImport`; the importer releases it once its EndpointSlice is gone, or the hub
/// agent does when the member is gone for good.
pub const ENDPOINT_SLICE_IMPORT: &str = "networking.fleet.azure.com/endpointsliceimport-cleanup";
/// On a MultiClusterService; its member's agent releases it once derived Service and ServiceImport
/// are gone.
pub const MULTI_CLUSTER_SERVICE: &str = "networking.fleet.azure.com/service-resources-cleanup";
