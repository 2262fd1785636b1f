//! A source whose API server went back in time, as after a restore of its store.
//!
//! The older state lacks what was written since, and no event reports it: resourceVersions that were seen come again for
//! other objects, and a watch from one that is not reached yet is silent until it is. The writers of what is missing write
//! it again within seconds; until they had the time, absence proves nothing.

use std::time::{Duration, Instant};

use crate::ResourceVersion;
use crate::reached::Newest;

/// The time of a source's API server, as far as it is known.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    /// The newest version that was seen, by this process or one before.
    newest: Newest,
    trust: Trust,
    /// It went back in time, whatever its next list shows.
    diverged: bool,
}

/// Whether absence from a source proves anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Trust {
    /// It does: the server did not go back in time, or that is long ago.
    #[default]
    Whole,
    /// The server went back in time, and the source is not live.
    Broken,
    /// The server went back in time, and the source has been live without a break since then.
    Since(Instant),
}

impl Timeline {
    /// One that begins where another process has ended, if that has handed on how far it came.
    pub(super) fn since(newest: Newest) -> Self {
        Self { newest, ..Self::default() }
    }

    /// Takes note of a version up to which the source shows all changes.
    pub(super) fn reaches(&mut self, version: &ResourceVersion) {
        self.newest.reaches(version);
    }

    /// Whether a version that the server has now is older than one that it had before.
    pub(super) fn is_older(&self, version: &ResourceVersion) -> bool {
        self.newest.is_after(version)
    }

    /// The same as [`Self::reaches`] of a list that was begun at `begun`.
    pub(super) fn reaches_list(&mut self, version: &ResourceVersion, begun: Instant) {
        self.newest.reaches_list(version, begun);
    }

    /// The server went back in time: the next list counts as older, though the server may have written as much again by then.
    pub(super) fn diverges(&mut self) {
        (self.diverged, self.trust) = (true, Trust::Broken);
    }

    /// The same of a list that was begun at `begun`: what another process has seen counts, too.
    pub(super) fn is_older_list(&mut self, version: &ResourceVersion, begun: Instant) -> bool {
        std::mem::take(&mut self.diverged) || self.newest.is_after_list(version, begun)
    }

    /// The server went back to `version`: what is absent from now on may only be absent for a while.
    pub(super) fn went_back(&mut self, version: &ResourceVersion) {
        self.newest.goes_back(version);
        self.trust = Trust::Broken;
    }

    /// Another server answers.
    pub(super) fn is_another(&mut self) {
        self.newest.forget();
        (self.trust, self.diverged) = (Trust::Broken, false);
    }

    /// Follows whether the source is live.
    pub(super) fn follow(&mut self, is_live: bool, now: Instant) {
        self.trust = match self.trust {
            Trust::Broken if is_live => Trust::Since(now),
            Trust::Since(_) if !is_live => Trust::Broken,
            same => same,
        };
    }

    /// When the source has been live for long enough to be trusted again.
    pub(super) fn settled_at(&self, after: Duration) -> Option<Instant> {
        match self.trust {
            Trust::Since(since) => Some(since + after),
            Trust::Whole | Trust::Broken => None,
        }
    }

    /// The source is trusted again.
    pub(super) fn settled(&mut self) {
        self.newest.settles();
        self.trust = Trust::Whole;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_comparable_older_version_is_older() {
        let mut timeline = Timeline::default();
        assert!(!timeline.is_older(&"1".into()));
        timeline.reaches(&"10".into());
        timeline.reaches(&"9".into());
        assert!(timeline.is_older(&"9".into()));
        for version in ["10", "11", "/openapi/v3"] {
            assert!(!timeline.is_older(&version.into()), "{version}");
        }
    }

    #[test]
    fn a_break_starts_the_wait_again() {
        let (mut timeline, begin, second) =
            (Timeline::default(), Instant::now(), Duration::from_secs(1));
        timeline.follow(true, begin);
        assert_eq!(timeline.settled_at(second), None, "it never went back");
        timeline.went_back(&"5".into());
        assert_eq!(timeline.settled_at(second), None, "it is not live");
        timeline.follow(true, begin);
        timeline.follow(true, begin + second);
        assert_eq!(timeline.settled_at(second), Some(begin + second));
        timeline.follow(false, begin + second);
        timeline.follow(true, begin + 2 * second);
        assert_eq!(timeline.settled_at(second), Some(begin + 3 * second));
        timeline.settled();
        assert_eq!(timeline.settled_at(second), None);
    }
}
