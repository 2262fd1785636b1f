//! What is decoded and what is kept of one watched kind.

use std::fmt::Debug;
use std::sync::Arc;

use fleet_api::{ObjectName, ResourceKind};
use jiff::Timestamp;
use serde::de::DeserializeOwned;

use crate::source::feed::Feed;
use crate::source::kube_feed::KubeFeed;
use crate::source::spec::SourceSpec;

/// The lean content of one watched kind, and how to get it from what the API server sends.
pub trait Tracked: PartialEq + Debug + Send + Sync + Sized + 'static {
    /// Kind on the API server.
    const KIND: ResourceKind;

    /// Field selector of the objects that matter, unless all do.
    const FIELDS: Option<&'static str> = None;

    /// What is decoded from JSON; dropped after [`project`](Self::project). Usually made by
    /// [`wire!`](crate::wire).
    type Wire: kube::Resource<DynamicType = ()>
        + DeserializeOwned
        + Clone
        + Debug
        + Send
        + Sync
        + 'static;

    /// Key of the secondary index; `()` where there is none.
    type Index: Ord + Clone + Debug + Send + Sync + 'static;

    /// Reduces an object to what plans look at.
    ///
    /// An error isolates this one object: it is reported and counted, and the last good content
    /// stays, or the object stays absent. Others are not affected, and its deletion gets through.
    fn project(wire: Self::Wire) -> Result<Self, String>;

    /// What is kept of an object of which a field did not decode: `wire` has the default there, and `defect` is the reason.
    ///
    /// Unless it is overridden, that is nothing, as with an error of [`project`](Self::project). A kind that others
    /// write and that carries a finalizer keeps what it takes to report the object and to release it.
    fn salvage(wire: Self::Wire, defect: &str) -> Result<Self, String> {
        drop(wire);
        Err(defect.to_owned())
    }

    /// Notes when something of it changed last, by the clock of this process: `earlier` is what was seen of the object
    /// before. Unless it is overridden, nothing is noted.
    ///
    /// Times in objects are those of the clocks of their writers, which need not agree.
    fn observe(&mut self, _earlier: Option<&Self>, _now: fn() -> Timestamp) {}

    /// Under which keys [`View::by`](crate::View::by) finds the object. Computed from this object
    /// alone.
    fn index(&self, name: &ObjectName) -> Vec<Self::Index>;

    /// In which number [`View::tally`](crate::View::tally) counts the object, if in any. Computed from this object alone.
    fn tally(&self, name: &ObjectName) -> Option<Arc<str>> {
        let _ = name;
        None
    }

    /// Where the objects come from: a list and watch of the kind, unless overridden. A kind of which only
    /// [selections](SourceSpec::selections) may matter has [`selectable`](crate::selectable) here.
    fn feed(spec: SourceSpec) -> Box<dyn Feed<Self::Wire>> {
        debug_assert!(spec.selections.is_none(), "{} is not selectable", Self::KIND.label());
        Box::new(KubeFeed::new(match Self::FIELDS {
            Some(fields) => spec.fields(fields),
            None => spec,
        }))
    }
}
