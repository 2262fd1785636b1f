//! The content that the agents keep of each watched kind.

mod address_hashes;
mod cluster_report;
mod document;
mod endpoint_list;
mod exports;
mod external_workload;
mod filed;
mod imports;
mod labels;
mod lease;
mod managed_slice;
mod member_cluster;
mod member_lease;
mod member_policy;
mod membership;
mod missing;
pub mod multicluster;
mod namespace;
mod node;
mod node_addresses;
pub mod offload;
mod pod;
mod reference;
mod service;
mod service_cidr;
mod slice;
mod slices;
pub mod traffic;

use std::cmp::Ordering;

use fleet_accumulator::Object;

pub use address_hashes::{AddressHashes, Wanted};
pub use cluster_report::{ClusterReport, ClusterReportWire};
pub use endpoint_list::EndpointList;
pub use exports::{
    InternalServiceExport, InternalServiceExportWire, ServiceExport, ServiceExportWire,
};
pub use external_workload::{ExternalWorkload, ExternalWorkloadWire, WorkloadSpecWire};
pub use filed::{Filed, filed_by_age};
pub use imports::{
    InternalServiceImport, InternalServiceImportWire, MultiClusterService, MultiClusterServiceWire,
    ServiceImport, ServiceImportWire,
};
pub use labels::{LabelIndex, Labels};
pub use lease::{Lease, LeaseWire};
pub use managed_slice::{ManagedIndex, ManagedSlice, ManagedSliceWire};
pub use member_cluster::{MemberCluster, MemberClusterWire};
pub use member_lease::{MemberLease, MemberLeaseWire};
pub use member_policy::{MemberPolicy, MemberPolicyWire, PolicyLists};
pub use membership::{
    InternalMemberCluster, InternalMemberClusterWire, NETWORKING_AGENTS, Report, ReportList,
};
pub use namespace::{Namespace, NamespaceWire, OffloadNamespace};
pub use node::{Node, NodeStatusWire, NodeWire};
pub use node_addresses::{NodeAddresses, NodeAddressesStatusWire, NodeAddressesWire};
pub use pod::{NamedPort, Pod, PodSpecWire, PodStatusWire, PodWire};
pub use reference::Reference;
pub use service::{Service, ServiceIndex, ServiceWire};
pub use service_cidr::{ServiceCidr, ServiceCidrSpecWire, ServiceCidrWire};
pub use slice::{EndpointSlice, EndpointSliceWire, SliceIndex, imported_endpoints};
pub use slices::{
    EndpointSliceExport, EndpointSliceExportWire, EndpointSliceImport, EndpointSliceImportWire,
    named,
};

/// An object that carries metadata.
pub trait HasMeta {
    /// Metadata of the object.
    fn meta(&self) -> &fleet_accumulator::Meta;
}

/// Oldest first: by creation time, then uid. Of two objects of one member for one Service all agents take the older.
pub fn by_age<T: HasMeta>(a: &Object<T>, b: &Object<T>) -> Ordering {
    (a.meta().created, &a.uid).cmp(&(b.meta().created, &b.uid))
}

macro_rules! has_meta {
    ($($object:ty),* $(,)?) => {
        $(impl HasMeta for $object {
            fn meta(&self) -> &fleet_accumulator::Meta {
                &self.meta
            }
        })*
    };
}

has_meta!(
    EndpointSliceExport,
    EndpointSliceImport,
    EndpointSlice,
    InternalServiceExport,
    InternalServiceImport,
    MultiClusterService,
    ServiceExport,
    ServiceImport,
    Service,
    multicluster::ExportedService,
    multicluster::ResolvedService,
    multicluster::standard::ServiceExport,
    multicluster::standard::ServiceImport,
    offload::NodeDocument,
    offload::OffloadOffer,
    offload::PodDocument,
    offload::PodExport,
    offload::PodImport,
    offload::VirtualNode,
    traffic::FleetTraffic,
    traffic::MemberTraffic,
    traffic::ServiceTraffic,
);
