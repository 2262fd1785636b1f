//! Kinds of `networking.fleet.azure.com/v1alpha1`.

mod endpoint_slice_export;
mod endpoint_slice_import;
mod internal_service_export;
mod internal_service_import;
mod multi_cluster_service;
mod service_export;
mod service_import;

pub use endpoint_slice_export::{EndpointSliceExport, EndpointSliceExportSpec};
pub use endpoint_slice_import::{EndpointSliceImport, EndpointSliceImportSpec};
pub use internal_service_export::{
    InternalServiceExport, InternalServiceExportSpec, InternalServiceExportStatus,
};
pub use internal_service_import::{InternalServiceImport, InternalServiceImportSpec};
pub use multi_cluster_service::{
    MultiClusterService, MultiClusterServiceSpec, MultiClusterServiceStatus, ServiceImportRef,
};
pub use service_export::{ServiceExport, ServiceExportFields};
pub use service_import::{ServiceImport, ServiceImportFields};
