//! The hub agent: resolves the Services that members export, grants imports, and distributes EndpointSlices.
//!
//! ```text
//! member A                 hub                                          member B
//!            ISE (ns of A) ──▶ status ──▶ SI (user namespace)
//!                                          │ status
//!                              claims ◀────┤
//!                                └──▶ ISI (ns of B), claim on SI
//!            ESE (ns of A) ──▶ slices ──▶ ESI (ns of B)
//! ```
//!
//! ISE and ISI are InternalServiceExport and InternalServiceImport, ESE and ESI EndpointSliceExport and
//! EndpointSliceImport, SI is ServiceImport.
//!
//! - [`snapshot`]: the watched objects.
//! - [`service`]: the controller of the Services of the fleet.
//! - [`multicluster`]: the controller of the Services that members export by the standard API.
//! - [`heartbeat`], [`metrics`]: age of the members' heartbeats.
//! - [`member`]: the controller of members that leave or stop sending heartbeats.
//! - [`app`]: wiring; the only place that starts tasks.

pub mod app;
pub mod args;
pub mod heartbeat;
pub mod member;
pub mod metrics;
pub mod multicluster;
mod places;
pub mod service;
mod settings;
pub mod snapshot;

#[cfg(test)]
mod tests;

pub use settings::Settings;
