//! What the member agent watches: its own cluster, and its namespace on the hub.

use fleet_accumulator::views;
use fleet_model::records::{
    EndpointSliceExportRecord, EndpointSliceImportRecord, EndpointSliceRecord,
    InternalServiceExportRecord, InternalServiceImportRecord, MultiClusterServiceRecord,
    ServiceExportRecord, ServiceImportRecord, ServiceRecord,
};

views! {
    /// One consistent view of both clusters.
    pub struct MemberSnapshot {
        /// Services of the own cluster, derived ones among them.
        local services: ServiceRecord,
        /// What users export.
        local service_exports: ServiceExportRecord,
        /// EndpointSlices of the own cluster, imported ones among them.
        local endpoint_slices: EndpointSliceRecord,
        /// What users import.
        local multi_cluster_services: MultiClusterServiceRecord,
        /// Imports made for the MultiClusterServices.
        local service_imports: ServiceImportRecord,
        /// Our exports on the hub.
        hub internal_exports: InternalServiceExportRecord,
        /// Our exported slices on the hub.
        hub slice_exports: EndpointSliceExportRecord,
        /// Our requests on the hub.
        hub internal_imports: InternalServiceImportRecord,
        /// Slices that the hub distributed to us.
        hub slice_imports: EndpointSliceImportRecord,
    }
}
