//! What lists and events do to the content of a view.

use std::collections::BTreeSet;

use fleet_api::ObjectName;

use super::item::Item;
use super::state::{Command, Listing, Machine};
use super::update::Touched;
use crate::time::wall_clock;
use crate::view::interleaved;
use crate::{Object, SourceState, Tracked, Uid};

impl<T: Tracked> Machine<T> {
    /// The whole list is there: applies it as a difference, so that what did not change stays the
    /// same, by pointer.
    pub(super) fn list_is_complete(&mut self) -> Option<Command> {
        let Some(listing) = self.listing.take() else {
            self.metrics.error("protocol");
            return None;
        };
        self.metrics.relist();
        self.touched = Touched::All;
        self.dirty = true;
        let mended = self.view.defects.keys().filter(|name| !listing.seen.contains(name));
        for name in mended.cloned().collect::<Vec<_>>() {
            self.mend(&name);
        }
        let begun = listing.begun;
        let losses = self.losses(&listing);
        let withheld = self.judge(losses);
        self.suspicious = false;
        for item in interleaved(listing.fresh) {
            let skip = withheld.as_ref().is_some_and(|withheld| {
                let old = self.view.get(&item.name);
                old.is_some_and(|old| withheld.contains(&(old.name.clone(), old.uid.clone())))
            });
            if !skip {
                self.apply(item, false);
            }
        }
        self.view.bootstrapped = true;
        self.metrics.withheld_deletions(withheld.as_ref().map_or(0, BTreeSet::len));
        self.held = withheld;
        if self.held.is_some() {
            self.reached();
            self.enter(SourceState::Resyncing);
            return Some(Command::Confirm);
        }
        self.view.listed = Some(begun);
        // A watch that failed before fails until one works.
        if self.watch_fails() {
            self.change();
            return None;
        }
        self.reached();
        self.enter(SourceState::Live);
        None
    }

    /// What the list lacks: names that are not in it, and names that came back as another object.
    fn losses(&self, listing: &Listing<T>) -> BTreeSet<(ObjectName, Uid)> {
        let lost = |record: &Object<T>| (record.name.clone(), record.uid.clone());
        let gone = self.view.iter().filter(|record| !listing.seen.contains(&record.name)).map(lost);
        let replaced = listing.fresh.iter().filter_map(|item| {
            let old = self.view.get(&item.name)?;
            (old.uid != item.uid).then(|| lost(old))
        });
        gone.chain(replaced).collect()
    }

    /// Removes what may go and returns what must wait for another list, if anything.
    ///
    /// What two lists in a row lack goes. What is new in the second list's losses is judged like
    /// the losses of a first one.
    fn judge(
        &mut self,
        losses: BTreeSet<(ObjectName, Uid)>,
    ) -> Option<BTreeSet<(ObjectName, Uid)>> {
        let expected = self.held.take().unwrap_or_default();
        let (agreed, new): (BTreeSet<_>, BTreeSet<_>) =
            losses.into_iter().partition(|loss| expected.contains(loss));
        let too_many = self.config.mass_deletion.exceeded_by(new.len(), self.view.len());
        let wait = too_many || (self.suspicious && !new.is_empty());
        let go = agreed.iter().chain(new.iter().filter(|_| !wait));
        for (name, _) in go {
            self.remove(name);
        }
        wait.then_some(new)
    }

    /// Stores an object that is newer than what is stored; a list is always newer.
    pub(super) fn apply(&mut self, item: Item<T>, compare: bool) {
        let Item { name, uid, version, content, is_partial, .. } = item;
        let old = self.view.get(&name).filter(|old| old.uid == uid);
        if compare
            && let Some(old) = old
            && old.version.is_at_least(&version) == Some(true)
        {
            if old.version != version {
                self.metrics.error("old_version");
            }
            return;
        }
        if is_partial || content.is_err() {
            self.metrics.undecodable();
        }
        let content = content.map(|mut object| {
            object.observe(old.map(|old| &*old.object), wall_clock);
            object
        });
        match (content, old) {
            // Keeping the pointer is what makes comparing views exact and cheap.
            (Ok(object), Some(old)) if *old.object == object => {
                let record = (old.version != version).then(|| Object { version, ..old.clone() });
                self.mend(&name);
                if let Some(record) = record {
                    self.touch(&name);
                    self.view.records.insert(name, record);
                }
            }
            (Ok(object), _) => {
                self.touch(&name);
                self.mend(&name);
                self.view.insert(Object::new(name, uid, version, object));
                self.change();
            }
            (Err(reason), old) => {
                let keep = old.is_some();
                self.touch(&name);
                // The last good content stays, but not that of another object.
                if !keep {
                    self.remove(&name);
                }
                if self.view.defects.get(&name).is_none_or(|known| **known != *reason) {
                    self.view.defects.insert(name, reason.into());
                    self.change();
                }
            }
        }
    }

    pub(super) fn delete(&mut self, name: &ObjectName, uid: &Uid) {
        self.mend(name);
        if self.view.get(name).is_some_and(|record| record.uid == *uid) {
            self.touch(name);
            self.remove(name);
        }
    }

    fn remove(&mut self, name: &ObjectName) {
        if self.view.remove(name).is_some() {
            self.change();
        }
    }

    /// The object is readable again, or gone.
    fn mend(&mut self, name: &ObjectName) {
        if !self.view.defects.is_empty() && self.view.defects.remove(name).is_some() {
            self.change();
        }
    }

    fn touch(&mut self, name: &ObjectName) {
        self.dirty = true;
        if let Touched::Names(names) = &mut self.touched {
            names.push(name.clone());
        }
    }
}
