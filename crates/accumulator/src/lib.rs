//! Many watches over several clusters, one consistent and immutable snapshot, exact differences.
//!
//! ```text
//! task per source                        owner task                 consumers
//!   API server events                      one inbox                  cursor: gate, newest snapshot,
//!   → lean decoding                  ───▶  → snapshot of views  ───▶  exact difference, commit
//!   → state machine → view                 → publish, wake            wait: own writes came back
//! ```
//!
//! - Each source owns its [`View`]: a persistent map and index. Lists are applied as a difference,
//!   so that what did not change stays the same by pointer; a list that is not complete is never
//!   visible, and one that lacks suspiciously much is confirmed by a second one first.
//! - The owner puts the newest views together and publishes at once. What arrives while it works
//!   is one batch; there is no timer on the way.
//! - A [`Cursor`] compares what its consumer had with what is there now. That costs what changed,
//!   and collapses exactly: what was added and removed in between was never there.
//! - "Empty", "forbidden", "not served" and "stale" are different
//!   [`SourceState`]s, visible in the snapshot.

mod accumulator;
mod change;
mod config;
mod cursor;
mod error_text;
mod expectation;
mod ids;
#[doc(hidden)]
pub mod macros;
mod meta;
mod metrics;
mod object;
mod owner;
mod reached;
mod shared;
mod silence;
mod snapshot;
mod source;
mod sources;
mod state;
mod tasks;
mod texts;
mod time;
mod tracked;
mod view;
mod wire;

pub use accumulator::Accumulator;
pub use change::{Change, diff};
pub use config::{Config, MassDeletionLimits};
pub use cursor::{Cursor, SnapshotChange};
pub use error_text::one_line;
pub use expectation::{Expectation, Until};
pub use ids::{ClusterId, ResourceVersion, Uid};
pub use meta::{Meta, SharedMeta};
pub use metrics::Register;
pub use object::Object;
pub use reached::Reached;
pub use shared::{Shared, shared_name, shared_text};
pub use snapshot::{AnyView, Lookup, Snapshot, Views};
pub use source::feed::{Discovered, Events, Feed, Newest, ReadOptions, WatchError, WatchItem};
pub use source::feeds::Feeds;
pub use source::openapi::{Document, OpenApiFeed};
pub use source::provided::{Provided, ProvidedFeed, provide};
pub use source::selection::{Selection, selectable};
pub use source::spec::SourceSpec;
pub use sources::{SourceId, SourceInfo, SourceSet};
pub use state::SourceState;
pub use tasks::Tasks;
pub use texts::Texts;
pub use tracked::Tracked;
pub use view::View;
