//! What becomes of the slices of an import.

use std::collections::{BTreeMap, HashSet};

use super::bound::Wanted;

/// What becomes of the slices, by their names. Of those that are not named here, the exporter has none.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) wanted: BTreeMap<String, Wanted>,
    pub(super) kept: HashSet<String>,
    pub(super) removed: HashSet<String>,
}

impl Outcome {
    /// Whether a name is spoken for.
    pub(super) fn has(&self, name: &str) -> bool {
        self.wanted.contains_key(name) || self.kept.contains(name)
    }
}
