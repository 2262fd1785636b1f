//! What the hub agent watches.

use fleet_accumulator::views;
use fleet_model::records::{
    EndpointSliceExportRecord, EndpointSliceImportRecord, InternalMemberClusterRecord,
    InternalServiceExportRecord, InternalServiceImportRecord, MemberClusterRecord, NamespaceRecord,
    ServiceImportRecord,
};

views! {
    /// One consistent view of the hub.
    pub struct HubSnapshot {
        /// Services that members export, in the members' namespaces.
        hub internal_exports: InternalServiceExportRecord,
        /// Services that members ask for, in the members' namespaces.
        hub internal_imports: InternalServiceImportRecord,
        /// The Services of the fleet, in the users' namespaces.
        hub service_imports: ServiceImportRecord,
        /// Slices that members export, in the members' namespaces.
        hub slice_exports: EndpointSliceExportRecord,
        /// Slices distributed to importers, in the importers' namespaces.
        hub slice_imports: EndpointSliceImportRecord,
        /// All namespaces, to know which can take objects.
        hub namespaces: NamespaceRecord,
        /// Members as their administrators see them.
        hub optional member_clusters: MemberClusterRecord,
        /// What members report.
        hub optional internal_members: InternalMemberClusterRecord,
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
