//! Labels and annotations.

use std::sync::Arc;

/// Few pairs of texts, ordered by their keys, in one allocation. A map has room for eleven pairs; most objects have one
/// or two, and a view holds a hundred thousand objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Texts(Box<[(Arc<str>, Arc<str>)]>);

impl Texts {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Arc<str>> {
        let at = self.0.binary_search_by(|(known, _)| (**known).cmp(key)).ok()?;
        Some(&self.0[at].1)
    }

    /// All pairs, ordered by key.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(Arc<str>, Arc<str>)> for Texts {
    /// Of a key that comes twice, the first counts.
    fn from_iter<I: IntoIterator<Item = (Arc<str>, Arc<str>)>>(pairs: I) -> Self {
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        pairs.sort_by(|one, other| one.0.cmp(&other.0));
        pairs.dedup_by(|later, first| later.0 == first.0);
        Self(pairs.into_boxed_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_found_in_whatever_order_they_came() {
        let pairs = [("b", "2"), ("a", "1"), ("c", "3"), ("a", "other")];
        let texts: Texts =
            pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        let found = ["a", "b", "c", "d"].map(|key| texts.get(key).map(|value| &**value));
        assert_eq!(found, [Some("1"), Some("2"), Some("3"), None]);
        assert_eq!(texts.iter().map(|(key, _)| &**key).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert!(!texts.is_empty() && Texts::default().is_empty());
    }
}
