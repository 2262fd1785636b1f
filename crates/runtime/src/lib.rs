//! What both agents need to run: plans as data, queue, writer, clients, admin server, metrics.

pub mod admin;
pub mod agent;
pub mod args;
pub mod clients;
pub mod clock;
pub mod engine;
pub mod events;
pub mod lifecycle;
pub mod metrics;
pub mod plan;
pub mod queue;
pub mod room;

#[cfg(feature = "testing")]
pub mod testing;
pub mod writer;

pub use room::Room;
