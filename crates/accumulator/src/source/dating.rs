//! Which time of its API server a source shows.

use std::time::Instant;

use super::course::Course;
use super::state::Machine;
use crate::view::Settling;
use crate::{ResourceVersion, Tracked};

impl Course {
    /// Whether the newest version that the API server has now shows that it went back in time.
    pub(crate) fn is_older(&self, version: &ResourceVersion) -> bool {
        self.timeline.is_older(version)
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
