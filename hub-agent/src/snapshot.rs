//! The objects that the hub agent watches.

use fleet_accumulator::views;
use fleet_model::hub_schema::HubSchema;
use fleet_model::objects::multicluster::{ExportedService, ResolvedService};
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
        /// Which of our additions to the original's kinds it serves.
        hub optional schema: HubSchema,
    }
}
