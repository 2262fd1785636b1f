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
/// Normal on a ServiceExport: waits for the hub's verdict.
pub const PENDING_EXPORT_CONFLICT_RESOLUTION: &str = "PendingExportConflictResolution";
/// Normal on a ServiceExport: the hub accepted its ports.
pub const NO_SERVICE_EXPORT_CONFLICT_FOUND: &str = "NoServiceExportConflictFound";

/// Normal on a MultiClusterService: the import is live.
pub const FOUND_VALID_SERVICE: &str = "FoundValidService";
/// Normal on a MultiClusterService or hub ServiceImport: its status was written.
pub const SUCCESSFUL_UPDATE_STATUS: &str = "SuccessfulUpdateStatus";
/// Normal on a MultiClusterService: it released its import.
pub const UNIMPORTED_SERVICE: &str = "UnimportedService";

/// Normal on a hub ServiceImport: no cluster exports it any more.
pub const NO_EXPORTED_SERVICE: &str = "NoExportedService";

/// Warning on a MultiClusterService: its `derived-service` label was changed by another party and
/// is rewritten.
pub const DERIVED_SERVICE_LABEL_REWRITTEN: &str = "DerivedServiceLabelRewritten";
/// Warning on a MultiClusterService: a Service whose labels name it as its origin bears the uid of
/// another.
pub const DERIVED_SERVICE_NOT_OURS: &str = "DerivedServiceNotOurs";
/// Warning on a ServiceExport, MultiClusterService or InternalServiceExport: the agent cannot read what
/// it needs for it.
pub const BLOCKED: &str = "Blocked";
/// Warning on a ServiceExport or MultiClusterService: an API server refuses what the agent writes for it,
/// an admission policy of the hub for instance.
pub const WRITE_REFUSED: &str = "WriteRefused";
/// Warning on a MultiClusterService: the hub has lost what its endpoints came from, and that of many
/// others; they are kept.
pub const IMPORTS_KEPT: &str = "ImportsKept";
/// Warning on a MultiClusterService: nothing is imported into its namespace.
pub const IMPORT_REFUSED: &str = "ImportRefused";
/// Warning on a MultiClusterService: its ServiceImport exists and belongs to another owner.
pub const SERVICE_IMPORT_NOT_OURS: &str = "ServiceImportNotOurs";
/// Warning on a MultiClusterService: the namespace of derived Services cannot take any.
pub const SYSTEM_NAMESPACE_UNAVAILABLE: &str = "SystemNamespaceUnavailable";
/// Warning on a MultiClusterService: every name that its derived Service could have is taken.
pub const NO_FREE_NAME: &str = "NoFreeName";
/// Warning on a ServiceExport or MultiClusterService: the member has left the fleet.
pub const MEMBER_LEFT: &str = "MemberLeft";
/// Warning on an object whose reference cannot be read or contradicts where the object is.
pub const REFERENCE_REFUSED: &str = "ReferenceRefused";
/// Warning on a `MemberCluster`: it was deleted and has not left in time; the hub agent removed its
/// finalizers.
pub const MEMBER_FORCE_DELETED: &str = "MemberForceDeleted";
/// Warning on an `InternalMemberCluster`: its networking agents have not sent a heartbeat for too long.
pub const MEMBER_SILENT: &str = "MemberSilent";
/// Warning on an `EndpointSliceExport`: another slice of its name is distributed already.
pub const NAME_TAKEN: &str = "NameTaken";
/// Warning on a Service: Linkerd makes the slices of its external workloads.
pub const LEFT_TO_LINKERD: &str = "LeftToLinkerd";
/// Warning on a Service or ServiceExport: pods without an address on the network that the Service
/// asks for.
pub const ENDPOINTS_OFF_NETWORK: &str = "EndpointsOffNetwork";
/// Warning on a Service, with the words of the built-in controller: some endpoints could not be made.
pub const FAILED_TO_UPDATE_ENDPOINT_SLICES: &str = "FailedToUpdateEndpointSlices";
/// Normal on a ServiceExport: all pods are on the network that the Service asks for.
pub const ENDPOINTS_ON_NETWORK: &str = "EndpointsOnNetwork";
/// Warning on an ExternalWorkload: no endpoint can have one of its addresses.
pub const ADDRESS_IGNORED: &str = "AddressIgnored";
/// Warning on a MultiClusterService: parts of a slice from the hub are not imported, for no cluster
/// should take them.
pub const ENDPOINTS_REFUSED: &str = "EndpointsRefused";
