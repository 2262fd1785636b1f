//! Which time of its API server a source shows.

use std::time::Instant;

use fleet_api::ObjectName;

use super::course::Course;
use super::feed::Newest;
use super::state::Machine;
use crate::view::Settling;
use crate::{ResourceVersion, Tracked};

impl Course {
    /// The API server is of another time. That counts from now on, since lists of other sources may be there before the next one of this,
    /// which shows it whatever its version is by then.
    fn diverges(&mut self) {
        self.timeline.diverges();
        self.standing.settling = Some(Settling::WentBack);
        self.change();
        self.relist();
    }

    /// What the API server has does not show its time: all is listed, and absence has to wait. Where it counts after a failure, then for a
    /// second list, in which time other sources may find out that the API server went back.
    fn lists_in_doubt(&mut self) {
        self.relist();
        self.suspect();
        self.doubt();
    }

    /// When a source whose API server went back in time is trusted again.
    pub(crate) fn settled_at(&self) -> Option<Instant> {
        let settled_at = self.timeline.settled_at(self.config.settle_after);
        settled_at.filter(|_| self.failing.is_none())
    }

    /// The source has been live for long enough.
    pub(crate) fn settled(&mut self) {
        self.timeline.settled();
        self.standing.settling = None;
        self.change();
    }

    /// When absence from the source counts.
    pub(crate) fn calm_at(&self) -> Option<Instant> {
        self.calm.settled_at().filter(|_| self.failing.is_none())
    }

    /// Absence from the source counts from now on.
    pub(crate) fn calmed(&mut self) {
        self.calm.settled();
        self.standing.settled = true;
        self.change();
    }

    /// Absence from the source does not count until it has been live for a while.
    pub(super) fn doubt(&mut self) {
        self.calm.broken();
        if self.standing.settled && !self.calm.is_settled() {
            self.standing.settled = false;
            self.change();
        }
    }

    /// Follows whether the source is live.
    pub(super) fn follow(&mut self, now: Instant) {
        let is_live = self.standing.state.is_live();
        self.timeline.follow(is_live, now);
        self.calm.follow(is_live, now);
    }

    /// Whether a list has shown that the API server went back in time; once.
    pub(crate) fn take_went_back(&mut self) -> bool {
        std::mem::take(&mut self.went_back)
    }

    /// Another API server answers: its versions are not comparable, and what is absent there may only be absent for a while.
    pub(super) fn another_server(&mut self) {
        self.metrics.error("another_server");
        self.timeline.is_another();
        self.watched = None;
        // That it went back in time stays so.
        let _ = self.standing.settling.get_or_insert(Settling::Another);
        self.suspect();
        self.doubt();
        self.change();
    }

    /// The source shows all changes up to a version.
    pub(super) fn reaches(&mut self, version: ResourceVersion) {
        self.timeline.reaches(&version);
        self.version = Some(version);
    }

    /// A list is complete, of this version: if it, or an object in it, is older than what was seen before, the API server went back
    /// in time.
    pub(super) fn date(&mut self, version: &ResourceVersion, has_older_object: bool) {
        let begun = self.listing;
        let is_older = begun.is_some_and(|begun| self.timeline.is_older_list(version, begun));
        if is_older || has_older_object {
            self.metrics.error("went_back");
            self.timeline.went_back(version);
            self.went_back = true;
            self.standing.settling = Some(Settling::WentBack);
            self.doubt();
            self.change();
        } else if let Some(begun) = begun {
            self.timeline.reaches_list(version, begun);
        }
    }
}

impl<T: Tracked> Machine<T> {
    /// The object that changed last, of those that could be read: the first to be missing or older in a backup.
    pub(crate) fn newest_object(&self) -> Option<ObjectName> {
        let readable = |name| !self.content.defects.contains_key(name);
        let records = self.content.iter().filter(|record| readable(&record.name));
        let newest = records.reduce(|newest, other| {
            let is_newer = other.version.is_at_least(&newest.version) == Some(true);
            if is_newer { other } else { newest }
        });
        newest.map(|record| record.name.clone())
    }

    /// Compares what the API server has, the object of [`Self::newest_object`] with it, with what was seen of it. A version alone shows
    /// only in the first moments that it went back: soon the server has written as much again, or a restore has raised its versions.
    pub(crate) fn meets(&mut self, newest: &Newest) {
        if newest.is_another {
            self.course.another_server();
            self.course.relist();
            return;
        }
        if self.course.timeline.is_older(&newest.version) {
            self.course.diverges();
            return;
        }
        // Where another server has answered since, its time is not known.
        let is_later = |seen: &ResourceVersion| newest.version.is_at_least(seen) == Some(false);
        if self.course.version().is_some_and(is_later) {
            self.course.lists_in_doubt();
            return;
        }
        let known = self.newest_object().and_then(|name| self.content.get(&name));
        let Some(known) = known else { return };
        match &newest.object {
            // Deleted meanwhile, or it has never been there.
            None => self.course.lists_in_doubt(),
            Some((uid, version)) if *uid != known.uid || *version != known.version => {
                // A later one comes with the watch. What is not later would have come already.
                let seen = self.course.version();
                if seen.and_then(|seen| seen.is_at_least(version)) == Some(true) {
                    self.course.diverges();
                }
            }
            Some(_) => {}
        }
    }

    /// A list is complete, of this version.
    pub(super) fn date(&mut self, version: &ResourceVersion) {
        let items = self.listing.fresh.iter().filter(|_| self.course.is_listing());
        let mut items = items.filter_map(|item| Some((item, self.content.get(&item.name)?)));
        let has_older_object = items.any(|(item, old)| {
            item.uid == old.uid && item.version.is_at_least(&old.version) == Some(false)
        });
        self.course.date(version, has_older_object);
    }
}
