//! What lists and events do to the content of a view.

use std::collections::BTreeSet;

use fleet_api::ObjectName;

use super::course::Command;
use super::item::Item;
use super::state::{Listing, Machine};
use super::update::Touched;
use crate::time::wall_clock;
use crate::view::interleaved;
use crate::{Object, Tracked, Uid};

impl<T: Tracked> Machine<T> {
    /// The whole list is there: applies it as a difference, so that what did not change stays the
    /// same, by pointer.
    pub(super) fn list_is_complete(&mut self) -> Option<Command> {
        let Some(begun) = self.course.listing.take() else {
            self.course.metrics.error("protocol");
            return None;
        };
        let listing = std::mem::take(&mut self.listing);
        self.course.metrics.relist();
        self.course.touched = Touched::All;
        self.course.dirty = true;
        let mended = self.content.defects.keys().filter(|name| !listing.seen.contains(name));
        for name in mended.cloned().collect::<Vec<_>>() {
            self.mend(&name);
        }
        let losses = self.losses(&listing);
        let present = self.content.len();
        for (name, _) in self.course.judge(losses, present) {
            self.remove(&name);
        }
        for item in interleaved(listing.fresh) {
            let skip = self.course.held.as_ref().is_some_and(|withheld| {
                let old = self.content.get(&item.name);
                old.is_some_and(|old| withheld.contains(&(old.name.clone(), old.uid.clone())))
            });
            if !skip {
                self.apply(item, false);
            }
        }
        self.course.ends_list(begun)
    }

    /// What the list lacks: names that are not in it, and names that came back as another object.
    fn losses(&self, listing: &Listing<T>) -> BTreeSet<(ObjectName, Uid)> {
        let lost = |record: &Object<T>| (record.name.clone(), record.uid.clone());
        let gone =
            self.content.iter().filter(|record| !listing.seen.contains(&record.name)).map(lost);
        let replaced = listing.fresh.iter().filter_map(|item| {
            let old = self.content.get(&item.name)?;
            (old.uid != item.uid).then(|| lost(old))
        });
        gone.chain(replaced).collect()
    }

    /// Stores an object that is newer than what is stored; a list is always newer.
    pub(super) fn apply(&mut self, item: Item<T>, compare: bool) {
        let Item { name, uid, version, content, is_partial, .. } = item;
        let old = self.content.get(&name).filter(|old| old.uid == uid);
        if compare
            && let Some(old) = old
            && old.version.is_at_least(&version) == Some(true)
        {
            if old.version != version {
                self.course.metrics.error("old_version");
            }
            return;
        }
        if is_partial || content.is_err() {
            self.course.metrics.undecodable();
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
                    self.course.touch(&name);
                    self.content.records.insert(name, record);
                }
            }
            (Ok(object), _) => {
                self.course.touch(&name);
                self.mend(&name);
                self.content.insert(Object::new(name, uid, version, object));
                self.course.change();
            }
            (Err(reason), old) => {
                let keep = old.is_some();
                self.course.touch(&name);
                // The last good content stays, but not that of another object.
                if !keep {
                    self.remove(&name);
                }
                if self.content.defects.get(&name).is_none_or(|known| **known != *reason) {
                    self.content.defects.insert(name, reason.into());
                    self.course.change();
                }
            }
        }
    }

    pub(super) fn delete(&mut self, name: &ObjectName, uid: &Uid) {
        self.mend(name);
        if self.content.get(name).is_some_and(|record| record.uid == *uid) {
            self.course.touch(name);
            self.remove(name);
        }
    }

    fn remove(&mut self, name: &ObjectName) {
        if self.content.remove(name).is_some() {
            self.course.change();
        }
    }

    /// The object is readable again, or gone.
    fn mend(&mut self, name: &ObjectName) {
        if !self.content.defects.is_empty() && self.content.defects.remove(name).is_some() {
            self.course.change();
        }
    }
}
