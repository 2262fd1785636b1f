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
//! Both clusters are watched into one [`snapshot`]; [`export`] and [`import`] are the rooms that
//! decide; [`app`] is the wiring and the only place that spawns.

pub mod app;
pub mod args;
pub mod export;
mod identity;
pub mod import;
pub mod metrics;
pub mod snapshot;

pub use identity::Identity;

/// Marks what the differences between two views of one kind touch, before and after the change.
fn each_change<T: fleet_accumulator::Tracked>(
    old: &fleet_accumulator::View<T>,
    new: &fleet_accumulator::View<T>,
    mut touched: impl FnMut(&fleet_accumulator::Record<T>),
) {
    for change in fleet_accumulator::diff(old, new) {
        change.old().into_iter().chain(change.new()).for_each(&mut touched);
    }
}
