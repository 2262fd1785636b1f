//! Condition types, statuses and reasons. They are shared with the Go agents and read by users' tools.

/// Type on ServiceExport and MultiClusterService: whether the object can take effect. On an
/// `InternalServiceExport` only while it is refused.
pub const VALID: &str = "Valid";
/// Type on ServiceExport and `InternalServiceExport`: whether the ports differ from the fleet's.
pub const CONFLICT: &str = "Conflict";
/// Type on ServiceExport: whether all endpoints are on the network that the Service asks for. Only
/// while it asks for one.
pub const ENDPOINTS_ON_NETWORK: &str = "EndpointsOnNetwork";
/// Type in an agent's entry of `InternalMemberCluster` status.
pub const JOINED: &str = "Joined";

/// Type in a networking agent's entry of `InternalMemberCluster` status, only while it waits: whether an administrator of the hub has
/// confirmed that the member may leave.
pub const LEAVE_CONFIRMED: &str = "LeaveConfirmed";

/// Type on objects of the standard API, and on an `ExportedService` only while the hub refuses it: whether it has taken effect.
pub const READY: &str = "Ready";
/// Type on `ClusterReport`: whether the member may take part in the standard API.
pub const ACCEPTED: &str = "Accepted";

/// Condition status.
pub const TRUE: &str = "True";
/// Condition status.
pub const FALSE: &str = "False";
/// Condition status: not decided yet.
pub const UNKNOWN: &str = "Unknown";

/// Reasons, named after the condition and status they explain.
pub mod reasons {
    /// ServiceExport `Valid=True`: exportable, or withdrawn by weight 0 (the message distinguishes these).
    pub const SERVICE_IS_VALID: &str = "ServiceIsValid";
    /// ServiceExport `Valid=False`: the Service is absent or terminating.
    pub const SERVICE_NOT_FOUND: &str = "ServiceNotFound";
    /// ServiceExport `Valid=False`: headless or `ExternalName`.
    pub const SERVICE_INELIGIBLE: &str = "ServiceIneligible";
    /// ServiceExport `Valid=False`: the weight annotation is not an integer from 0 to 1000.
    pub const INVALID_WEIGHT: &str = "ServiceExportInvalidWeightAnnotation";
    /// ServiceExport `Valid=False`: the member has left the fleet.
    pub const MEMBER_LEFT: &str = "MemberLeft";
    /// ServiceExport `Conflict=Unknown`: the hub has not answered yet.
    pub const PENDING_CONFLICT_RESOLUTION: &str = "ServicePendingConflictResolution";
    /// ServiceExport `EndpointsOnNetwork=True`.
    pub const ON_NETWORK: &str = "AllEndpointsOnNetwork";
    /// ServiceExport `EndpointsOnNetwork=False`: endpoints without an address there are left out.
    pub const OFF_NETWORK: &str = "EndpointsRefused";
    /// ServiceExport and `InternalServiceExport` `Conflict=False`: the hub accepted the ports.
    pub const NO_CONFLICT_FOUND: &str = "NoConflictFound";
    /// ServiceExport and `InternalServiceExport` `Conflict=True`: the fleet uses other ports.
    pub const CONFLICT_FOUND: &str = "ConflictFound";

    /// `InternalServiceExport` `Valid=False`: its reference cannot be read or contradicts its namespace.
    pub const REFERENCE_REFUSED: &str = "ReferenceRefused";
    /// `InternalServiceExport` and ServiceExport `Valid=False`: more ports, or longer texts, than the hub accepts.
    pub const LIMIT_EXCEEDED: &str = "LimitExceeded";
    /// `InternalServiceExport` `Valid=False`: its member has an older one for the same Service.
    pub const DUPLICATE: &str = "Duplicate";
    /// `InternalServiceExport` and ServiceExport `Valid=False`: Services of its namespace are not exported.
    pub const NAMESPACE_DENIED: &str = "NamespaceDenied";
    /// `InternalServiceExport` and ServiceExport `Valid=False`: the member policy does not list the Service.
    pub const POLICY_DENIED: &str = "PolicyDenied";
    /// Why an `InternalServiceExport` has `Valid=False`.
    pub const EXPORT_REFUSED: [&str; 5] =
        [REFERENCE_REFUSED, LIMIT_EXCEEDED, DUPLICATE, NAMESPACE_DENIED, POLICY_DENIED];

    /// MultiClusterService `Valid=True`: resolved, derived Service in place.
    pub const FOUND_SERVICE_IMPORT: &str = "FoundServiceImport";
    /// MultiClusterService `Valid=Unknown`: no exporter yet, or another object imports it.
    pub const UNKNOWN_SERVICE_IMPORT: &str = "UnknownServiceImport";

    /// Agent `Joined=True`.
    pub const AGENT_JOINED: &str = "AgentJoined";
    /// Agent `LeaveConfirmed=False`: much would be deleted.
    pub const CONFIRMATION_REQUIRED: &str = "ConfirmationRequired";
    /// Agent `Joined=False`: it has cleaned up after `Leave`.
    pub const AGENT_LEFT: &str = "AgentLeft";
}

/// Reasons of conditions of the standard API, and of the kinds that carry its exports.
pub mod standard {
    /// ServiceExport `Valid=True`: the Service exists and can be exported.
    pub const VALID: &str = "Valid";
    /// ServiceExport `Valid=False`: there is no such Service.
    pub const NO_SERVICE: &str = "NoService";
    /// ServiceExport `Valid=False`: Services of this kind cannot be exported.
    pub const INVALID_SERVICE_TYPE: &str = "InvalidServiceType";
    /// ServiceExport `Ready=True`: importers see it.
    pub const EXPORTED: &str = "Exported";
    /// `Ready=True` of a ServiceImport.
    pub const READY: &str = "Ready";
    /// `Ready` False or Unknown: not yet.
    pub const PENDING: &str = "Pending";
    /// `Ready=False` of a ServiceExport: the message has the reason.
    pub const FAILED: &str = "Failed";
    /// ServiceExport `Conflict=False`.
    pub const NO_CONFLICTS: &str = "NoConflicts";
    /// ServiceImport `Ready=False`: the Service has no addresses of a family that this cluster has.
    pub const IP_FAMILY_NOT_SUPPORTED: &str = "IPFamilyNotSupported";

    /// ClusterReport `Accepted=True`.
    pub const ACCEPTED: &str = "Accepted";
    /// ClusterReport `Accepted=True`: another member states to be the same cluster, and takes part as well.
    pub const DUPLICATE_CLUSTER: &str = "DuplicateCluster";
    /// ClusterReport `Accepted=False`: the report names another member than its namespace belongs to.
    pub const NAMESPACE_MISMATCH: &str = "NamespaceMismatch";

    /// ExportedService `Ready=False`: it cannot be read, or contradicts itself.
    pub const INVALID: &str = "Invalid";
    /// ExportedService `Ready=False`: the same, by a bound.
    pub const LIMIT_EXCEEDED: &str = super::reasons::LIMIT_EXCEEDED;
    /// ExportedService `Ready=False`: two of its ports have the same name, or the same protocol and number.
    pub const PORTS_NOT_UNIQUE: &str = "PortsNotUnique";
    /// ExportedService `Ready=False`: one of its ports is none that a Service can have.
    pub const PORTS_INVALID: &str = "PortsInvalid";
    /// ExportedService `Ready=False`: the member has an older one for the same Service.
    pub const DUPLICATE: &str = super::reasons::DUPLICATE;
    /// ExportedService `Ready=False`: its namespace takes no part in the fleet.
    pub const NAMESPACE_DENIED: &str = super::reasons::NAMESPACE_DENIED;
    /// ExportedService `Ready=False`: the member policy does not list the Service.
    pub const POLICY_DENIED: &str = super::reasons::POLICY_DENIED;
}

/// Reasons of the conditions of Nodes that stand for other members, and of Pods on them.
pub mod offload_reasons {
    /// Node `Ready=True`: all hops work.
    pub const EXECUTOR_READY: &str = "ExecutorReady";
    /// Node and Pod `Ready=False`: the origin does not reach the hub.
    pub const HUB_UNREACHABLE: &str = "HubUnreachable";
    /// Node and Pod `Ready=False`: the hub has no sign of the executor.
    pub const EXECUTOR_UNREACHABLE: &str = "ExecutorUnreachable";
    /// Node `Ready=False`: the executor's administrators have withdrawn the offer.
    pub const OFFER_WITHDRAWN: &str = "OfferWithdrawn";
    /// Node `Ready=False`: the origin's administrators have not accepted the executor.
    pub const NOT_ACCEPTED: &str = "NotAccepted";
    /// Node, conditions of pressure: a virtual node has none.
    pub const NO_PRESSURE: &str = "NoPressure";
    /// Node `NetworkUnavailable=False`: Pods have addresses of the executor.
    pub const EXECUTOR_NETWORK: &str = "ExecutorNetwork";
    /// Pod `Ready=False`: a gate of the Pod in its own cluster is closed.
    pub const READINESS_GATES_NOT_READY: &str = "ReadinessGatesNotReady";
    /// Pod `Ready=False`: the Pod has an address that does not belong to the executor.
    pub const ADDRESS_REFUSED: &str = "AddressRefused";
    /// Pod `Ready=False`: containers are not ready.
    pub const CONTAINERS_NOT_READY: &str = "ContainersNotReady";
    /// Reason of a Pod that waits for a config map or Secret.
    pub const WAITING_FOR_CONFIG: &str = "WaitingForConfig";
    /// Reason of a Pod that waits for the hub or the executor to take it.
    pub const WAITING_FOR_EXECUTOR: &str = "WaitingForExecutor";
}
