//! The member agent: exports Services of its cluster to the hub and imports those of others.
//!
//! ```text
//!          own cluster                                   hub, namespace of this member
//! export   ServiceExport + Service  ───────────────────▶ InternalServiceExport
//!          EndpointSlice            ───────────────────▶ EndpointSliceExport
//! import   MultiClusterService ──▶ ServiceImport ──────▶ InternalServiceImport
//!                              └─▶ derived Service ◀──── its status (the grant)
//!          imported EndpointSlice ◀───────────────────── EndpointSliceImport
//! ```
//!
//! Both clusters are watched into one [`snapshot`]; [`export`], [`import`] and [`membership`] are
//! the controllers that decide, and where flags say so [`external_workloads`] and [`endpointslices`], in
//! the own cluster alone; [`app`] is the wiring and the only place that spawns.

pub mod app;
pub mod args;
pub mod endpointslices;
pub mod export;
pub mod external_workloads;
mod identity;
pub mod import;
pub mod membership;
pub mod metrics;
pub mod phase;
pub mod rollback;
mod settings;
mod slicing;
pub mod snapshot;
#[cfg(test)]
mod tests;

pub use identity::Identity;
pub use settings::{Mode, Settings};
