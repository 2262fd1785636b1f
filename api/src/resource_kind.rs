//! The resource kinds the agents read and write, as the API server's URLs name them.

/// How one kind is addressed on an API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceKind {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// Version that the agents read and write.
    pub version: &'static str,
    /// Kind as in a manifest.
    pub kind: &'static str,
    /// Plural as in a URL.
    pub plural: &'static str,
    /// Whether its objects live in a namespace.
    pub namespaced: bool,
}

impl ResourceKind {
    /// `apiVersion` as written in a manifest.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// The kind in metrics, logs and messages. Kinds of the standard API that have the name of a kind of the fleet carry their
    /// group; all others are the plain name, as they have always been.
    pub fn label(&self) -> &'static str {
        match (self.group, self.kind) {
            (kinds::MCS, "ServiceExport") => "ServiceExport.multicluster.x-k8s.io",
            (kinds::MCS, "ServiceImport") => "ServiceImport.multicluster.x-k8s.io",
            _ => self.kind,
        }
    }

    /// Whether API servers have it by themselves: no definition of it can be removed, and its objects with that.
    pub fn is_built_in(&self) -> bool {
        let groups = ["", "networking.k8s.io", "discovery.k8s.io", "coordination.k8s.io"];
        groups.contains(&self.group)
    }

    /// Whether only agents write its objects, one for each change of an endpoint: which of them set which field is of no use, and
    /// keeping `managedFields` costs the hub a tenth of such a write and three tenths of its bytes.
    pub fn is_copied_slice(&self) -> bool {
        [kinds::ENDPOINT_SLICE_EXPORT, kinds::ENDPOINT_SLICE_IMPORT].contains(self)
    }

    /// The plural in messages, likewise.
    pub fn resource(&self) -> &'static str {
        match (self.group, self.plural) {
            (kinds::MCS, "serviceexports") => "serviceexports.multicluster.x-k8s.io",
            (kinds::MCS, "serviceimports") => "serviceimports.multicluster.x-k8s.io",
            _ => self.plural,
        }
    }
}

/// Every kind the agents know.
pub mod kinds {
    use super::ResourceKind;

    const fn namespaced(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
    ) -> ResourceKind {
        ResourceKind { group, version, kind, plural, namespaced: true }
    }

    const fn cluster_scoped(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
    ) -> ResourceKind {
        ResourceKind { namespaced: false, ..namespaced(group, version, kind, plural) }
    }

    const NETWORKING: &str = "networking.fleet.azure.com";
    const MULTICLUSTER: &str = "multicluster.networking.fleet.azure.com";
    const OFFLOAD: &str = "offload.networking.fleet.azure.com";
    const TRAFFIC: &str = "traffic.networking.fleet.azure.com";
    pub(super) const MCS: &str = "multicluster.x-k8s.io";
    const CLUSTER: &str = "cluster.kubernetes-fleet.io";

    /// Core Service.
    pub const SERVICE: ResourceKind = namespaced("", "v1", "Service", "services");
    /// Core Namespace.
    pub const NAMESPACE: ResourceKind = cluster_scoped("", "v1", "Namespace", "namespaces");
    /// Core Pod.
    pub const POD: ResourceKind = namespaced("", "v1", "Pod", "pods");
    /// Core Node.
    pub const NODE: ResourceKind = cluster_scoped("", "v1", "Node", "nodes");
    /// Core `ConfigMap`.
    pub const CONFIG_MAP: ResourceKind = namespaced("", "v1", "ConfigMap", "configmaps");
    /// Core Secret.
    pub const SECRET: ResourceKind = namespaced("", "v1", "Secret", "secrets");
    /// Core `ServiceAccount`.
    pub const SERVICE_ACCOUNT: ResourceKind =
        namespaced("", "v1", "ServiceAccount", "serviceaccounts");
    /// Core `ResourceQuota`.
    pub const RESOURCE_QUOTA: ResourceKind =
        namespaced("", "v1", "ResourceQuota", "resourcequotas");
    /// Core `LimitRange`.
    pub const LIMIT_RANGE: ResourceKind = namespaced("", "v1", "LimitRange", "limitranges");
    /// `NetworkPolicy`.
    pub const NETWORK_POLICY: ResourceKind =
        namespaced("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies");
    /// `ServiceCIDR`: a range of addresses that the API server gives to Services.
    pub const SERVICE_CIDR: ResourceKind =
        cluster_scoped("networking.k8s.io", "v1", "ServiceCIDR", "servicecidrs");
    /// EndpointSlice of the discovery group.
    pub const ENDPOINT_SLICE: ResourceKind =
        namespaced("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices");
    /// ServiceExport; v1beta1 is the version the agents use.
    pub const SERVICE_EXPORT: ResourceKind =
        namespaced(NETWORKING, "v1beta1", "ServiceExport", "serviceexports");
    /// ServiceImport, on the hub and on members.
    pub const SERVICE_IMPORT: ResourceKind =
        namespaced(NETWORKING, "v1alpha1", "ServiceImport", "serviceimports");
    /// MultiClusterService.
    pub const MULTI_CLUSTER_SERVICE: ResourceKind =
        namespaced(NETWORKING, "v1alpha1", "MultiClusterService", "multiclusterservices");
    /// `InternalServiceExport`.
    pub const INTERNAL_SERVICE_EXPORT: ResourceKind =
        namespaced(NETWORKING, "v1alpha1", "InternalServiceExport", "internalserviceexports");
    /// `InternalServiceImport`.
    pub const INTERNAL_SERVICE_IMPORT: ResourceKind =
        namespaced(NETWORKING, "v1alpha1", "InternalServiceImport", "internalserviceimports");
    /// `EndpointSliceExport`.
    pub const ENDPOINT_SLICE_EXPORT: ResourceKind =
        namespaced(NETWORKING, "v1alpha1", "EndpointSliceExport", "endpointsliceexports");
    /// `EndpointSliceImport`.
    pub const ENDPOINT_SLICE_IMPORT: ResourceKind =
        namespaced(NETWORKING, "v1alpha1", "EndpointSliceImport", "endpointsliceimports");
    /// `ClusterReport`, on the hub.
    pub const CLUSTER_REPORT: ResourceKind =
        namespaced(MULTICLUSTER, "v1alpha1", "ClusterReport", "clusterreports");
    /// `ExportedService`, on the hub.
    pub const EXPORTED_SERVICE: ResourceKind =
        namespaced(MULTICLUSTER, "v1alpha1", "ExportedService", "exportedservices");
    /// `ResolvedService`, on the hub.
    pub const RESOLVED_SERVICE: ResourceKind =
        namespaced(MULTICLUSTER, "v1alpha1", "ResolvedService", "resolvedservices");
    /// `ReachReport`, on the hub.
    pub const REACH_REPORT: ResourceKind =
        namespaced(MULTICLUSTER, "v1alpha1", "ReachReport", "reachreports");
    /// `OffloadOffer`, on the hub.
    pub const OFFLOAD_OFFER: ResourceKind =
        namespaced(OFFLOAD, "v1alpha1", "OffloadOffer", "offloadoffers");
    /// `VirtualNode`, on the hub.
    pub const VIRTUAL_NODE: ResourceKind =
        namespaced(OFFLOAD, "v1alpha1", "VirtualNode", "virtualnodes");
    /// `PodExport`, on the hub.
    pub const POD_EXPORT: ResourceKind = namespaced(OFFLOAD, "v1alpha1", "PodExport", "podexports");
    /// `PodImport`, on the hub.
    pub const POD_IMPORT: ResourceKind = namespaced(OFFLOAD, "v1alpha1", "PodImport", "podimports");
    /// `ServiceTraffic`, on the hub and on members.
    pub const SERVICE_TRAFFIC: ResourceKind =
        namespaced(TRAFFIC, "v1alpha1", "ServiceTraffic", "servicetraffics");
    /// `FleetTraffic`, on the hub.
    pub const FLEET_TRAFFIC: ResourceKind =
        cluster_scoped(TRAFFIC, "v1alpha1", "FleetTraffic", "fleettraffics");
    /// `MemberTraffic`, on the hub.
    pub const MEMBER_TRAFFIC: ResourceKind =
        cluster_scoped(TRAFFIC, "v1alpha1", "MemberTraffic", "membertraffics");
    /// ServiceExport of the standard API.
    pub const MCS_SERVICE_EXPORT: ResourceKind =
        namespaced(MCS, "v1beta1", "ServiceExport", "serviceexports");
    /// ServiceImport of the standard API.
    pub const MCS_SERVICE_IMPORT: ResourceKind =
        namespaced(MCS, "v1beta1", "ServiceImport", "serviceimports");
    /// `ClusterProperty` of the About API.
    pub const CLUSTER_PROPERTY: ResourceKind = ResourceKind {
        group: "about.k8s.io",
        version: "v1beta1",
        kind: "ClusterProperty",
        plural: "clusterproperties",
        namespaced: false,
    };
    /// `InternalMemberCluster` of KubeFleet.
    pub const INTERNAL_MEMBER_CLUSTER: ResourceKind =
        namespaced(CLUSTER, "v1beta1", "InternalMemberCluster", "internalmemberclusters");
    /// ExternalWorkload of Linkerd.
    pub const EXTERNAL_WORKLOAD: ResourceKind =
        namespaced("workload.linkerd.io", "v1beta1", "ExternalWorkload", "externalworkloads");
    /// Lease of the coordination group.
    pub const LEASE: ResourceKind = namespaced("coordination.k8s.io", "v1", "Lease", "leases");
    /// `MemberCluster` of KubeFleet; cluster-scoped.
    pub const MEMBER_CLUSTER: ResourceKind =
        cluster_scoped(CLUSTER, "v1beta1", "MemberCluster", "memberclusters");

    /// Kinds of the fleet on a hub.
    const HUB: [ResourceKind; 5] = [
        SERVICE_IMPORT,
        INTERNAL_SERVICE_EXPORT,
        INTERNAL_SERVICE_IMPORT,
        ENDPOINT_SLICE_EXPORT,
        ENDPOINT_SLICE_IMPORT,
    ];

    /// Kinds of the fleet on a member, and the kinds of Kubernetes that the member agent reads and creates.
    const MEMBER: [ResourceKind; 5] =
        [SERVICE_EXPORT, SERVICE_IMPORT, MULTI_CLUSTER_SERVICE, SERVICE, ENDPOINT_SLICE];

    /// Kinds of the fleet on a hub.
    pub fn kinds_of_hub() -> impl Iterator<Item = ResourceKind> {
        HUB.into_iter()
    }

    /// Kinds of the fleet on a member, and the kinds of Kubernetes that the member agent reads and creates.
    pub fn kinds_of_member() -> impl Iterator<Item = ResourceKind> {
        MEMBER.into_iter()
    }

    /// Kinds that agents write, without Leases, members and Events; each once.
    pub fn kinds_written() -> impl Iterator<Item = ResourceKind> {
        HUB.into_iter().chain(MEMBER.into_iter().filter(|kind| !HUB.contains(kind)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::kinds::{MCS_SERVICE_EXPORT, MCS_SERVICE_IMPORT, kinds_written};
    use super::*;

    /// Series and log lines of one kind must not be taken for those of another.
    #[test]
    fn no_two_kinds_have_one_label() {
        let standard = [MCS_SERVICE_EXPORT, MCS_SERVICE_IMPORT];
        let all: Vec<_> = kinds_written().chain(standard).collect();
        let labels: BTreeSet<_> = all.iter().map(ResourceKind::label).collect();
        assert_eq!(labels.len(), all.len(), "{labels:?}");
        for kind in standard {
            assert_eq!(kind.label(), format!("{}.{}", kind.kind, kind.group));
            assert_eq!(kind.resource(), format!("{}.{}", kind.plural, kind.group));
        }
    }

    /// Dashboards and alerts of users select them.
    #[test]
    fn labels_of_the_fleets_kinds_are_their_names() {
        assert!(kinds_written().all(|kind| kind.label() == kind.kind));
        assert!(kinds_written().all(|kind| kind.resource() == kind.plural));
    }
}
