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
mod denied;
pub mod endpointslices;
mod executing;
mod executors;
pub mod export;
pub mod external_workloads;
pub mod fence;
mod fence_log;
mod fenced;
mod hub_answers;
mod hub_follower;
mod hub_side;
pub mod hub_token;
mod hub_witness;
mod hub_witness_task;
mod identity;
pub mod import;
mod intent;
mod left_over;
mod links;
pub mod measurement;
mod member_lease;
pub mod membership;
pub mod metrics;
mod missing_exporters;
pub mod multicluster;
mod other_hub;
mod own_weight;
pub mod phase;
mod reach;
mod reach_tasks;
mod refusals;
mod reserved;
pub mod rollback;
mod sanitize;
mod selections;
mod settings;
mod slicing;
pub mod snapshot;
mod status_writes;
mod tenure;
#[cfg(test)]
mod tests;
pub mod traffic;
pub mod traffic_memory;
pub mod traffic_status;
mod views;
pub mod virtual_node;
pub mod virtual_node_counts;
mod virtual_node_tasks;

pub use identity::Identity;
pub use settings::{
    AllowedReservedCidrs, DerivedServiceType, DerivedServices, ImportNamespaces, Mode,
    Multicluster, MulticlusterMode, Reachability, ReservedAddresses, Settings, Traffic,
    VirtualNodes,
};
