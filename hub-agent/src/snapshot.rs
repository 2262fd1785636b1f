//! What the hub agent watches.

use fleet_accumulator::views;
use fleet_model::hub_schema::HubSchema;
use fleet_model::objects::{
    EndpointSliceExport, EndpointSliceImport, InternalMemberCluster, InternalServiceExport,
    InternalServiceImport, MemberCluster, Namespace, ServiceImport,
};

views! {
    /// One consistent view of the hub.
    pub struct HubSnapshot {
        /// Services that members export, in the members' namespaces.
        hub internal_exports: InternalServiceExport,
        /// Services that members ask for, in the members' namespaces.
        hub internal_imports: InternalServiceImport,
        /// The Services of the fleet, in the users' namespaces.
        hub service_imports: ServiceImport,
        /// Slices that members export, in the members' namespaces.
        hub slice_exports: EndpointSliceExport,
        /// Slices distributed to importers, in the importers' namespaces.
        hub slice_imports: EndpointSliceImport,
        /// All namespaces, to know which can take objects.
        hub namespaces: Namespace,
        /// Members as their administrators see them.
        hub optional member_clusters: MemberCluster,
        /// What members report.
        hub optional internal_members: InternalMemberCluster,
        /// Which of our additions to the original's kinds it serves.
        hub optional schema: HubSchema,
    }
}
