//! Annotation keys, and which object carries each.
//!
//! The keys up to [`SERVICE_AZURE_LOAD_BALANCER_INTERNAL`] are shared with the Go agents. The others are only on objects
//! that these agents write.

/// On the hub's ServiceImport: which members import it, as [`crate::ServiceInUseBy`] JSON.
pub const SERVICE_IN_USE_BY: &str = "networking.fleet.azure.com/service-in-use-by";
/// On an exported EndpointSlice: name of its `EndpointSliceExport`. Read on adoption only.
pub const FLEET_UNIQUE_NAME: &str = "networking.fleet.azure.com/fleet-unique-name";
/// On an exported EndpointSlice: decimal generation that [`LAST_SEEN_TIMESTAMP`] belongs to.
pub const LAST_SEEN_GENERATION: &str = "networking.fleet.azure.com/last-seen-generation";
/// On a ServiceExport: `resourceVersion` of the Service that [`LAST_SEEN_TIMESTAMP`] belongs to.
pub const LAST_SEEN_RESOURCE_VERSION: &str =
    "networking.fleet.azure.com/last-seen-resource-version";
/// On an exported EndpointSlice or a ServiceExport: RFC 3339 time in whole seconds.
pub const LAST_SEEN_TIMESTAMP: &str = "networking.fleet.azure.com/last-seen-timestamp";
/// On an `EndpointSliceImport` (written by Go importers) and on an imported EndpointSlice (written by this
/// agent): decimal slice generation whose arrival was already measured.
pub const LAST_OBSERVED_GENERATION: &str = "networking.fleet.azure.com/last-observed-generation";
/// On an `InternalServiceExport`: Service `resourceVersion` whose export was already measured.
pub const LAST_OBSERVED_RESOURCE_VERSION: &str =
    "networking.fleet.azure.com/last-observed-resource-version";
/// On a ServiceExport, set by its user: integer 0 to 1000; absent means 1, 0 withdraws.
pub const WEIGHT: &str = "networking.fleet.azure.com/weight";
/// On a MultiClusterService, set by its user: Go boolean text; true asks for an internal load
/// balancer.
pub const AZURE_LOAD_BALANCER_INTERNAL: &str =
    "networking.fleet.azure.com/azure-load-balancer-internal";
/// On a derived Service: what Azure's cloud provider reads for [`AZURE_LOAD_BALANCER_INTERNAL`].
pub const SERVICE_AZURE_LOAD_BALANCER_INTERNAL: &str =
    "service.beta.kubernetes.io/azure-load-balancer-internal";

/// On a MultiClusterService, set by its user: `spec.type` of the derived Service, `LoadBalancer` or `ClusterIP`.
pub const DERIVED_SERVICE_TYPE: &str = "networking.fleet.azure.com/derived-service-type";
/// On a derived Service or an imported EndpointSlice: `namespace/name` of the Service of the fleet
/// it belongs to, so that its owning key follows from the object alone.
pub const FLEET_SERVICE: &str = "networking.fleet.azure.com/fleet-service";
/// On a derived Service: uid of the MultiClusterService it was made for.
pub const MULTI_CLUSTER_SERVICE_UID: &str = "networking.fleet.azure.com/multi-cluster-service-uid";
/// On an `InternalServiceImport` that waits because one member at a time may import: name of the
/// cluster that does.
pub const IMPORT_HELD_BY: &str = "networking.fleet.azure.com/import-held-by";

/// On an `InternalServiceImport` or an `EndpointSliceExport` that the hub agent rejects or does not distribute: why. They have
/// no conditions, and Events on the hub do not reach the users of the member. The member agent repeats it.
pub const REJECTED: &str = "networking.fleet.azure.com/rejected";

/// On an `InternalServiceExport`: whether the hub had accepted the export before it was made again, "true" or "false", as the member
/// remembers it. A hub that was rebuilt gives the ports of a Service back to those that had them.
pub const ACCEPTED_BEFORE: &str = "networking.fleet.azure.com/accepted-before";

/// On an `EndpointSliceImport`, written by the hub alone: namespace of the `EndpointSliceExport` it
/// copies. It proves which member the endpoints belong to.
pub const ORIGIN_NAMESPACE: &str = "networking.fleet.azure.com/origin-namespace";
/// On an imported EndpointSlice: the member cluster whose endpoints these are.
pub const ORIGIN_CLUSTER: &str = "networking.fleet.azure.com/origin-cluster";
/// On an `EndpointSliceImport` and on an imported EndpointSlice: uid of the `EndpointSliceExport`
/// they come from.
pub const SLICE_EXPORT_UID: &str = "networking.fleet.azure.com/endpointsliceexport-uid";
/// On a slice that was imported through the standard API: uid of the exporter's EndpointSlice that it was made from.
pub const SLICE_UID: &str = "networking.fleet.azure.com/endpointslice-uid";
/// On an `EndpointSliceImport`, written by the hub alone: decimal generation of the `EndpointSliceExport` that it shows. A copy
/// that differs from its slice although this is the present one was altered where it is.
pub const SLICE_EXPORT_GENERATION: &str =
    "networking.fleet.azure.com/endpointsliceexport-generation";
/// On an `EndpointSliceImport` that has another name than the `EndpointSliceExport` it copies, because the importer had a
/// copy of that name from another member: the name of the latter.
pub const SLICE_EXPORT_NAME: &str = "networking.fleet.azure.com/endpointsliceexport-name";

/// On an `EndpointSliceExport` and an `EndpointSliceImport`, where traces are on: the [trace context](crate::TraceContext)
/// of the write that led to their current content. It is never the only reason for a write.
pub const TRACEPARENT: &str = "networking.fleet.azure.com/traceparent";

/// On a Service: name of the secondary network on which its endpoints are, in place of the cluster's.
pub const ENDPOINT_NETWORK: &str = "networking.fleet.azure.com/endpoint-network";
/// On a Pod: its networks and its addresses on them, written by the CNI plugin that attached them.
pub const NETWORK_STATUS: &str = "k8s.v1.cni.cncf.io/network-status";

/// On an `InternalMemberCluster`, set by an administrator of the hub: decimal generation of that object. Confirms that the member may
/// leave as that generation asks, although much is deleted then.
pub const CONFIRM_LEAVE: &str = "networking.fleet.azure.com/confirm-leave";

/// On a derived Service of the standard API that has the selector of the exported Service, so that Kubernetes writes its own endpoints:
/// `Kubernetes`.
pub const LOCAL_ENDPOINTS: &str = "traffic.networking.fleet.azure.com/local-endpoints";
/// On an imported slice that is kept although its exporter does not come back to a hub that was built anew: the first addresses of
/// the endpoints that terminated at the exporter, separated by commas. All others were ready there, whatever their conditions here.
pub const TERMINATING_AT_EXPORTER: &str =
    "traffic.networking.fleet.azure.com/terminating-at-exporter";
/// On a ServiceImport of the standard API: name of its derived Service.
pub const MULTICLUSTER_DERIVED_SERVICE: &str = "multicluster.kubernetes.io/derived-service";
/// On a ServiceImport of the standard API: the incarnation of the hub that confirmed it; on a ClusterProperty: of the hub for which
/// the agent made it. One without is another implementation's.
pub const MULTICLUSTER_HUB: &str = "multicluster.networking.fleet.azure.com/hub";
/// On a ServiceImport of the standard API: digest of the exported labels and annotations. While it is right, others may add some.
pub const MULTICLUSTER_EXPORTED: &str = "multicluster.networking.fleet.azure.com/exported";

/// On a namespace for Pods of another member: hash of what the executor has set up in it.
pub const OFFLOAD_EQUIPMENT: &str = "offload.networking.fleet.azure.com/equipment";
