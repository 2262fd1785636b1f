//! One watched kind: from an API server's events to the view of it.
//!
//! An agent watches some forty kinds, and what knows a kind is compiled for each of them. So as little as possible does:
//!
//! - `task` drives a source and `course` knows how it fares, whatever the kind; so do the requests (`wire_kind`, `list_watch`,
//!   `discovery`, `newest`), which read objects as text.
//! - `typed` is what of a source depends on its kind: a feed that decodes objects, and the state machine (`state`, `content`) that
//!   applies them to the view.

mod calm;
mod content;
mod course;
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
mod typed;
pub(crate) mod update;
mod wire_kind;
