//! Which imported slice belongs to which exported one, and the names of new ones.
//!
//! A slice is known by the exporter's own uid of it: its uid and name on the hub are others once the hub was rebuilt, and that is
//! no reason to write anything. Exporters write the uid, so one can use it twice; that is worth a slice of its own, and no more.

use std::collections::{HashMap, HashSet};

use fleet_accumulator::{Object, Uid};
use fleet_api::names;
use fleet_model::objects::ManagedSlice;
use fleet_model::objects::multicluster::FleetSlice;

use super::marks::Mark;
use super::outcome::Outcome;
use crate::multicluster::import::source;
use crate::multicluster::import::state::ServiceState;

/// The imported slices of a Service.
pub(super) struct Names<'a> {
    /// What was imported, by the uid on the hub of the exported slice.
    imported: HashMap<&'a Uid, &'a Object<ManagedSlice>>,
    /// The names of all that was imported of what is on the hub.
    taken: HashSet<&'a str>,
}

impl<'a> Names<'a> {
    /// Looks for what was imported of each exported slice: by name first, so that two that have one uid do not change places.
    pub(super) fn of(state: &ServiceState<'a>, slices: &[&'a Object<FleetSlice>]) -> Self {
        let mut names = Self { imported: HashMap::new(), taken: HashSet::new() };
        let mut others = Vec::new();
        for slice in slices {
            let mut likely = candidates(state, slice).filter_map(|name| state.imported_as(&name));
            match likely.find(|ours| names.may_be(slice, ours)) {
                Some(ours) => names.assign(slice, ours),
                None => others.push(*slice),
            }
        }
        names.find_renamed(state, &others);
        names
    }

    /// A name that was made from the hub's choice is another one on a hub that was rebuilt.
    fn find_renamed(&mut self, state: &ServiceState<'a>, slices: &[&'a Object<FleetSlice>]) {
        if slices.is_empty() {
            return;
        }
        let mut left: HashMap<_, Vec<_>> = HashMap::new();
        for ours in state.imported.iter().rev() {
            let origin = source::cluster(&ours.slice).zip(Mark::of(&ours.slice));
            if let Some((cluster, mark)) = origin.filter(|_| !self.has(&ours.name.name)) {
                left.entry((cluster, mark.entry())).or_default().push(*ours);
            }
        }
        for slice in slices {
            let (own, on_hub) = (slice.slice_uid.to_string(), slice.uid.to_string());
            let marks = [Mark::Slice(&own), Mark::OnHub(&on_hub)];
            let Some(cluster) = slice.cluster() else { continue };
            let mut marks = marks.iter().map(|mark| (cluster, mark.entry()));
            if let Some(ours) = marks.find_map(|origin| left.get_mut(&origin)?.pop()) {
                self.assign(slice, ours);
            }
        }
    }

    /// What was imported of an exported slice.
    pub(super) fn same(&self, slice: &Object<FleetSlice>) -> Option<&'a Object<ManagedSlice>> {
        self.imported.get(&slice.uid).copied()
    }

    /// The name of the imported slice.
    pub(super) fn of_slice(
        &self,
        state: &ServiceState<'_>,
        outcome: &Outcome,
        slice: &Object<FleetSlice>,
        cluster: &str,
    ) -> Option<String> {
        if let Some(same) = self.same(slice) {
            return Some(same.name.name.to_string());
        }
        let is_free = |name: &String| {
            let exists = state.snapshot.endpoint_slices.get(&state.beside(name.as_str())).is_some();
            // A slice of this cluster that the hub has no more.
            let adopts = state.imported_as(name).is_some_and(|ours| {
                source::cluster(&ours.slice) == Some(cluster) && !self.has(name)
            });
            (!exists || adopts) && !outcome.has(name)
        };
        candidates(state, slice).find(is_free)
    }

    fn may_be(&self, slice: &Object<FleetSlice>, ours: &Object<ManagedSlice>) -> bool {
        let is_marked = match Mark::of(&ours.slice) {
            Some(Mark::Slice(uid)) => slice.slice_uid.is(uid),
            Some(Mark::OnHub(uid)) => slice.uid.is(uid),
            None => false,
        };
        is_marked && source::cluster(&ours.slice) == slice.cluster() && !self.has(&ours.name.name)
    }

    fn has(&self, name: &str) -> bool {
        self.taken.contains(name)
    }

    fn assign(&mut self, slice: &'a Object<FleetSlice>, ours: &'a Object<ManagedSlice>) {
        self.taken.insert(&ours.name.name);
        self.imported.insert(&slice.uid, ours);
    }
}

/// The names that an imported slice can have. Members choose the names of what they export, so one can take that of another member's
/// slice. The second is made from the hub's choice, which all members read there; the last one from this cluster's, which none does.
fn candidates(
    state: &ServiceState<'_>,
    slice: &Object<FleetSlice>,
) -> impl Iterator<Item = String> {
    let hashed = move |uid: &str| {
        let [_, hashed] = names::slice_import_candidates(&slice.name, uid);
        hashed
    };
    let of_hub = names::slice_import_candidates(&slice.name, &slice.uid.to_string());
    let import = state.import.into_iter();
    let own = import.map(move |import| hashed(&format!("{} {}", slice.uid, import.uid)));
    of_hub.into_iter().chain(own)
}
