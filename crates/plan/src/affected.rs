//! Keys that a change may concern.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use fleet_api::ObjectName;

/// On whose account something is done: the namespace of the object that was changed. On the hub that identifies the
/// member. What waits for the same resource is served in turn, account by account.
pub type Account = Arc<str>;

/// The account of what no one in particular causes.
pub fn common_account() -> Account {
    static COMMON: LazyLock<Account> = LazyLock::new(|| Account::from(""));
    Arc::clone(&COMMON)
}

/// Keys to plan again: collected, or [handed on](Self::to) one by one.
///
/// A key may be added several times: the queue that takes the keys plans each once.
pub struct Affected<'a, K> {
    collected: Vec<AffectedKey<K>>,
    sink: Option<&'a mut dyn FnMut(AffectedKey<K>)>,
}

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

impl<'a, K> Affected<'a, K> {
    /// Collects keys.
    pub fn new() -> Self {
        Self { collected: Vec::new(), sink: None }
    }

    /// Hands each key to `sink` and keeps none. The first lists of a large fleet add a key for each of its objects; most of
    /// these keys are the same, and a queue needs no memory for those that it has.
    pub fn to(sink: &'a mut dyn FnMut(AffectedKey<K>)) -> Self {
        Self { collected: Vec::new(), sink: Some(sink) }
    }

    /// Plans `key` at once.
    pub fn add(&mut self, key: K) {
        self.add_after(key, Duration::ZERO);
    }

    /// Plans `key` at once, on the account of the namespace where something has changed.
    pub fn add_for(&mut self, namespace: &Account, key: K) {
        self.push(AffectedKey { key, delay: Duration::ZERO, account: Arc::clone(namespace) });
    }

    /// Plans `key` after `delay`, since further changes to it are likely.
    pub fn add_after(&mut self, key: K, delay: Duration) {
        self.push(AffectedKey { key, delay, account: common_account() });
    }

    /// Removes all collected keys, in the order in which they were added.
    pub fn drain(&mut self) -> impl Iterator<Item = AffectedKey<K>> {
        self.collected.drain(..)
    }

    /// The collected keys, in the order in which they were added.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.collected.iter().map(|affected| &affected.key)
    }

    fn push(&mut self, key: AffectedKey<K>) {
        match &mut self.sink {
            Some(sink) => sink(key),
            None => self.collected.push(key),
        }
    }
}

impl Affected<'_, ObjectName> {
    /// Plans an object of a user at once, on the account of its namespace.
    pub fn add_own(&mut self, key: ObjectName) {
        self.add_own_after(key, Duration::ZERO);
    }

    /// Plans an object of a user after `delay`, on the account of its namespace.
    pub fn add_own_after(&mut self, key: ObjectName, delay: Duration) {
        let account = Arc::clone(&key.namespace);
        self.push(AffectedKey { key, delay, account });
    }
}

impl<K> Default for Affected<'_, K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> Extend<K> for Affected<'_, K> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        keys.into_iter().for_each(|key| self.add(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(keys: &mut Affected<&'static str>) {
        keys.add("a");
        keys.add_after("b", Duration::from_secs(1));
        keys.add_for(&Account::from("member"), "a");
    }

    #[test]
    fn keys_are_handed_on_as_they_are_collected() {
        let (mut collected, mut handed) = (Affected::new(), Vec::new());
        add(&mut collected);
        let mut sink = |key: AffectedKey<&'static str>| handed.push(key);
        let mut keys = Affected::to(&mut sink);
        add(&mut keys);
        assert_eq!(keys.keys().count(), 0, "none is kept");
        assert_eq!(handed, collected.drain().collect::<Vec<_>>());
        assert_eq!(handed.iter().map(|key| key.key).collect::<Vec<_>>(), ["a", "b", "a"]);
    }
}
