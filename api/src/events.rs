//! Reasons of Kubernetes Events. All but the last group are those of the Go agents.

/// Warning on a ServiceExport: its Service is absent or terminating.
pub const SERVICE_NOT_FOUND: &str = "ServiceNotFound";
/// Warning on a ServiceExport: headless or `ExternalName` Service.
pub const SERVICE_NOT_ELIGIBLE: &str = "ServiceNotEligible";
/// Warning on a ServiceExport: unusable weight annotation.
pub const INVALID_WEIGHT: &str = "ServiceExportInvalidWeightAnnotation";
/// Warning on a ServiceExport: its ports differ from the fleet's.
pub const SERVICE_EXPORT_CONFLICT_FOUND: &str = "ServiceExportConflictFound";
/// Normal on a ServiceExport: withdrawn because its weight is 0.
pub const SERVICE_WEIGHT_ZERO: &str = "Service";
/// Normal on a ServiceExport: it became exportable.
pub const VALID_SERVICE_EXPORT: &str = "ValidServiceExport";
/// Normal on a ServiceExport: waits for the hub's decision.
pub const PENDING_EXPORT_CONFLICT_RESOLUTION: &str = "PendingExportConflictResolution";
/// Normal on a ServiceExport: the hub accepted its ports.
pub const NO_SERVICE_EXPORT_CONFLICT_FOUND: &str = "NoServiceExportConflictFound";

/// Normal on a MultiClusterService: the import is live.
pub const FOUND_VALID_SERVICE: &str = "FoundValidService";
/// Normal on a MultiClusterService or hub ServiceImport: its status was written.
pub const SUCCESSFUL_UPDATE_STATUS: &str = "SuccessfulUpdateStatus";
/// Normal on a MultiClusterService: it withdrew its import.
pub const UNIMPORTED_SERVICE: &str = "UnimportedService";

/// Normal on a hub ServiceImport: no cluster exports it any more.
pub const NO_EXPORTED_SERVICE: &str = "NoExportedService";

/// Warning on a MultiClusterService: its `derived-service` label was changed by another client and
/// is restored.
pub const DERIVED_SERVICE_LABEL_REWRITTEN: &str = "DerivedServiceLabelRewritten";
/// Warning on a MultiClusterService: a Service with the labels of its derived Service has the uid of another
/// MultiClusterService.
pub const DERIVED_SERVICE_NOT_OURS: &str = "DerivedServiceNotOurs";
/// Warning on a ServiceExport, MultiClusterService or InternalServiceExport: the agent cannot read the
/// objects that it needs to reconcile it.
pub const BLOCKED: &str = "Blocked";
/// Warning on a ServiceExport or MultiClusterService: an API server rejects a required write, for example because
/// of an admission policy of the hub.
pub const WRITE_REFUSED: &str = "WriteRefused";
/// Warning on a MultiClusterService: many imports of the member lost their endpoints on the hub at once, so
/// the imported ones are kept.
pub const IMPORTS_KEPT: &str = "ImportsKept";
/// Warning on a MultiClusterService: the address of the hub leads to more than one, so what one of them lacks is kept.
pub const HUB_INCONSISTENT: &str = "HubInconsistent";
/// Warning on a MultiClusterService: nothing is imported into its namespace, or the hub does not accept the import.
pub const IMPORT_REFUSED: &str = "ImportRefused";
/// Warning on a MultiClusterService: its ServiceImport belongs to another owner.
pub const SERVICE_IMPORT_NOT_OURS: &str = "ServiceImportNotOurs";
/// Warning on a MultiClusterService: the namespace of derived Services does not accept objects.
pub const SYSTEM_NAMESPACE_UNAVAILABLE: &str = "SystemNamespaceUnavailable";
/// Warning on a MultiClusterService: all candidate names of its derived Service are taken.
pub const NO_FREE_NAME: &str = "NoFreeName";
/// Warning on a ServiceExport or MultiClusterService: the member has left the fleet.
pub const MEMBER_LEFT: &str = "MemberLeft";
/// Warning on an object whose reference cannot be read or contradicts the object's namespace.
pub const REFERENCE_REFUSED: &str = "ReferenceRefused";
/// Warning on an object of a member that exceeds a bound, for example in the number of its ports; and on a
/// MultiClusterService whose Service the hub grants with more than a bound allows.
pub const LIMIT_EXCEEDED: &str = "LimitExceeded";
/// Warning on an `InternalServiceExport` or `InternalServiceImport`: its member has an older one for the same Service.
pub const DUPLICATE: &str = "Duplicate";
/// Warning on a ServiceExport or MultiClusterService, or what stands for it on the hub: Services of its namespace are not
/// shared with the fleet.
pub const NAMESPACE_DENIED: &str = "NamespaceDenied";
/// Warning on an `InternalServiceExport` or `InternalServiceImport`: the member policy does not list its Service.
pub const POLICY_DENIED: &str = "PolicyDenied";
/// Warning on a member policy: it cannot be read, so the hub agent withdraws nothing because of it.
pub const MEMBER_POLICY_UNREADABLE: &str = "MemberPolicyUnreadable";
/// Warning on a ServiceExport: the hub does not accept the export, or does not distribute one of its slices.
pub const EXPORT_REFUSED: &str = "ExportRefused";
/// Warning on a ServiceExport: some endpoints of its Service are not exported, since the hub does not carry their addresses,
/// or their slice has no name there.
pub const ENDPOINTS_NOT_EXPORTED: &str = "EndpointsNotExported";
/// Warning on a `MemberCluster`: it was deleted and has not left in time; the hub agent removed the
/// finalizers of its member agent.
pub const MEMBER_FORCE_DELETED: &str = "MemberForceDeleted";
/// Warning on a `MemberCluster`: it was deleted and has not left in time, but its networking agents send heartbeats.
pub const MEMBER_NOT_LEFT: &str = "MemberNotLeft";
/// Warning on an `InternalMemberCluster` and a `MemberCluster`: the member is asked to leave, and waits for a confirmation since much
/// would be deleted.
pub const LEAVE_NOT_CONFIRMED: &str = "LeaveNotConfirmed";
/// Warning on an `InternalMemberCluster`: its networking agents have not sent a heartbeat for too long. On a `MemberTraffic`: it
/// does not renew its Lease.
pub const MEMBER_SILENT: &str = "MemberSilent";
/// Warning on an `EndpointSliceExport`: another slice of the same name is already distributed. On a
/// `MultiClusterService`: its derived Service has another name than usual, because another Service has that one.
pub const NAME_TAKEN: &str = "NameTaken";
/// Warning on a `MultiClusterService`: its annotation requests a type that no derived Service is given.
pub const INVALID_DERIVED_SERVICE_TYPE: &str = "InvalidDerivedServiceType";
/// Warning on a Service: Linkerd's controller manages the slices of its external workloads.
pub const LEFT_TO_LINKERD: &str = "LeftToLinkerd";
/// Warning on a Service or ServiceExport: pods without an address on the network that the Service
/// requests.
pub const ENDPOINTS_OFF_NETWORK: &str = "EndpointsOffNetwork";
/// Warning on a Service, with the reason of Kubernetes' own controller: some endpoints could not be created.
pub const FAILED_TO_UPDATE_ENDPOINT_SLICES: &str = "FailedToUpdateEndpointSlices";
/// Normal on a ServiceExport: all pods are on the network that the Service requests.
pub const ENDPOINTS_ON_NETWORK: &str = "EndpointsOnNetwork";
/// Warning on an ExternalWorkload: one of its addresses is not valid in an endpoint.
pub const ADDRESS_IGNORED: &str = "AddressIgnored";
/// Warning on a MultiClusterService: endpoints have addresses that are reserved in this cluster, and stay since they were imported
/// before.
pub const ENDPOINTS_RESERVED: &str = "EndpointsReserved";
/// Warning on a MultiClusterService: parts of a slice from the hub are invalid and therefore not imported.
pub const ENDPOINTS_REFUSED: &str = "EndpointsRefused";
/// Warning on a ServiceExport of the standard API: the hub has not accepted this cluster.
pub const CLUSTER_REFUSED: &str = "ClusterRefused";
/// Warning on a ClusterReport: another member states to be the same cluster.
pub const DUPLICATE_CLUSTER: &str = "DuplicateCluster";
/// Warning on a ServiceExport of the standard API: some exported labels or annotations are not allowed and left out.
pub const EXPORTED_METADATA_REFUSED: &str = "ExportedMetadataRefused";
/// Warning on a ServiceImport of the standard API: its derived Service has another address than before.
pub const ADDRESS_REPLACED: &str = "AddressReplaced";

/// Normal on a Pod of a virtual node: it is on the hub.
pub const EXPORTED: &str = "Exported";
/// Warning on a Pod of a virtual node: it does not cross. The message has the field.
pub const REJECTED_BY_POLICY: &str = "RejectedByPolicy";
/// Normal on a Pod of a virtual node: a node of the executor has it.
pub const REMOTE_SCHEDULED: &str = "RemoteScheduled";
/// Normal on a Pod of a virtual node: it runs.
pub const REMOTE_STARTED: &str = "RemoteStarted";
/// Warning on a Pod of a virtual node: it failed or was lost in the cluster of the executor.
pub const REMOTE_FAILED: &str = "RemoteFailed";
/// Warning on a Pod of a virtual node: it is to be deleted, and the executor has not confirmed that it has ended.
pub const WAITING_FOR_EXECUTOR: &str = "WaitingForExecutor";
/// Warning on a Pod of a virtual node: a config map or Secret that it needs does not exist.
pub const WAITING_FOR_CONFIG: &str = "WaitingForConfig";
/// Warning on a Pod of a virtual node: its address does not belong to the executor and is not taken.
pub const REMOTE_ADDRESS_REFUSED: &str = "RemoteAddressRefused";
/// Normal on a Pod of a virtual node: the executor has nothing of it any more.
pub const RELEASED: &str = "Released";
/// Normal on a virtual node: the executor is accepted.
pub const OFFER_ACCEPTED: &str = "OfferAccepted";
/// Warning on a virtual node: the hub is not reached.
pub const HUB_UNREACHABLE: &str = "HubUnreachable";
/// Warning on a virtual node: the hub has no sign of the executor.
pub const EXECUTOR_UNREACHABLE: &str = "ExecutorUnreachable";
/// Warning on a virtual node: it was deleted by another client and made again.
pub const NODE_RECREATED: &str = "NodeRecreated";

/// Normal on a `MemberTraffic`: the member renews its Lease again, and its endpoints return.
pub const MEMBER_RETURNS: &str = "MemberReturns";
/// Warning on a `MemberTraffic`: a Service would be left without ready endpoints by a drain.
pub const DRAIN_REFUSED: &str = "DrainRefused";
/// Warning on the `FleetTraffic`: so many members are silent at once that none is taken for silent.
pub const MASS_SILENCE: &str = "MassSilence";
/// Warning on an `InternalServiceExport` or an `ExportedService`: its member is silent, and its ports are not in force any more, since
/// those of another member contradict them.
pub const PORTS_YIELDED: &str = "PortsYielded";
/// Warning on the `FleetTraffic`: the API server of the hub went back in its history.
pub const ROLLED_BACK: &str = "RolledBack";
