//! The wire of the fleet: custom resource types, names, labels, annotations, finalizers and conditions.
//!
//! No client and no runtime: everything here is data and pure functions of it.

pub mod annotations;
pub mod conditions;
pub mod crds;
pub mod events;
mod export_status;
pub mod finalizers;
mod import_status;
mod in_use;
pub mod labels;
pub mod limits;
pub mod membership;
pub mod multicluster;
pub mod names;
mod object_name;
pub mod offload;
mod port;
mod reference;
mod resource_kind;
mod slice;
mod trace_context;
pub mod traffic;
pub mod v1alpha1;
pub mod v1beta1;
#[cfg(test)]
mod wire_tests;
pub mod workload;

pub use export_status::ServiceExportStatus;
pub use import_status::{ClusterStatus, ServiceImportStatus, ServiceImportType};
pub use in_use::{ServiceInUseBy, UnreadableInUse};
pub use object_name::ObjectName;
pub use port::{Protocol, ServicePort};
pub use reference::{ExportedObjectReference, OwnerServiceReference};
pub use resource_kind::{ResourceKind, kinds};
pub use slice::{AddressType, Endpoint, EndpointPort, ExportedSliceSpec};
pub use trace_context::TraceContext;
