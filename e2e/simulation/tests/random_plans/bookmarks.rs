//! What API servers let watches know once a minute, though nothing of theirs changes: the version that they are at.

use std::collections::VecDeque;
use std::time::Duration;

/// How old the last bookmark of a watch is at most (`bookmarkFrequency` of kube-apiserver).
pub(crate) const BOOKMARK_EVERY: Duration = Duration::from_mins(1);

/// The versions of a server in the last minute, and those of its earlier store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bookmarks {
    /// The first is as old as a bookmark may be, or is the oldest.
    versions: VecDeque<(Duration, u64)>,
    now: Duration,
    /// When the store was replaced, and the version that every watch of the earlier one had seen by then.
    replaced: Option<(Duration, u64)>,
}

impl Bookmarks {
    /// The server was at this version then. Times only rise.
    pub(crate) fn note(&mut self, now: Duration, version: u64) {
        self.now = now;
        if self.versions.back().is_none_or(|(_, last)| *last != version) {
            self.versions.push_back((now, version));
        }
        while self.versions.get(1).is_some_and(|(at, _)| *at + BOOKMARK_EVERY <= now) {
            self.versions.pop_front();
        }
    }

    /// Another store takes the place of the one until now.
    pub(crate) fn replace(&mut self) {
        let oldest = self.versions.front();
        let seen = oldest.filter(|(at, _)| *at + BOOKMARK_EVERY <= self.now);
        self.replaced = Some((self.now, seen.map_or(0, |(_, version)| *version)));
        self.versions.clear();
    }

    /// The version that a watch had seen when the store was replaced, if it worked since `since`.
    pub(crate) fn seen(&self, since: Duration) -> Option<u64> {
        let (at, version) = self.replaced?;
        (since + BOOKMARK_EVERY <= at).then_some(version)
    }
}

#[test]
fn a_watch_has_seen_what_is_a_minute_old() {
    let at = Duration::from_secs;
    let mut bookmarks = Bookmarks::default();
    for (time, version) in [(0, 5), (10, 5), (30, 6), (70, 7), (75, 8)] {
        bookmarks.note(at(time), version);
    }
    assert_eq!(bookmarks.seen(at(0)), None, "the store is the first one");
    bookmarks.replace();
    assert_eq!(bookmarks.seen(at(0)), Some(5));
    assert_eq!(bookmarks.seen(at(15)), Some(5));
    assert_eq!(bookmarks.seen(at(16)), None, "it was silent when the last one came");
    bookmarks.note(at(80), 3);
    bookmarks.note(at(90), 4);
    bookmarks.replace();
    assert_eq!(bookmarks.seen(at(0)), Some(0), "the store was not a minute old");
}
