//! Results that are kept, as many as fit; those that were not asked for the longest go first.

use std::collections::VecDeque;

/// Some results by what they are of.
#[derive(Debug)]
pub(super) struct Kept<K, V> {
    most: usize,
    /// The one that was asked for last stands last.
    entries: VecDeque<(K, V)>,
}

impl<K: PartialEq, V: Clone> Kept<K, V> {
    /// Nothing yet.
    pub(super) fn new(most: usize) -> Self {
        Self { most, entries: VecDeque::new() }
    }

    /// A result that is kept.
    pub(super) fn get(&mut self, key: &K) -> Option<V> {
        let index = self.entries.iter().position(|(known, _)| known == key)?;
        let entry = self.entries.remove(index)?;
        let value = entry.1.clone();
        self.entries.push_back(entry);
        Some(value)
    }

    /// Keeps a result, in the place of an earlier one of the same.
    pub(super) fn insert(&mut self, key: K, value: V) {
        self.entries.retain(|(known, _)| *known != key);
        if self.entries.len() >= self.most {
            self.entries.pop_front();
        }
        self.entries.push_back((key, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_asked_for_the_longest_goes() {
        let mut kept = Kept::new(2);
        kept.insert(1, "one");
        kept.insert(9, "nine");
        assert_eq!(kept.get(&1), Some("one"));
        kept.insert(5, "five");
        assert_eq!((kept.get(&1), kept.get(&9), kept.get(&5)), (Some("one"), None, Some("five")));
        kept.insert(5, "new");
        assert_eq!((kept.get(&1), kept.get(&5)), (Some("one"), Some("new")));
    }
}
