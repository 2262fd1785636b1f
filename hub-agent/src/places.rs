//! How many objects of a kind one member may have in force.
//!
//! The oldest have a place, in an order that the hub stores: a restart of the hub agent changes nothing.

use std::ops::Bound;

use fleet_accumulator::{Object, Tracked, View};
use fleet_api::{ObjectName, ResourceKind};
use fleet_model::objects::{Filed, filed_by_age};

/// How many objects of a kind have no place, and the member that they belong to. A member can have several.
pub(crate) type Refused = (String, ResourceKind, usize);

/// The places of one member for objects that are [filed by age](filed_by_age).
#[derive(Debug)]
pub(crate) struct Places<'a, T: Tracked> {
    view: &'a View<T>,
    namespace: &'a str,
    free: usize,
}

impl<'a, T: Tracked<Index = ObjectName>> Places<'a, T> {
    /// The places in a member's namespace, of which so many are free.
    pub(crate) fn new(view: &'a View<T>, namespace: &'a str, free: usize) -> Self {
        Self { view, namespace, free }
    }

    /// Whether an object has one. Costs as much as there are places.
    pub(crate) fn include(&self, name: &ObjectName) -> bool {
        self.taken().any(|(_, taken)| taken == name)
    }

    /// How many objects have none.
    pub(crate) fn lacking(&self) -> usize {
        self.filed().count().saturating_sub(self.free)
    }

    fn filed(&self) -> impl Iterator<Item = &'a Filed> + use<'a, T> {
        self.view.filed(filed_by_age(self.namespace))
    }

    fn taken(&self) -> impl Iterator<Item = &'a Filed> + use<'a, T> {
        self.filed().take(self.free)
    }

    fn are_too_few(&self) -> bool {
        self.filed().nth(self.free).is_some()
    }
}

/// The objects that have a place in one of two snapshots only. The others of a member need not be planned again.
pub(crate) fn moved<'a, T: Tracked<Index = ObjectName>>(
    old: &Places<'a, T>,
    new: &Places<'a, T>,
) -> Vec<&'a Object<T>> {
    if !old.are_too_few() && !new.are_too_few() {
        return Vec::new();
    }
    let last = [old, new].map(|places| places.taken().last());
    let [from, to] = if last[0] <= last[1] { last } else { [last[1], last[0]] };
    let Some(to) = to.filter(|_| from != to) else { return Vec::new() };
    let (begin, _) = filed_by_age(new.namespace);
    let from = from.map_or(begin, |place| Bound::Excluded(place.clone()));
    let moved = new.view.filed((from, Bound::Included(to.clone())));
    moved.filter_map(|(_, name)| new.view.get(name)).collect()
}
