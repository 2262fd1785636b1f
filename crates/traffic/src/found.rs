use std::collections::BTreeMap;

use crate::slot::Slot;

/// Where endpoints are at present, by cluster and first address: what a decider goes on from that remembers nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found(BTreeMap<(String, String), Slot>);

impl Found {
    /// The slot of an endpoint, if it is in a slice.
    pub(crate) fn slot(&self, cluster: &str, address: &str) -> Option<Slot> {
        // Few decisions have something found.
        self.0.get(&(cluster.to_owned(), address.to_owned())).copied()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<((String, String), Slot)> for Found {
    fn from_iter<I: IntoIterator<Item = ((String, String), Slot)>>(all: I) -> Self {
        Self(all.into_iter().collect())
    }
}
