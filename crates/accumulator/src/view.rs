//! The content of one source at one moment.

use std::fmt;
use std::ops::RangeBounds;
use std::sync::Arc;
use std::time::Instant;

use fleet_api::ObjectName;
use imbl::{OrdMap, OrdSet};

use crate::{Object, SourceState, Tracked};

/// What the API server of a source did not long ago, so that what is absent may come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settling {
    /// It went back in time.
    WentBack,
    /// Another one answered, or one that orders requests in another way.
    Another,
}

/// How far the content of a view can be trusted.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub(crate) state: SourceState,
    /// Whether a complete list was seen.
    pub(crate) bootstrapped: bool,
    /// Grows with every change that a consumer can see: content or state, not versions.
    pub(crate) revision: u64,
    /// Last of the failures that go on, if any.
    pub(crate) trouble: Option<Arc<str>>,
    /// Why absence proves nothing yet, if it does not.
    pub(crate) settling: Option<Settling>,
    /// Whether it was live for long enough that absence counts, if that was asked for.
    pub(crate) settled: bool,
    /// When the last complete list was begun.
    pub(crate) listed: Option<Instant>,
    /// When the API server was asked last that answered that it does not serve the kind, or forbids it.
    pub(crate) refused: Option<Instant>,
}

impl Default for Standing {
    fn default() -> Self {
        Self {
            state: SourceState::default(),
            bootstrapped: false,
            revision: 0,
            trouble: None,
            settling: None,
            settled: true,
            listed: None,
            refused: None,
        }
    }
}

/// All objects of one source, by name and by index. Immutable for its readers, cheap to clone:
/// clones share everything they have in common.
pub struct View<T: Tracked> {
    pub(crate) records: OrdMap<ObjectName, Object<T>>,
    index: OrdSet<(T::Index, ObjectName)>,
    tallies: OrdMap<Arc<str>, usize>,
    /// Objects of which the last version could not be read, and why.
    pub(crate) defects: OrdMap<ObjectName, Arc<str>>,
    pub(crate) standing: Standing,
}

impl<T: Tracked> View<T> {
    /// A live view of these records, for tests of what reads snapshots.
    pub fn of(records: impl IntoIterator<Item = Object<T>>) -> Self {
        let state = SourceState::Live;
        let standing = Standing { state, bootstrapped: true, revision: 1, ..Standing::default() };
        let mut view = Self { standing, ..Self::default() };
        let records: Vec<_> = records.into_iter().collect();
        for record in interleaved(records) {
            view.insert(record);
        }
        view
    }

    /// The same content in another state, for tests of what must not trust it. A view that is
    /// pending or listing has never been listed.
    #[must_use]
    pub fn in_state(mut self, state: SourceState) -> Self {
        self.standing.bootstrapped = !matches!(state, SourceState::Pending | SourceState::Listing);
        self.standing.state = state;
        self
    }

    /// The same as if there had never been a list, for tests of kinds that were never served, or never to be read.
    #[must_use]
    pub fn unlisted(mut self) -> Self {
        self.standing.bootstrapped = false;
        self
    }

    /// The same content shortly after a start or a failure, for tests of what must not trust absence yet.
    #[must_use]
    pub fn unsettled(mut self) -> Self {
        self.standing.settled = false;
        self
    }

    /// The same content some time later: absence counts again.
    #[must_use]
    pub fn calmed(mut self) -> Self {
        self.standing.settled = true;
        self.standing.revision += 1;
        self
    }

    /// The same content, with an object whose last version could not be read, for tests.
    #[must_use]
    pub fn with_defect(mut self, name: ObjectName) -> Self {
        self.defects.insert(name, "it cannot be read".into());
        self
    }

    /// The same with an object as a watch shows it, for simulations: content that did not change stays the same, by pointer.
    #[must_use]
    pub fn with(mut self, record: Object<T>) -> Self {
        self.defects.remove(&record.name);
        let same = self.get(&record.name).filter(|old| *old.object == *record.object);
        let object = same.map_or(record.object, |old| Arc::clone(&old.object));
        self.insert(Object { object, ..record });
        self.standing.revision += 1;
        self
    }

    /// The same without an object that is gone, for simulations.
    #[must_use]
    pub fn without(mut self, name: &ObjectName) -> Self {
        self.defects.remove(name);
        self.remove(name);
        self.standing.revision += 1;
        self
    }

    /// The same content of an API server that went back in its history not long ago, or did not, for simulations.
    #[must_use]
    pub fn settling(mut self, settling: bool) -> Self {
        self.standing.settling = settling.then_some(Settling::WentBack);
        self.standing.revision += 1;
        self
    }

    /// The same content of a list that was begun then, for tests.
    #[must_use]
    pub fn listed_at(mut self, begun: Instant) -> Self {
        self.standing.listed = Some(begun);
        self
    }

    /// Whether absence counts: the source is none of [`Config::cautious`](crate::Config::cautious), or has been live for long
    /// enough without a break since the last list that followed a start or a failure.
    pub fn is_settled(&self) -> bool {
        self.standing.settled
    }

    /// The object of that name.
    pub fn get(&self, name: &ObjectName) -> Option<&Object<T>> {
        self.records.get(name)
    }

    /// All objects, ordered by namespace and name.
    pub fn iter(&self) -> impl Iterator<Item = &Object<T>> {
        self.records.values()
    }

    /// All objects of a namespace, ordered by name.
    pub fn in_namespace<'a>(
        &'a self,
        namespace: &str,
    ) -> impl Iterator<Item = &'a Object<T>> + use<'a, T> {
        let first = ObjectName::new(namespace, "");
        let range = self.records.range(first.clone()..);
        range
            .take_while(move |(name, _)| name.namespace == first.namespace)
            .map(|(_, record)| record)
    }

    /// The objects filed under `index`, ordered by name. Costs the hits, not the view.
    pub fn by<'a>(&'a self, index: &T::Index) -> impl Iterator<Item = &'a Object<T>> + use<'a, T> {
        let first = (index.clone(), ObjectName::new("", ""));
        self.index
            .range(first.clone()..)
            .take_while(move |(key, _)| *key == first.0)
            .filter_map(|(_, name)| self.records.get(name))
    }

    /// The entries of the index in a range, in their order, each with the name of its object. Costs the entries.
    pub fn filed<R: RangeBounds<(T::Index, ObjectName)>>(
        &self,
        range: R,
    ) -> impl Iterator<Item = &(T::Index, ObjectName)> {
        self.index.range(range)
    }

    /// How many objects [count](Tracked::tally) in this number. Costs a look-up.
    pub fn tally(&self, number: &str) -> usize {
        self.tallies.get(number).copied().unwrap_or_default()
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is no object. Means nothing for the cluster unless
    /// [`bootstrapped`](Self::bootstrapped).
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// How far the content can be trusted.
    pub fn state(&self) -> &SourceState {
        &self.standing.state
    }

    /// Whether it was listed in the life of this process, or is known not to be had.
    pub fn has_answered(&self) -> bool {
        self.standing.bootstrapped || self.standing.state.cannot_be_had()
    }

    /// Whether a complete list was seen in the life of this process.
    pub fn bootstrapped(&self) -> bool {
        self.standing.bootstrapped
    }

    /// Objects of which the last version could not be read, with the reason, ordered by name. Their
    /// last good content, if there was any, is what [`get`](Self::get) finds.
    pub fn defects(&self) -> impl Iterator<Item = (&ObjectName, &str)> {
        self.defects.iter().map(|(name, reason)| (name, &**reason))
    }

    /// Why the last version of this object could not be read, if it could not.
    pub fn defect(&self, name: &ObjectName) -> Option<&str> {
        self.defects.get(name).map(|reason| &**reason)
    }

    /// When the last complete list was begun; `None` before there was one.
    pub fn listed(&self) -> Option<Instant> {
        self.standing.listed
    }

    /// Last failure to list or watch, while failures go on.
    pub fn trouble(&self) -> Option<&str> {
        self.standing.trouble.as_deref()
    }

    /// The same content, with another standing.
    pub(crate) fn standing_at(&self, standing: &Standing) -> Self {
        Self { standing: standing.clone(), ..self.clone() }
    }

    /// Stores a record with new content; returns the one it replaces.
    pub(crate) fn insert(&mut self, record: Object<T>) -> Option<Object<T>> {
        let name = record.name.clone();
        let added = record.object.index(&name);
        self.count(record.object.tally(&name), 1);
        let old = self.records.insert(name.clone(), record);
        self.count(old.as_ref().and_then(|old| old.object.tally(&name)), -1);
        let removed = old.as_ref().map(|old| old.object.index(&name)).unwrap_or_default();
        for key in &removed {
            if !added.contains(key) {
                self.index.remove(&(key.clone(), name.clone()));
            }
        }
        for key in added {
            if !removed.contains(&key) {
                self.index.insert((key, name.clone()));
            }
        }
        old
    }

    /// Removes a record.
    pub(crate) fn remove(&mut self, name: &ObjectName) -> Option<Object<T>> {
        let old = self.records.remove(name)?;
        self.count(old.object.tally(name), -1);
        for key in old.object.index(name) {
            self.index.remove(&(key, name.clone()));
        }
        Some(old)
    }

    fn count(&mut self, number: Option<Arc<str>>, by: isize) {
        let Some(number) = number else { return };
        match self.tally(&number).saturating_add_signed(by) {
            0 => self.tallies.remove(&number),
            count => self.tallies.insert(number, count),
        };
    }
}

/// Every other item first, then the rest. Inserted in order, sorted items leave the nodes of a map
/// half empty, because each one that is full is split and then never touched again. In this order
/// the second half fills what the first one has left.
pub(crate) fn interleaved<I>(items: Vec<I>) -> impl Iterator<Item = I> {
    let (mut even, mut odd) = (Vec::new(), Vec::new());
    for (at, item) in items.into_iter().enumerate() {
        if at % 2 == 0 { even.push(item) } else { odd.push(item) }
    }
    even.into_iter().chain(odd)
}

impl<T: Tracked> Default for View<T> {
    fn default() -> Self {
        Self {
            records: OrdMap::new(),
            index: OrdSet::new(),
            tallies: OrdMap::new(),
            defects: OrdMap::new(),
            standing: Standing::default(),
        }
    }
}

impl<T: Tracked> Clone for View<T> {
    fn clone(&self) -> Self {
        Self {
            records: self.records.clone(),
            index: self.index.clone(),
            tallies: self.tallies.clone(),
            defects: self.defects.clone(),
            standing: self.standing.clone(),
        }
    }
}

impl<T: Tracked> fmt::Debug for View<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View")
            .field("state", &self.standing.state)
            .field("bootstrapped", &self.standing.bootstrapped)
            .field("records", &self.records.values().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
