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
//! - [`virtual_node`]: the controller of Pods of one member that run in another.
//! - [`heartbeat`], [`metrics`]: age of the members' heartbeats.
//! - [`member`]: the controller of members that leave or stop sending heartbeats.
//! - [`liveness`], [`member_leases`]: which members renew their Leases.
//! - [`traffic`]: the controller that writes drains and verdicts; [`traffic_decider`] and [`traffic_task`] decide them.
//! - [`app`]: wiring; the only place that starts tasks.

pub mod app;
pub mod args;
pub mod heartbeat;
mod incarnation;
pub mod liveness;
pub mod member;
pub mod member_leases;
pub mod metrics;
pub mod multicluster;
mod places;
pub mod service;
mod settings;
pub mod snapshot;
pub mod traffic;
pub mod traffic_decider;
pub mod traffic_task;
mod verdicts;
pub mod virtual_node;

#[cfg(test)]
mod tests;

pub use settings::Settings;
