//! The hub agent: resolves what members export, grants what they import, and distributes slices.
//!
//! ```text
//! member A                 hub                                          member B
//!            ISE (ns of A) ──▶ resolve ──▶ SI (user namespace)
//!                                           │ status
//!                              claim  ◀─────┤
//!                                └──▶ ISI (ns of B), claim on SI
//!            ESE (ns of A) ──▶ distribute ──▶ ESI (ns of B)
//! ```
//!
//! - [`snapshot`]: what is watched.
//! - [`service`]: the controller of everything about one Service of the fleet.
//! - [`member`]: the controller of leaving, vanished and silent members.
//! - [`app`]: wiring; the only place that spawns.

pub mod app;
pub mod args;
pub mod member;
pub mod service;
mod settings;
pub mod snapshot;

pub use settings::Settings;
