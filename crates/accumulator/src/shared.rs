//! Values that many objects have in common, kept once.
//!
//! A fleet repeats itself: every copy of a slice for an importer has the content of its export, every object of a member
//! its namespace. Views hold all of them, so what is equal shares one allocation, from the moment it is decoded.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, LazyLock, Weak};

use fleet_api::ObjectName;
use foldhash::fast::FixedState;
use parking_lot::Mutex;

/// Names, label keys, finalizers.
static TEXTS: LazyLock<Mutex<Shared<str>>> = LazyLock::new(Mutex::default);

/// The text, in one allocation with all other holders.
pub fn shared_text(text: &str) -> Arc<str> {
    TEXTS.lock().get(&text, text)
}

/// The text, in one allocation with a name, label key or finalizer of the same text, if there is one.
pub(crate) fn known_text(text: &str) -> Arc<str> {
    TEXTS.lock().find(&text, text).unwrap_or_else(|| text.into())
}

/// The same name, in one allocation with other names of these parts.
pub fn shared_name(name: &ObjectName) -> ObjectName {
    ObjectName { namespace: shared_text(&name.namespace), name: shared_text(&name.name) }
}

/// Values that are kept once for all holders. A value without holders is dropped.
pub struct Shared<V: ?Sized> {
    known: HashMap<u64, Weak<V>, FixedState>,
    /// How many there may be before those without holders are looked for.
    sweep_at: usize,
}

/// How few are not worth looking for.
const FEW: usize = 1024;

impl<V: ?Sized> Default for Shared<V> {
    fn default() -> Self {
        Self { known: HashMap::default(), sweep_at: FEW }
    }
}

impl<V: Hash + PartialEq> Shared<V> {
    /// What is known to equal the value, else the value itself, known from now on.
    pub fn share(&mut self, value: V) -> Arc<V> {
        let hash = FixedState::default().hash_one(&value);
        self.get_hashed(hash, value)
    }
}

impl<V: ?Sized + PartialEq> Shared<V> {
    /// What is known under `key` if it equals the value, else the value itself, known from now on.
    pub fn get<T: Borrow<V> + Into<Arc<V>>>(&mut self, key: &impl Hash, value: T) -> Arc<V> {
        self.get_hashed(FixedState::default().hash_one(key), value)
    }

    /// What is known under `key`, if it equals the value.
    fn find(&self, key: &impl Hash, value: &V) -> Option<Arc<V>> {
        self.find_hashed(FixedState::default().hash_one(key), value)
    }

    fn find_hashed(&self, hash: u64, value: &V) -> Option<Arc<V>> {
        self.known.get(&hash).and_then(Weak::upgrade).filter(|known| **known == *value)
    }

    fn get_hashed<T: Borrow<V> + Into<Arc<V>>>(&mut self, hash: u64, value: T) -> Arc<V> {
        if let Some(known) = self.find_hashed(hash, value.borrow()) {
            return known;
        }
        if self.known.len() >= self.sweep_at {
            self.known.retain(|_, value| value.strong_count() > 0);
            self.sweep_at = FEW.max(self.known.len() * 2);
        }
        let value = value.into();
        self.known.insert(hash, Arc::downgrade(&value));
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_one() {
        let (one, same, other) =
            (shared_text("fleet-member-a"), shared_text("fleet-member-a"), shared_text("other"));
        assert!(Arc::ptr_eq(&one, &same));
        assert_eq!((&*one, &*other), ("fleet-member-a", "other"));
    }

    #[test]
    fn what_is_not_the_same_takes_the_place() {
        let mut shared = Shared::<u32>::default();
        let mut get = |value: u32| shared.get(&"key", value);
        let (one, two) = (get(1), get(2));
        assert_eq!((*one, *two), (1, 2));
        assert!(Arc::ptr_eq(&two, &get(2)));
        assert!(!Arc::ptr_eq(&one, &get(1)), "only the last one is known");
    }

    #[test]
    fn what_nobody_holds_is_forgotten() {
        let mut shared = Shared::<usize>::default();
        let held = shared.get(&0, 0);
        for value in 1..FEW * 10 {
            shared.get(&value, value);
        }
        assert!(shared.known.len() <= FEW);
        assert!(Arc::ptr_eq(&held, &shared.get(&0, 0)));
    }
}
