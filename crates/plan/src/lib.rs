//! What a controller decides, as data: plans, the steps and Events in them, and the pure functions that build them.
//!
//! - [`Controller`]: one decision-making unit of an agent; `fleet-runtime` drives it.
//! - [`Affected`]: the keys that a change may concern.
//! - [`Plan`], [`Step`], [`Event`]: what one key still misses.
//! - [`json_patch`]: operations of JSON patches.
//! - [`conditions`]: conditions that change only when something changed.
//! - [`deadline`]: time that is left of a period whose begin an object carries.
//! - [`text`]: texts of bounded length.
//!
//! Nothing here does I/O, reads a clock, measures or logs.

mod affected;
pub mod conditions;
mod controller;
pub mod deadline;
mod event;
pub mod json_patch;
mod plan;
mod step;
pub mod text;

pub use affected::Affected;
pub use controller::{Controller, affected_keys};
pub use event::{Event, EventType};
pub use plan::{Debounced, Measured, Plan, WAITING_STATUS_DELAY};
pub use step::{Action, Precondition, Step, StepId, Trace};
