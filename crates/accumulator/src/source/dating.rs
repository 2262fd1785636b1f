//! Which time of its API server a source shows.

use std::time::Instant;

use super::state::Machine;
use crate::view::Settling;
use crate::{ResourceVersion, Tracked};

impl<T: Tracked> Machine<T> {
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
        self.view.settling = None;
        self.change();
    }

    /// When absence from the source counts.
    pub(crate) fn calm_at(&self) -> Option<Instant> {
        self.calm.settled_at().filter(|_| self.failing.is_none())
    }

    /// Absence from the source counts from now on.
    pub(crate) fn calmed(&mut self) {
        self.calm.settled();
        self.view.settled = true;
        self.change();
    }

    /// Absence from the source does not count until it has been live for a while.
    pub(super) fn doubt(&mut self) {
        self.calm.broken();
        if self.view.settled && !self.calm.is_settled() {
            self.view.settled = false;
            self.change();
        }
    }

    /// Follows whether the source is live.
    pub(super) fn follow(&mut self, now: Instant) {
        let is_live = self.view.state.is_live();
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
        let _ = self.view.settling.get_or_insert(Settling::Another);
        self.suspect();
        self.doubt();
        self.change();
    }

    /// The source shows all changes up to a version.
    pub(super) fn reaches(&mut self, version: ResourceVersion) {
        self.timeline.reaches(&version);
        self.version = Some(version);
    }

    /// A list is complete: if it, or an object in it, is older than what was seen before, the API server went back in
    /// time.
    pub(super) fn date(&mut self, version: &ResourceVersion) {
        let items = self.listing.iter().flat_map(|listing| &listing.fresh);
        let mut items = items.filter_map(|item| Some((item, self.view.get(&item.name)?)));
        let is_older = self.timeline.is_older(version)
            || items.any(|(item, old)| {
                item.uid == old.uid && item.version.is_at_least(&old.version) == Some(false)
            });
        if is_older {
            self.metrics.error("went_back");
            self.timeline.went_back(version);
            self.went_back = true;
            self.view.settling = Some(Settling::WentBack);
            self.doubt();
            self.change();
        } else {
            self.timeline.reaches(version);
        }
    }
}
