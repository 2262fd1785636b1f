//! One watched kind: from an API server's events to the view of it.

mod calm;
mod content;
mod dating;
mod discovery;
pub(crate) mod error;
pub(crate) mod feed;
pub(crate) mod feeds;
pub(crate) mod item;
pub(crate) mod kube_feed;
mod list_watch;
mod mass_deletion;
mod newest;
pub(crate) mod openapi;
mod page;
pub(crate) mod provided;
pub(crate) mod refresh;
mod request;
pub(crate) mod selection;
mod server;
mod settling;
pub(crate) mod spec;
pub(crate) mod start;
mod state;
mod task;
pub(crate) mod update;
