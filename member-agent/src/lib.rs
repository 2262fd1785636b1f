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
//! Both clusters are watched into one [`snapshot`]. The controllers [`export`], [`import`] and [`membership`]
//! plan the writes; flags add [`external_workloads`] and [`endpointslices`], which work in the own cluster
//! alone. What is written to the fleet passes the [`fence`]. [`app`] wires them and is the only module that spawns tasks.

pub mod app;
pub mod args;
pub mod endpointslices;
pub mod export;
pub mod external_workloads;
pub mod fence;
mod fence_log;
mod fenced;
mod hub_side;
pub mod hub_token;
mod identity;
pub mod import;
mod intent;
pub mod measurement;
mod member_lease;
pub mod membership;
pub mod metrics;
pub mod multicluster;
pub mod phase;
mod reserved;
pub mod rollback;
mod sanitize;
mod settings;
mod slicing;
pub mod snapshot;
mod tenure;
#[cfg(test)]
mod tests;

pub use identity::Identity;
pub use settings::{
    AllowedReservedCidrs, DerivedServiceType, DerivedServices, ImportNamespaces, Mode,
    Multicluster, MulticlusterMode, ReservedAddresses, Settings,
};
