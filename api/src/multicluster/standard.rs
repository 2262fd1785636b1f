//! The API of Kubernetes' SIG Multicluster: `multicluster.x-k8s.io/v1beta1`, and the About API.
//!
//! Its definitions are not derived from these types: clusters get the files of the API's own releases. `v1alpha1` of the same
//! kinds is field for field the same, so API servers convert by name alone and agents see every object as `v1beta1`.

mod cluster_property;
mod service_export;
mod service_import;

pub use cluster_property::{CLUSTER_ID, CLUSTERSET_ID, ClusterProperty, ClusterPropertySpec};
pub use service_export::{ServiceExport, ServiceExportSpec, ServiceExportStatus};
pub use service_import::{
    ClusterStatus, EndpointSliceObjects, ServiceImport, ServiceImportPort, ServiceImportSpec,
    ServiceImportStatus,
};
