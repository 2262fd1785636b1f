//! What differs between two views.

use imbl::ordmap::DiffItem;

use crate::{Object, Tracked, View};

/// One object that differs between two views.
#[derive(Debug)]
pub enum Change<'a, T> {
    /// Not in the old view.
    Added(&'a Object<T>),
    /// Same incarnation, other content.
    Updated {
        /// Before.
        old: &'a Object<T>,
        /// After.
        new: &'a Object<T>,
    },
    /// Deleted and created again under the same name.
    Replaced {
        /// Before.
        old: &'a Object<T>,
        /// After.
        new: &'a Object<T>,
    },
    /// Not in the new view.
    Removed(&'a Object<T>),
}

impl<'a, T> Change<'a, T> {
    /// The object in the old view.
    pub fn old(&self) -> Option<&'a Object<T>> {
        match self {
            Self::Added(_) => None,
            Self::Updated { old, .. } | Self::Replaced { old, .. } | Self::Removed(old) => {
                Some(old)
            }
        }
    }

    /// The object in the new view.
    #[allow(clippy::new_ret_no_self, reason = "the counterpart of `old`, not a constructor")]
    pub fn new(&self) -> Option<&'a Object<T>> {
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

#[cfg(test)]
mod tests {
    use fleet_api::{ObjectName, ResourceKind, kinds};
    use k8s_openapi::api::core::v1::Service;
    use proptest::prelude::*;

    use super::*;
    use crate::object::COMPARED;

    #[derive(Debug, PartialEq)]
    struct Number(u32);

    impl Tracked for Number {
        const KIND: ResourceKind = kinds::SERVICE;
        type Wire = Service;
        type Index = ();

        fn project(_: Service) -> Result<Self, String> {
            Err("built by hand".to_owned())
        }

        fn index(&self, _: &ObjectName) -> Vec<()> {
            Vec::new()
        }
    }

    fn record(number: u32, content: u32) -> Object<Number> {
        let name = ObjectName::new("team", format!("object-{number:05}"));
        Object::new(name, "uid".into(), "1".into(), Number(content))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

        /// Nodes of the map hold 16 records; a change touches one of them, or two when it splits
        /// or merges them.
        #[test]
        fn a_difference_costs_what_changed(
            size in 1_000..8_000_u32,
            changes in prop::collection::btree_map(0..10_000_u32, prop::option::of(0..9_u32), 1..50)
        ) {
            let old = View::of((0..size).map(|number| record(number, 100)));
            let mut new = old.clone();
            let mut expected = 0;
            for (number, content) in &changes {
                let name = record(*number, 0).name;
                if let Some(content) = content {
                    new.insert(record(*number, *content));
                    expected += 1;
                } else {
                    expected += usize::from(new.remove(&name).is_some());
                }
            }
            COMPARED.set(0);
            prop_assert_eq!(diff(&old, &new).count(), expected);
            let compared = COMPARED.get();
            prop_assert!(compared <= 64 * changes.len(), "{} for {}", compared, changes.len());
        }
    }

    #[test]
    fn a_version_alone_is_no_difference_and_neither_is_content_that_came_back() {
        let old = View::of([record(1, 1), record(2, 1)]);
        let mut new = old.clone();
        let mut newer = record(1, 1);
        newer.version = "2".into();
        newer.object = std::sync::Arc::clone(&old.get(&newer.name).unwrap().object);
        new.records.insert(newer.name.clone(), newer);
        new.insert(record(2, 7));
        new.insert(record(2, 1));
        assert_eq!(diff(&old, &new).count(), 0);
    }
}
