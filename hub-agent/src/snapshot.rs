//! What the hub agent watches.

use fleet_accumulator::views;
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
    }
}

#[cfg(any(test, feature = "testing"))]
impl HubSnapshot {
    /// What the watches would show of a model API server.
    pub fn of(hub: &fleet_runtime::testing::ModelServer) -> Self {
        Self {
            seq: 1,
            internal_exports: hub.view(None),
            internal_imports: hub.view(None),
            service_imports: hub.view(None),
            slice_exports: hub.view(None),
            slice_imports: hub.view(None),
            namespaces: hub.view(None),
            member_clusters: hub.view(None),
            internal_members: hub.view(None),
        }
    }
}
