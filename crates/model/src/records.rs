//! What the agents keep of each watched kind.

mod endpoint_list;
mod exports;
mod external_workload;
mod imports;
mod lease;
mod managed_slice;
mod member_cluster;
mod membership;
mod namespace;
mod node;
mod pod;
mod reference;
mod service;
mod slice;
mod slices;

pub use endpoint_list::EndpointList;
pub use exports::{
    InternalServiceExportRecord, InternalServiceExportWire, ServiceExportRecord, ServiceExportWire,
};
pub use external_workload::{ExternalWorkloadRecord, ExternalWorkloadWire, WorkloadSpecWire};
pub use imports::{
    InternalServiceImportRecord, InternalServiceImportWire, MultiClusterServiceRecord,
    MultiClusterServiceWire, ServiceImportRecord, ServiceImportWire,
};
pub use lease::{LeaseRecord, LeaseWire};
pub use managed_slice::{ManagedIndex, ManagedSliceRecord, ManagedSliceWire};
pub use member_cluster::{MemberClusterRecord, MemberClusterWire};
pub use membership::{
    InternalMemberClusterRecord, InternalMemberClusterWire, NETWORKING_AGENTS, Report, ReportList,
};
pub use namespace::{NamespaceRecord, NamespaceWire};
pub use node::{NodeRecord, NodeStatusWire, NodeWire};
pub use pod::{NamedPort, PodRecord, PodSpecWire, PodStatusWire, PodWire};
pub use reference::Reference;
pub use service::{ServiceIndex, ServiceRecord, ServiceWire};
pub use slice::{EndpointSliceRecord, EndpointSliceWire, SliceIndex, imported_endpoints};
pub use slices::{
    EndpointSliceExportRecord, EndpointSliceExportWire, EndpointSliceImportRecord,
    EndpointSliceImportWire, named,
};

/// Records that carry metadata.
pub trait HasMeta {
    /// The metadata.
    fn meta(&self) -> &fleet_accumulator::Meta;
}

macro_rules! has_meta {
    ($($record:ty),* $(,)?) => {
        $(impl HasMeta for $record {
            fn meta(&self) -> &fleet_accumulator::Meta {
                &self.meta
            }
        })*
    };
}

has_meta!(
    EndpointSliceExportRecord,
    EndpointSliceImportRecord,
    EndpointSliceRecord,
    InternalServiceExportRecord,
    InternalServiceImportRecord,
    MultiClusterServiceRecord,
    ServiceExportRecord,
    ServiceImportRecord,
    ServiceRecord,
);
