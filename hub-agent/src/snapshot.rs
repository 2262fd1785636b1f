//! The objects that the hub agent watches.

use fleet_accumulator::views;
use fleet_model::hub_schema::HubSchema;
use fleet_model::objects::multicluster::{ExportedService, ResolvedService};
use fleet_model::objects::offload::{Hearing, OffloadOffer, PodExport, PodImport, VirtualNode};
use fleet_model::objects::traffic::{FleetDecision, FleetTraffic, MemberDecision, MemberTraffic};
use fleet_model::objects::{
    ClusterReport, EndpointSliceExport, EndpointSliceImport, InternalMemberCluster,
    InternalServiceExport, InternalServiceImport, MemberCluster, MemberLease, MemberPolicy,
    Namespace, ServiceImport,
};

views! {
    /// One consistent state of the hub.
    pub struct HubSnapshot {
        /// Services that members export, in the members' namespaces.
        hub internal_exports: InternalServiceExport,
        /// Requests of members to import Services, in the members' namespaces.
        hub internal_imports: InternalServiceImport,
        /// The Services of the fleet, in the users' namespaces.
        hub service_imports: ServiceImport,
        /// Slices that members export, in the members' namespaces.
        hub slice_exports: EndpointSliceExport,
        /// Copies of exported slices, in the importers' namespaces.
        hub slice_imports: EndpointSliceImport,
        /// All namespaces, to know in which objects can be created.
        hub namespaces: Namespace,
        /// Members, as administrators add and delete them.
        hub optional member_clusters: MemberCluster,
        /// Membership and heartbeats that members report.
        hub optional internal_members: InternalMemberCluster,
        /// Which clusters the members are.
        hub optional cluster_reports: ClusterReport,
        /// Services that members export by the standard API, in the members' namespaces.
        hub optional exported_services: ExportedService,
        /// What is in force for these Services, in the namespace that all members read.
        hub optional resolved_services: ResolvedService,
        /// Which Services the members may export and import.
        hub optional member_policies: MemberPolicy,
        /// Leases with which members show that they work, in the members' namespaces.
        hub optional member_leases: MemberLease,
        /// What members offer as executors of Pods, in the members' namespaces.
        hub optional offload_offers: OffloadOffer,
        /// Executors as origins see them, in the origins' namespaces.
        hub optional virtual_nodes: VirtualNode,
        /// Pods that origins give to executors, in the origins' namespaces.
        hub optional pod_exports: PodExport,
        /// The same for the executors, in their namespaces.
        hub optional pod_imports: PodImport,
        /// Which members renew their Leases. This process finds it out.
        hub optional hearing: Hearing,
        /// Defaults and limits of traffic in the whole fleet.
        hub optional fleet_traffics: FleetTraffic,
        /// Drains and verdicts, by member.
        hub optional member_traffics: MemberTraffic,
        /// What this process has decided about the fleet.
        hub optional fleet_decisions: FleetDecision,
        /// What it has decided about members.
        hub optional member_decisions: MemberDecision,
        /// Which of our additions to the original's kinds it serves.
        hub optional schema: HubSchema,
    }
}
