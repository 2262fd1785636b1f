//! One watched kind: from an API server's events to the view of it.

mod content;
pub(crate) mod error;
pub(crate) mod feed;
mod item;
mod mass_deletion;
mod state;
pub(crate) mod task;
pub(crate) mod update;
