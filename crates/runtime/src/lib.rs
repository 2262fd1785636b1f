//! What both agents need to run, whatever their [controllers](fleet_plan::Controller) decide.
//!
//! ```text
//! clients ─▶ accumulator ─▶ engine: cursor ─▶ queue ─▶ Controller::plan ─▶ writer ─▶ API servers
//!                             ▲                                        │
//!                             └──────── waits for own writes ◀─────────┘
//! ```
//!
//! - [`engine`]: drives a controller; [`queue`]: which key is next; [`writer`]: sends plans.
//! - [`clients`]: connections and credentials; [`credential`]: tokens that expire; [`events`]: Kubernetes Events.
//! - [`traces`]: where a change spent its time, sent to a collector.
//! - [`agent`]: all of it put together.
//! - [`lease`]: which of several processes writes.
//! - [`term_waits`]: why the process that leads does nothing yet.
//! - [`lifecycle`], [`watchdog`], [`admin`], [`metrics`], [`args`], [`clock`]: the process around it.

pub mod admin;
pub mod agent;
pub mod args;
mod blocked;
pub mod clients;
pub mod clock;
pub mod credential;
pub mod engine;
pub mod events;
mod fair;
pub mod lease;
pub mod lifecycle;
pub mod logging;
pub mod metrics;
pub mod queue;
pub mod term_waits;
pub mod traces;
pub mod watchdog;
pub mod writer;

/// The allocator of whatever is linked statically, as in the image.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
