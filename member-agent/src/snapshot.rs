//! What the member agent watches: its own cluster, and its namespace on the hub.

use fleet_accumulator::views;
use fleet_model::hub_schema::HubSchema;
use fleet_model::objects::multicluster::{ExportedService, FleetSlice, ResolvedService, standard};
use fleet_model::objects::offload::{
    ConfigMapContent, NodeDocument, OffloadConsent, OffloadOffer, PodDocument, PodExport,
    PodImport, SecretContent, VirtualNode,
};
use fleet_model::objects::traffic::{FleetTraffic, MemberTraffic, ServiceTraffic};
use fleet_model::objects::{
    ClusterReport, EndpointSlice, EndpointSliceExport, EndpointSliceImport, ExternalWorkload,
    InternalMemberCluster, InternalServiceExport, InternalServiceImport, Lease, ManagedSlice,
    MultiClusterService, Namespace, Node, NodeAddresses, Pod, Service, ServiceCidr, ServiceExport,
    ServiceImport,
};

views! {
    /// One consistent view of both clusters.
    pub struct MemberSnapshot {
        /// Services of the own cluster, derived ones among them.
        local services: Service,
        /// What users export.
        local service_exports: ServiceExport,
        /// EndpointSlices of the own cluster, imported ones among them.
        local endpoint_slices: EndpointSlice,
        /// What users import.
        local multi_cluster_services: MultiClusterService,
        /// Imports made for the MultiClusterServices.
        local service_imports: ServiceImport,
        /// All namespaces, to know which can take objects.
        local namespaces: Namespace,
        /// Our exports on the hub.
        hub internal_exports: InternalServiceExport,
        /// Our exported slices on the hub.
        hub slice_exports: EndpointSliceExport,
        /// Our requests on the hub.
        hub internal_imports: InternalServiceImport,
        /// Slices that the hub distributed to us.
        hub slice_imports: EndpointSliceImport,
        /// What the hub wants of this member. A hub without KubeFleet does not serve it.
        hub optional memberships: InternalMemberCluster,
        /// Which cluster has this member's name. A hub with older definitions does not serve it.
        hub optional cluster_reports: ClusterReport,
        /// Which of our additions to the original's kinds the hub serves.
        hub optional schema: HubSchema,
        /// Addresses that this cluster gives to Services.
        local optional service_cidrs: ServiceCidr,
        /// Addresses of Nodes. The role of an older chart does not allow to list them.
        local optional node_addresses: NodeAddresses,
        /// Slices that controllers of ours make of what Services select, whole. Watched by their managers.
        local managed_slices: ManagedSlice,
        /// Pods, as endpoints.
        local pods: Pod,
        /// Nodes, for zones and capacity.
        local nodes: Node,
        /// Machines outside of Kubernetes.
        local optional external_workloads: ExternalWorkload,
        /// The Lease of Linkerd's controller of external workloads, in Linkerd's namespace.
        local optional linkerd_leases: Lease,
        /// What users export by the standard API.
        local optional standard_exports: standard::ServiceExport,
        /// Services of the clusterset in this cluster, of any writer.
        local optional standard_imports: standard::ServiceImport,
        /// What this cluster states about itself.
        local optional cluster_properties: standard::ClusterProperty,
        /// Our exports by the standard API on the hub.
        hub optional exported_services: ExportedService,
        /// What is in force for the Services of the clusterset.
        hub optional resolved_services: ResolvedService,
        /// Exported slices of all members, as far as they are exported by the standard API.
        hub optional fleet_slices: FleetSlice,
        /// Which clusters all members are.
        hub optional fleet_reports: ClusterReport,
        /// What the administrators of this cluster have decided about Pods of others and for others.
        local offload_consent: OffloadConsent,
        /// Pods that are bound to virtual nodes, and nothing else: one selection for each of these nodes.
        local virtual_pods: PodDocument,
        /// Nodes that stand for other members.
        local virtual_node_objects: NodeDocument,
        /// Config maps that Pods on virtual nodes refer to: one selection for each.
        local offload_config_maps: ConfigMapContent,
        /// Secrets that they refer to and that may leave the cluster: one selection for each.
        local optional offload_secrets: SecretContent,
        /// Pods that this cluster runs for others.
        local remote_pods: PodDocument,
        /// Config maps that it has for them.
        local remote_config_maps: ConfigMapContent,
        /// Executors that the hub has for this member.
        hub optional virtual_nodes: VirtualNode,
        /// Pods of this member for executors.
        hub optional pod_exports: PodExport,
        /// Pods of others for this member.
        hub optional pod_imports: PodImport,
        /// What this member offers.
        hub optional offload_offers: OffloadOffer,
        /// What users of this cluster ask for, about traffic.
        local optional service_traffics: ServiceTraffic,
        /// What the owners of Services ask for, for all importers.
        hub optional hub_service_traffics: ServiceTraffic,
        /// Defaults and limits of the fleet.
        hub optional fleet_traffics: FleetTraffic,
        /// Drains of members, and which are silent.
        hub optional member_traffics: MemberTraffic,
    }
}
