//! Which Services select an object by its labels, and which objects a Service selects.
//!
//! A selector matches if all its pairs are among the labels. So every match is found under the first
//! pair: Services are filed under that of their selector, what they select under each of its labels,
//! and looking costs what is found there.

use std::sync::Arc;

use fleet_accumulator::{Object, Tracked, View};

use crate::objects::{LabelIndex, Labels, Service, ServiceIndex};

/// Objects that Services select.
pub trait Selectable: Tracked<Index = LabelIndex> {
    /// Their labels.
    fn labels(&self) -> &Labels;
}

/// Whether a selector matches. One without pairs matches nothing, as the API server stores none.
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
    fn every_pair_has_to_match_and_no_pair_matches_nothing() {
        let machine = labels(&[("app", "shop"), ("env", "prod")]);
        assert!(selects(&labels(&[("env", "prod")]), &machine));
        assert!(selects(&machine, &machine));
        assert!(!selects(&labels(&[("app", "shop"), ("env", "staging")]), &machine));
        assert!(!selects(&labels(&[("tier", "1")]), &machine));
        assert!(!selects(&labels(&[]), &machine));
    }
}
