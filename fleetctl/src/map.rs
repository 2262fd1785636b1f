//! `fleetctl map`: the fleet as a page in a browser on this computer.
//!
//! - `query`: what the address of the page asks for; it holds all state of the page.
//! - `page`: the page as HTML, pure; `layout`: where boxes and lines of the map stand.
//! - `source`: what is shown, of the clusters or of a recording; `history`: what was seen; `lags`: times of changes; `moments`: what happened when;
//!   `kept`: results that are kept.
//! - `guard`: who may ask; `server`: answers. Nothing else is asked of any other server.

mod args;
mod frame;
mod guard;
mod history;
mod kept;
mod lags;
mod layout;
mod live;
mod moments;
mod page;
mod query;
mod replay;
mod run;
mod server;
mod shown;
mod source;

pub use args::MapArgs;
pub use frame::Frame;
pub use guard::Guard;
pub use moments::{Event, Events, Moment};
pub use page::page;
pub use query::{Query, Selected, WhatIf};
pub(crate) use run::run;
pub use shown::Shown;
