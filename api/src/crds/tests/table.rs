//! The tables of the original, kind by kind, with this project's bounds.

use crate::{ResourceKind, kinds};

/// What one definition has to look like.
pub(super) struct Expected {
    pub(super) kind: ResourceKind,
    pub(super) short: Option<&'static str>,
    pub(super) categories: &'static [&'static str],
    /// Versions; the last one is stored.
    pub(super) versions: &'static [&'static str],
    pub(super) status_subresource: bool,
    pub(super) columns: &'static [&'static str],
    pub(super) names_limited: bool,
    /// Properties in the notation of [`outline`](super::outline), in parts.
    pub(super) schema: &'static [&'static [&'static str]],
}

const NETWORKING: &[&str] = &["fleet-networking"];
const MEMBERSHIP: &[&str] = &["fleet", "fleet-cluster"];
const VALID: &str = "Is-Valid string .status.conditions[?(@.type=='Valid')].status";
const AGE: &str = "Age date .metadata.creationTimestamp";

const SERVICE_IMPORT_STATUS: &[&str] = &[
    "status object",
    "status.clusters array map(cluster)",
    "status.clusters[] object",
    "status.clusters[].cluster! string",
    "status.ips array max 1",
    "status.ips[] string",
    "status.ports array atomic",
    "status.ports[] ServicePort",
    "status.sessionAffinity string",
    "status.sessionAffinityConfig object",
    "status.sessionAffinityConfig.clientIP object",
    "status.sessionAffinityConfig.clientIP.timeoutSeconds integer int32",
    "status.type string ClusterSetIP|Headless",
];

const CONDITIONS: &[&str] =
    &["status object", "status.conditions array map(type)", "status.conditions[] Condition"];

const SLICE: &[&str] = &[
    "spec! object",
    "spec.addressType! string IPv4|IPv6 default IPv4", // IPv6 is ours
    "spec.drainingEndpoints array max 1000 atomic",    // ours
    "spec.drainingEndpoints[] object",
    "spec.drainingEndpoints[].addresses! array max 100",
    "spec.drainingEndpoints[].addresses[] string length ..253",
    "spec.drainingEndpoints[].hostname string length ..63",
    "spec.drainingEndpoints[].zone string length ..63",
    "spec.endpointSliceReference! ExportedObjectReference",
    "spec.endpoints! array max 1000 atomic",
    "spec.endpoints[] object",
    "spec.endpoints[].addresses! array max 100",
    "spec.endpoints[].addresses[] string length ..253",
    "spec.endpoints[].hostname string length ..63", // ours
    "spec.endpoints[].zone string length ..63",     // ours
    "spec.ownerServiceReference! object",
    "spec.ownerServiceReference.name! string length ..253",
    "spec.ownerServiceReference.namespace! string length ..63",
    "spec.ownerServiceReference.namespacedName! string length ..317",
    "spec.ports array max 20000 atomic",
    "spec.ports[] object atomic",
    "spec.ports[].appProtocol string length ..317",
    "spec.ports[].name string length ..63",
    "spec.ports[].port integer int32",
    "spec.ports[].protocol string length ..63",
];

const OF_NAMESPACE: &str = "Namespace-Of-Service string .spec.service.namespace";
const OF_SERVICE: &str = "Service string .spec.service.name";

const AFFINITY_AND_METADATA: &[&str] = &[
    "spec.affinityTimeoutSeconds integer int32 1..86400",
    "spec.annotations object max 32 rule self.all(key, size(key) <= 317)",
    "spec.annotations{} string length ..2048",
];

const POLICIES_AND_PORTS: &[&str] = &[
    "spec.internalTrafficPolicy string Cluster|Local default Cluster",
    "spec.ipFamilies array max 2 set",
    "spec.ipFamilies[] string IPv4|IPv6",
    "spec.labels object max 32 rule self.all(key, size(key) <= 317)",
    "spec.labels{} string length ..63",
    "spec.ports array max 100 atomic",
    "spec.ports[] object",
    "spec.ports[].appProtocol string length ..317",
    "spec.ports[].name string length ..63",
    "spec.ports[].port! integer int32 1..65535",
    "spec.ports[].protocol string TCP|UDP|SCTP default TCP",
];

const SHARED_SERVICE: &[&str] = &[
    "spec.service! object rule self == oldSelf",
    "spec.service.name! string length 1..63",
    "spec.service.namespace! string length 1..63",
];

const AFFINITY_AND_TYPE: &[&str] = &[
    "spec.sessionAffinity string None|ClientIP default None",
    "spec.trafficDistribution string length ..63",
    "spec.type! string ClusterSetIP|Headless",
];

/// Every kind, in the order of [`all`](super::all).
pub(super) const EXPECTED: [Expected; 13] = [
    Expected {
        kind: kinds::SERVICE_EXPORT,
        short: Some("svcexport"),
        categories: NETWORKING,
        versions: &["v1alpha1", "v1beta1"],
        status_subresource: true,
        columns: &[
            VALID,
            "Is-Conflicted string .status.conditions[?(@.type=='Conflict')].status",
            AGE,
        ],
        names_limited: true,
        schema: &[CONDITIONS],
    },
    Expected {
        kind: kinds::SERVICE_IMPORT,
        short: Some("svcimport"),
        categories: NETWORKING,
        versions: &["v1alpha1"],
        status_subresource: true,
        columns: &[],
        names_limited: true,
        schema: &[SERVICE_IMPORT_STATUS],
    },
    Expected {
        kind: kinds::MULTI_CLUSTER_SERVICE,
        short: Some("mcs"),
        categories: NETWORKING,
        versions: &["v1alpha1"],
        status_subresource: true,
        columns: &[
            "Service-Import string .spec.serviceImport.name",
            "External-IP string .status.loadBalancer.ingress[0].ip",
            VALID,
            AGE,
        ],
        names_limited: true,
        schema: &[&[
            "spec! object",
            "spec.serviceImport object",
            "spec.serviceImport.name! string length ..63 ^([a-z]([-a-z0-9]*[a-z0-9])?)$",
            "status object",
            "status.conditions array map(type)",
            "status.conditions[] Condition",
            "status.loadBalancer object",
            "status.loadBalancer.ingress array atomic",
            "status.loadBalancer.ingress[] object",
            "status.loadBalancer.ingress[].hostname string",
            "status.loadBalancer.ingress[].ip string",
            "status.loadBalancer.ingress[].ipMode string",
            "status.loadBalancer.ingress[].ports array atomic",
            "status.loadBalancer.ingress[].ports[] object",
            "status.loadBalancer.ingress[].ports[].error string length ..316 QUALIFIED",
            "status.loadBalancer.ingress[].ports[].port! integer int32",
            "status.loadBalancer.ingress[].ports[].protocol! string",
        ]],
    },
    Expected {
        kind: kinds::INTERNAL_SERVICE_EXPORT,
        short: Some("internalsvcexport"),
        categories: NETWORKING,
        versions: &["v1alpha1"],
        status_subresource: true,
        columns: &[],
        names_limited: false,
        schema: &[&[
            "spec! object",
            "spec.isDNSLabelConfigured boolean",
            "spec.isInternalLoadBalancer boolean",
            "spec.ports! array max 20000 atomic",
            "spec.ports[] BoundedServicePort",
            "spec.publicIPResourceID string length ..2048",
            "spec.serviceReference! ExportedObjectReference",
            "spec.type string length ..63",
            "spec.weight integer int64",
            "status object",
            "status.conditions array map(type)",
            "status.conditions[] Condition",
        ]],
    },
    Expected {
        kind: kinds::INTERNAL_SERVICE_IMPORT,
        short: Some("internalsvcimport"),
        categories: NETWORKING,
        versions: &["v1alpha1"],
        status_subresource: true,
        columns: &[],
        names_limited: false,
        schema: &[
            &["spec! object", "spec.serviceImportReference! ExportedObjectReference"],
            SERVICE_IMPORT_STATUS,
        ],
    },
    Expected {
        kind: kinds::ENDPOINT_SLICE_EXPORT,
        short: None,
        categories: NETWORKING,
        versions: &["v1alpha1"],
        status_subresource: true,
        columns: &[],
        names_limited: false,
        schema: &[SLICE],
    },
    Expected {
        kind: kinds::ENDPOINT_SLICE_IMPORT,
        short: None,
        categories: NETWORKING,
        versions: &["v1alpha1"],
        status_subresource: false,
        columns: &[],
        names_limited: false,
        schema: &[SLICE],
    },
    Expected {
        kind: kinds::CLUSTER_REPORT,
        short: None,
        categories: NETWORKING,
        versions: &["v1alpha1"],
        status_subresource: true,
        columns: &["Cluster-Uid string .spec.clusterUid", AGE],
        names_limited: false,
        schema: &[&[
            "spec! object",
            "spec.clusterUid! string length 1..64 rule self == oldSelf",
            "spec.publishedTo string length ..80",
            "status object",
            "status.clustersetId string length ..63",
            "status.conditions array map(type)",
            "status.conditions[] Condition",
            "status.incarnation string length ..80",
        ]],
    },
    Expected {
        kind: kinds::EXPORTED_SERVICE,
        short: None,
        categories: NETWORKING,
        versions: &["v1alpha1"],
        status_subresource: true,
        columns: &[OF_NAMESPACE, OF_SERVICE, "Type string .spec.type", AGE],
        names_limited: false,
        schema: &[
            &["spec! object"],
            AFFINITY_AND_METADATA,
            &[
                "spec.export! object",
                "spec.export.created string date-time",
                "spec.export.uid! string length ..64",
            ],
            POLICIES_AND_PORTS,
            SHARED_SERVICE,
            &["spec.serviceUid! string length ..64"],
            AFFINITY_AND_TYPE,
            CONDITIONS,
        ],
    },
    Expected {
        kind: kinds::RESOLVED_SERVICE,
        short: None,
        categories: NETWORKING,
        versions: &["v1alpha1"],
        status_subresource: false,
        columns: &[
            OF_NAMESPACE,
            OF_SERVICE,
            "Type string .spec.type",
            "Winner string .spec.winner",
            "Withdrawn date .spec.withdrawnAt",
            AGE,
        ],
        names_limited: false,
        schema: &[
            &["spec! object rule has(self.withdrawnAt) == (size(self.exporters) == 0)"],
            AFFINITY_AND_METADATA,
            &[
                "spec.conflicts array max 9 atomic",
                "spec.conflicts[] object",
                "spec.conflicts[].message! string length ..1024",
                "spec.conflicts[].reason! string TypeConflict|PortConflict|SessionAffinityConflict|SessionAffinityConfigConflict|InternalTrafficPolicyConflict|TrafficDistributionConflict|IPFamilyConflict|LabelsConflict|AnnotationsConflict",
                "spec.exporters! array max 1024 map(cluster)",
                "spec.exporters[] object",
                "spec.exporters[].cluster! string length ..63",
                "spec.exporters[].withheld array max 100 atomic",
                "spec.exporters[].withheld[] string length ..63",
            ],
            POLICIES_AND_PORTS,
            SHARED_SERVICE,
            AFFINITY_AND_TYPE,
            &["spec.winner string length ..63", "spec.withdrawnAt string date-time"],
        ],
    },
    Expected {
        kind: kinds::INTERNAL_MEMBER_CLUSTER,
        short: Some("imc"),
        categories: MEMBERSHIP,
        versions: &["v1beta1"],
        status_subresource: true,
        columns: &[AGE],
        names_limited: false,
        schema: &[&[
            "spec! object open",
            "spec.heartbeatPeriodSeconds integer int32 1..600 default 60",
            "spec.state! string",
            "status object open",
            "status.agentStatus array",
            "status.agentStatus[] object open",
            "status.agentStatus[].conditions array map(type)",
            "status.agentStatus[].conditions[] Condition",
            "status.agentStatus[].lastReceivedHeartbeat string date-time",
            "status.agentStatus[].type! string",
        ]],
    },
    Expected {
        kind: kinds::MEMBER_CLUSTER,
        short: Some("cluster"),
        categories: MEMBERSHIP,
        versions: &["v1beta1"],
        status_subresource: true,
        columns: &[AGE],
        names_limited: true,
        schema: &[&["spec! object open", "status object open"]],
    },
    Expected {
        kind: kinds::EXTERNAL_WORKLOAD,
        short: None,
        categories: &["external"],
        versions: &["v1beta1"],
        status_subresource: true,
        columns: &["Identity string .spec.meshTLS.identity", AGE],
        names_limited: false,
        schema: &[&[
            "spec! object",
            "spec.meshTLS! object",
            "spec.meshTLS.identity! string length 1..253",
            "spec.meshTLS.serverName! string length 1..253",
            "spec.ports array",
            "spec.ports[] object",
            "spec.ports[].name string",
            "spec.ports[].port! integer int32 1..65535",
            "spec.ports[].protocol string default TCP",
            "spec.workloadIPs array max 2",
            "spec.workloadIPs[] object",
            "spec.workloadIPs[].ip string",
            "status object",
            "status.conditions array",
            "status.conditions[] object",
            "status.conditions[].lastProbeTime string date-time",
            "status.conditions[].lastTransitionTime string date-time",
            "status.conditions[].message string length ..32768",
            "status.conditions[].reason string length 1..1024 ^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
            "status.conditions[].status string True|False|Unknown",
            "status.conditions[].type string length ..316 QUALIFIED",
        ]],
    },
];
