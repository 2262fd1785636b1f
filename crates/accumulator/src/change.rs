//! What differs between two views.

use imbl::ordmap::DiffItem;

use crate::{Record, Tracked, View};

/// One object that differs between two views.
#[derive(Debug)]
pub enum Change<'a, T> {
    /// Not in the old view.
    Added(&'a Record<T>),
    /// Same incarnation, other content.
    Updated {
        /// Before.
        old: &'a Record<T>,
        /// After.
        new: &'a Record<T>,
    },
    /// Deleted and created again under the same name.
    Replaced {
        /// Before.
        old: &'a Record<T>,
        /// After.
        new: &'a Record<T>,
    },
    /// Not in the new view.
    Removed(&'a Record<T>),
}

impl<'a, T> Change<'a, T> {
    /// The object in the old view.
    pub fn old(&self) -> Option<&'a Record<T>> {
        match self {
            Self::Added(_) => None,
            Self::Updated { old, .. } | Self::Replaced { old, .. } | Self::Removed(old) => {
                Some(old)
            }
        }
    }

    /// The object in the new view.
    #[allow(clippy::new_ret_no_self, reason = "the counterpart of `old`, not a constructor")]
    pub fn new(&self) -> Option<&'a Record<T>> {
        match self {
            Self::Added(new) | Self::Updated { new, .. } | Self::Replaced { new, .. } => Some(new),
            Self::Removed(_) => None,
        }
    }
}

/// The exact difference between two views, ordered by name: at most one item per name; none for a
/// version that changed alone, and none for content that changed and changed back. Costs what
/// changed, not the size of the views, because views made from each other share their structure.
pub fn diff<'a, T: Tracked>(
    old: &'a View<T>,
    new: &'a View<T>,
) -> impl Iterator<Item = Change<'a, T>> {
    old.records.diff(&new.records).filter_map(|item| match item {
        DiffItem::Add(_, new) => Some(Change::Added(new)),
        DiffItem::Update { old: (_, old), new: (_, new) } if old.uid == new.uid => {
            (old.object != new.object).then_some(Change::Updated { old, new })
        }
        DiffItem::Update { old: (_, old), new: (_, new) } => Some(Change::Replaced { old, new }),
        DiffItem::Remove(_, old) => Some(Change::Removed(old)),
    })
}
