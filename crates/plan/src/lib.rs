//! What a controller decides, as data: plans, the steps and Events in them, and the pure functions that build them.
//!
//! - [`Controller`]: one decision-making unit of an agent; `fleet-runtime` drives it.
//! - [`Affected`]: the keys that a change may concern, each on the [`Account`] of who made it.
//! - [`Plan`], [`Step`], [`Event`]: what one key still misses.
//! - [`Patience`]: when its deletions wait.
//! - [`Body`]: the object in a step; bodies share the [spec](SharedSpec) that they have in common.
//! - [`json_patch`]: operations of JSON patches.
//! - [`conditions`]: conditions that change only when something changed.
//! - [`deadline`]: time that is left of a period whose begin an object carries.
//! - [`text`]: texts of bounded length.
//!
//! Nothing here does I/O, reads a clock, measures or logs.

mod affected;
mod body;
mod cap;
pub mod conditions;
mod controller;
pub mod deadline;
mod event;
mod hold;
pub mod json_patch;
mod patience;
mod plan;
mod retain;
mod step;
pub mod text;

pub use affected::{Account, Affected, AffectedKey, common_account};
pub use body::{Body, SharedSpec};
pub use cap::Room;
pub use controller::{Controller, affected_keys};
pub use event::{Event, EventType};
pub use patience::Patience;
pub use plan::{Debounced, Measured, Plan, WAITING_STATUS_DELAY};
pub use step::{Action, Precondition, Step, StepId, Trace};
