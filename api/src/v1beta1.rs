//! Kinds of `networking.fleet.azure.com/v1beta1`.

mod service_export;

pub use service_export::{ServiceExport, ServiceExportFields};
