//! Where the feeds of an accumulator come from.

use super::feed::Feed;
use super::spec::SourceSpec;
use crate::{SourceInfo, Tracked};

/// Makes the feed of each source: from API servers, in tests from whatever plays one.
///
/// A function from a source to its [`SourceSpec`] makes feeds of API servers.
pub trait Feeds {
    /// The feed of one source with the content `T`.
    fn feed<T: Tracked>(&self, source: &SourceInfo) -> Box<dyn Feed<T::Wire>>;
}

impl<F: Fn(&SourceInfo) -> SourceSpec> Feeds for F {
    fn feed<T: Tracked>(&self, source: &SourceInfo) -> Box<dyn Feed<T::Wire>> {
        T::feed(self(source))
    }
}
