//! The tables of the original, kind by kind.

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
    "spec.drainingEndpoints array atomic",             // ours
    "spec.drainingEndpoints[] object",
    "spec.drainingEndpoints[].addresses! array",
    "spec.drainingEndpoints[].addresses[] string",
    "spec.endpointSliceReference! ExportedObjectReference",
    "spec.endpoints! array atomic",
    "spec.endpoints[] object",
    "spec.endpoints[].addresses! array",
    "spec.endpoints[].addresses[] string",
    "spec.ownerServiceReference! object",
    "spec.ownerServiceReference.name! string",
    "spec.ownerServiceReference.namespace! string",
    "spec.ownerServiceReference.namespacedName! string",
    "spec.ports array atomic",
    "spec.ports[] object atomic",
    "spec.ports[].appProtocol string",
    "spec.ports[].name string",
    "spec.ports[].port integer int32",
    "spec.ports[].protocol string",
];

/// Every kind, in the order of [`networking`](super::networking), then the membership kinds.
pub(super) const EXPECTED: [Expected; 9] = [
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
            "spec.ports! array atomic",
            "spec.ports[] ServicePort",
            "spec.publicIPResourceID string",
            "spec.serviceReference! ExportedObjectReference",
            "spec.type string",
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
];
