//! What is decoded and what is kept of one watched kind.

use std::fmt::Debug;

use fleet_api::{ObjectName, ResourceKind};
use serde::de::DeserializeOwned;

use crate::source::feed::Feed;
use crate::source::kube_feed::KubeFeed;
use crate::source::spec::SourceSpec;

/// The lean content of one watched kind, and how to get it from what the API server sends.
pub trait Tracked: PartialEq + Debug + Send + Sync + Sized + 'static {
    /// Kind on the API server.
    const KIND: ResourceKind;

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

    /// Under which keys [`View::by`](crate::View::by) finds the object. Computed from this object
    /// alone.
    fn index(&self, name: &ObjectName) -> Vec<Self::Index>;

    /// Where the objects come from: a list and watch of the kind, unless overridden.
    fn feed(spec: SourceSpec) -> Box<dyn Feed<Self::Wire>> {
        Box::new(KubeFeed::new(spec))
    }
}
