//! Many watches over several clusters, one consistent and immutable snapshot, exact differences.

mod change;
mod expectation;
mod ids;
#[doc(hidden)]
pub mod macros;
mod meta;
mod record;
mod snapshot;
mod state;
mod tracked;
mod view;
mod wire;

pub use change::{Change, diff};
pub use expectation::{Expectation, Until};
pub use ids::{ClusterId, ResourceVersion, Uid};
pub use meta::Meta;
pub use record::Record;
pub use snapshot::{AnyView, Lookup, Snapshot, SourceId, SourceInfo, SourceSet};
pub use state::SourceState;
pub use tracked::Tracked;
pub use view::View;
