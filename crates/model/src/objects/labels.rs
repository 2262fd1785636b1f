//! Labels, and the index that finds an object by a label.

use std::sync::Arc;

use fleet_accumulator::Texts;

/// Labels, or a selector.
pub type Labels = Texts;

/// One label in one namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LabelIndex {
    namespace: Arc<str>,
    key: Arc<str>,
    value: Arc<str>,
}

impl LabelIndex {
    /// The keys under which an object with these labels is indexed.
    pub fn all(namespace: &Arc<str>, labels: &Labels) -> Vec<Self> {
        labels.iter().map(|pair| Self::of(namespace, pair)).collect()
    }

    /// The key under which a selector is indexed; `None` for one that selects nothing.
    pub fn first(namespace: &Arc<str>, selector: &Labels) -> Option<Self> {
        selector.iter().next().map(|pair| Self::of(namespace, pair))
    }

    fn of(namespace: &Arc<str>, (key, value): (&Arc<str>, &Arc<str>)) -> Self {
        Self { namespace: namespace.clone(), key: key.clone(), value: value.clone() }
    }
}
