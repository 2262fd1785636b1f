//! Contents of the kinds that carry the standard API between clusters, and of the standard API's own kinds.

pub(super) mod endpoint_details;
pub(super) mod endpoint_nodes;
mod exported_service;
mod fleet_slice;
mod properties;
mod reach_report;
mod resolved_service;
pub mod standard;

pub use exported_service::{ExportedService, ExportedServiceWire};
pub use fleet_slice::{FleetSlice, FleetSliceWire};
pub use reach_report::{ReachReport, ReachReportWire};
pub use resolved_service::{ResolvedService, ResolvedServiceWire};
