//! Keys that a change may concern.

use std::time::Duration;

/// Keys to plan again, each with the time that it may wait for further changes.
///
/// A key may be added several times: the queue that takes the keys plans each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Affected<K>(Vec<(K, Duration)>);

impl<K> Affected<K> {
    /// No keys.
    pub fn new() -> Self {
        Self(Vec::new())
    }

    /// Plans `key` at once.
    pub fn add(&mut self, key: K) {
        self.add_after(key, Duration::ZERO);
    }

    /// Plans `key` after `delay`, since further changes to it are likely.
    pub fn add_after(&mut self, key: K, delay: Duration) {
        self.0.push((key, delay));
    }

    /// Removes all keys, in the order in which they were added, and keeps the memory for the next change.
    pub fn drain(&mut self) -> impl Iterator<Item = (K, Duration)> {
        self.0.drain(..)
    }

    /// The keys, in the order in which they were added.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.0.iter().map(|(key, _)| key)
    }
}

impl<K> Default for Affected<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> Extend<K> for Affected<K> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        self.0.extend(keys.into_iter().map(|key| (key, Duration::ZERO)));
    }
}
