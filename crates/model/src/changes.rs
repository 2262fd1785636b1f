//! Differences between two views, for finding the keys that a change touches.

use fleet_accumulator::{Object, Tracked, View, diff};

/// Calls `touched` for every object that differs between two views, with its old and its new content: an object that
/// moved from one key to another affects both keys.
pub fn each_touched<T: Tracked>(old: &View<T>, new: &View<T>, mut touched: impl FnMut(&Object<T>)) {
    for change in diff(old, new) {
        change.old().into_iter().chain(change.new()).for_each(&mut touched);
    }
}
