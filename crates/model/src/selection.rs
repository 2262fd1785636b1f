//! Which Services select an object by its labels, and which objects a Service selects.
//!
//! A selector matches if all its pairs are among the labels, so every match has the first pair. Services are indexed by
//! the first pair of their selector, selectable objects by each of their labels, and a lookup costs as much as the index
//! has entries for that pair.

use std::sync::Arc;

use fleet_accumulator::{Object, Tracked, View};

use crate::objects::{LabelIndex, Labels, Service, ServiceIndex};

/// An object that Services can select.
pub trait Selectable: Tracked<Index = LabelIndex> {
    /// Labels of the object.
    fn labels(&self) -> &Labels;
}

/// Whether a selector matches. An empty selector matches nothing, because API servers store an absent selector as an
/// empty one.
pub fn selects(selector: &Labels, labels: &Labels) -> bool {
    !selector.is_empty() && selector.iter().all(|(key, value)| labels.get(key) == Some(value))
}

/// The Services of a namespace that select an object with these labels.
pub fn services<'a>(
    view: &'a View<Service>,
    namespace: &Arc<str>,
    labels: &'a Labels,
) -> impl Iterator<Item = &'a Object<Service>> {
    let keys = LabelIndex::all(namespace, labels).into_iter().map(ServiceIndex::Selects);
    keys.flat_map(|key| view.by(&key)).filter(|service| selects(&service.selector, labels))
}

/// The objects of a namespace that a selector matches, ordered by name.
pub fn selected<'a, T: Selectable>(
    view: &'a View<T>,
    namespace: &Arc<str>,
    selector: &'a Labels,
) -> impl Iterator<Item = &'a Object<T>> {
    let first = LabelIndex::first(namespace, selector);
    first
        .into_iter()
        .flat_map(|first| view.by(&first))
        .filter(|object| selects(selector, object.labels()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
    }

    #[test]
    fn all_pairs_must_match_and_an_empty_selector_matches_nothing() {
        let machine = labels(&[("app", "shop"), ("env", "prod")]);
        assert!(selects(&labels(&[("env", "prod")]), &machine));
        assert!(selects(&machine, &machine));
        assert!(!selects(&labels(&[("app", "shop"), ("env", "staging")]), &machine));
        assert!(!selects(&labels(&[("tier", "1")]), &machine));
        assert!(!selects(&labels(&[]), &machine));
    }
}
