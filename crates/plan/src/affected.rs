//! Keys that a change may concern.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// On whose account something is done: the namespace of the object that was changed. On the hub that identifies the
/// member. What waits for the same resource is served in turn, account by account.
pub type Account = Arc<str>;

/// The account of what no one in particular causes.
pub fn common_account() -> Account {
    static COMMON: LazyLock<Account> = LazyLock::new(|| Account::from(""));
    Arc::clone(&COMMON)
}

/// Keys to plan again.
///
/// A key may be added several times: the queue that takes the keys plans each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Affected<K>(Vec<AffectedKey<K>>);

/// A key to plan again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AffectedKey<K> {
    /// The key.
    pub key: K,
    /// How long it may wait for further changes.
    pub delay: Duration,
    /// Who changed something.
    pub account: Account,
}

impl<K> Affected<K> {
    /// No keys.
    pub fn new() -> Self {
        Self(Vec::new())
    }

    /// Plans `key` at once.
    pub fn add(&mut self, key: K) {
        self.add_after(key, Duration::ZERO);
    }

    /// Plans `key` at once, on the account of the namespace where something has changed.
    pub fn add_for(&mut self, namespace: &Account, key: K) {
        self.0.push(AffectedKey { key, delay: Duration::ZERO, account: Arc::clone(namespace) });
    }

    /// Plans `key` after `delay`, since further changes to it are likely.
    pub fn add_after(&mut self, key: K, delay: Duration) {
        self.0.push(AffectedKey { key, delay, account: common_account() });
    }

    /// Removes all keys, in the order in which they were added, and keeps the memory for the next change.
    pub fn drain(&mut self) -> impl Iterator<Item = AffectedKey<K>> {
        self.0.drain(..)
    }

    /// The keys, in the order in which they were added.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.0.iter().map(|affected| &affected.key)
    }
}

impl<K> Default for Affected<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> Extend<K> for Affected<K> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        keys.into_iter().for_each(|key| self.add(key));
    }
}
