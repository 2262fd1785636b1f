//! One watched kind: from an API server's events to the view of it.

mod content;
pub(crate) mod error;
pub(crate) mod feed;
pub(crate) mod feeds;
mod item;
pub(crate) mod kube_feed;
mod list_watch;
mod mass_deletion;
pub(crate) mod openapi;
pub(crate) mod spec;
pub(crate) mod start;
mod state;
mod task;
pub(crate) mod update;
