//! The objects of one cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet_api::{ObjectName, ResourceKind};

use super::state::KindState;

/// The objects of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KindObjects {
    /// Whether they could be read.
    pub state: KindState,
    /// The objects, as JSON.
    pub objects: BTreeMap<ObjectName, Arc<str>>,
}

/// The objects of one cluster, by kind. A clone shares the texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterObjects {
    /// All kinds that were asked for.
    pub kinds: BTreeMap<ResourceKind, KindObjects>,
}

impl ClusterObjects {
    /// Adds an object, or puts it in the place of its earlier version.
    pub fn insert(&mut self, kind: ResourceKind, name: ObjectName, object: Arc<str>) {
        self.kinds.entry(kind).or_default().objects.insert(name, object);
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.kinds.values().map(|kind| kind.objects.len()).sum()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every object.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ResourceKind, &ObjectName, &Arc<str>)> {
        self.kinds.iter().flat_map(|(kind, of_kind)| {
            of_kind.objects.iter().map(|(name, object)| (*kind, name, object))
        })
    }

    /// Kinds that the API server may have and that were not read, by their names, with the reasons.
    pub(crate) fn unread(&self) -> Vec<(String, &str)> {
        let kinds = self.kinds.iter();
        let unread = kinds.filter_map(|(kind, of_kind)| Some((kind, of_kind.state.unread()?)));
        unread.map(|(kind, reason)| (kind.resource().to_string(), reason)).collect()
    }

    /// The states of its kinds.
    pub(crate) fn states(&self) -> BTreeMap<ResourceKind, KindState> {
        self.kinds.iter().map(|(kind, of_kind)| (*kind, of_kind.state.clone())).collect()
    }
}
