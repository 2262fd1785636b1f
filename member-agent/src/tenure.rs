//! What a process remembers about the record of its cluster, which no snapshot shows.
//!
//! It is the only thing beside snapshot, settings and time that a plan depends on: a record that is gone does not show
//! which cluster was the recorded one a moment ago.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, Ordering};
use std::time::Duration;

use jiff::Timestamp;

use crate::fence::Fence;

/// How long an agent waits for its own record. A hub that accepts none, for example because the member's namespace is being
/// deleted, does not keep the agent from withdrawing what is there.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// When an agent records its cluster again whose record was deleted: an administrator may be about to record another one. One that went
/// with the hub's data nobody has deleted: that cluster is recorded again at once.
pub(crate) const RENEWAL: Duration = Duration::from_secs(5);

/// When an agent records its cluster after the record of another one was deleted. That one comes first, so that a loss of the
/// hub's data gives the name to no other cluster.
pub(crate) const SUCCESSION: Duration = Duration::from_mins(1);

/// No record was seen.
const NONE: u8 = 0;
/// The last record that was seen was that of this cluster.
const OWN: u8 = 1;
/// The last record that was seen was that of another cluster.
const OTHER: u8 = 2;

/// No time.
const NEVER: i64 = i64::MIN;

/// Whether an agent may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permit {
    /// It may.
    Open,
    /// It may record its cluster, and write in this time at the latest.
    Wait(Duration),
    /// It may not.
    Closed,
}

/// What a process remembers.
#[derive(Debug)]
pub(crate) struct Tenure {
    /// Whose record was seen last.
    last: AtomicU8,
    /// Since when there is no record, in milliseconds.
    free_since: AtomicI64,
    /// Whether the record of this cluster went as the hub became another one.
    lost: AtomicBool,
    /// Whether it was recorded again since then: who deletes it now is an administrator.
    renewed: AtomicBool,
}

impl Default for Tenure {
    fn default() -> Self {
        Self {
            last: AtomicU8::new(NONE),
            free_since: AtomicI64::new(NEVER),
            lost: AtomicBool::new(false),
            renewed: AtomicBool::new(false),
        }
    }
}

impl Tenure {
    /// Whether the agent may write, and remembers what it takes to answer that next time. The same question at the same
    /// time has the same answer. `hub_settles`: the hub has just become another one, or an earlier one.
    pub(crate) fn permit(&self, fence: &Fence, hub_settles: bool, now: Timestamp) -> Permit {
        self.follow_loss(fence, hub_settles);
        match fence {
            Fence::Free if self.last() == OWN => return Permit::Open,
            Fence::Free => return self.wait(now.as_millisecond()),
            Fence::Ours => self.last.store(OWN, Ordering::Relaxed),
            Fence::Taken(_) => self.last.store(OTHER, Ordering::Relaxed),
            Fence::Unknown | Fence::Unrecorded(_) => {}
        }
        self.free_since.store(NEVER, Ordering::Relaxed);
        match fence {
            Fence::Ours | Fence::Unrecorded(_) => Permit::Open,
            Fence::Unknown | Fence::Free | Fence::Taken(_) => Permit::Closed,
        }
    }

    /// How long there must be no record before the agent records its cluster.
    pub(crate) fn delay(&self) -> Duration {
        match self.last() {
            OWN if self.lost.load(Ordering::Relaxed) => Duration::ZERO,
            OWN => RENEWAL,
            OTHER => SUCCESSION,
            _ => Duration::ZERO,
        }
    }

    fn follow_loss(&self, fence: &Fence, hub_settles: bool) {
        if !hub_settles {
            self.renewed.store(false, Ordering::Relaxed);
        }
        match fence {
            Fence::Free if hub_settles && !self.renewed.load(Ordering::Relaxed) => {
                self.lost.store(true, Ordering::Relaxed);
            }
            Fence::Ours => {
                let lost = self.lost.swap(false, Ordering::Relaxed);
                self.renewed.fetch_or(lost && hub_settles, Ordering::Relaxed);
            }
            Fence::Taken(_) => self.lost.store(false, Ordering::Relaxed),
            Fence::Free | Fence::Unknown | Fence::Unrecorded(_) => {}
        }
    }

    fn last(&self) -> u8 {
        self.last.load(Ordering::Relaxed)
    }

    fn wait(&self, now: i64) -> Permit {
        let since = self.free_since.load(Ordering::Relaxed);
        // A clock that was set back starts the time anew.
        let since = if since == NEVER || since > now { now } else { since };
        self.free_since.store(since, Ordering::Relaxed);
        let waited = Duration::from_millis(now.saturating_sub(since).unsigned_abs());
        match (PATIENCE + self.delay()).checked_sub(waited).filter(|rest| !rest.is_zero()) {
            Some(rest) => Permit::Wait(rest),
            None => Permit::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fence::{Taken, Unrecorded};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_767_225_600 + second).unwrap()
    }

    fn wait(seconds: u64) -> Permit {
        Permit::Wait(Duration::from_secs(seconds))
    }

    fn taken() -> Fence {
        Fence::Taken(Taken { member: "a".into(), own: "1".into(), recorded: "2".into() })
    }

    #[test]
    fn without_a_record_it_waits_for_a_while() {
        let tenure = Tenure::default();
        for (second, permit) in [(0, wait(10)), (0, wait(10)), (9, wait(1)), (10, Permit::Open)] {
            assert_eq!(tenure.permit(&Fence::Free, false, at(second)), permit, "{second}");
        }
        assert_eq!(
            tenure.permit(&Fence::Free, false, at(-100)),
            wait(10),
            "the clock was set back"
        );
        assert_eq!(tenure.delay(), Duration::ZERO);
    }

    #[test]
    fn a_cluster_that_was_recorded_continues_without_its_record() {
        let tenure = Tenure::default();
        assert_eq!(tenure.permit(&Fence::Ours, false, at(0)), Permit::Open);
        assert_eq!(tenure.permit(&Fence::Free, false, at(1)), Permit::Open);
        assert_eq!(tenure.delay(), RENEWAL);
    }

    #[test]
    fn a_record_that_went_with_the_hub_is_renewed_at_once_and_one_that_is_deleted_then_is_not() {
        let tenure = Tenure::default();
        for (fence, hub_settles, delay) in [
            (Fence::Ours, false, RENEWAL),
            (Fence::Ours, true, RENEWAL),
            (Fence::Free, true, Duration::ZERO),
            (Fence::Free, false, Duration::ZERO),
            (Fence::Ours, true, RENEWAL),
            (Fence::Free, true, RENEWAL),
            (Fence::Ours, false, RENEWAL),
            (Fence::Free, false, RENEWAL),
            (Fence::Free, true, Duration::ZERO),
        ] {
            assert_eq!(tenure.permit(&fence, hub_settles, at(0)), Permit::Open);
            assert_eq!(tenure.delay(), delay, "{fence:?} {hub_settles}");
        }
    }

    #[test]
    fn a_new_hub_gives_the_name_to_no_other_cluster() {
        let tenure = Tenure::default();
        assert_eq!(tenure.permit(&taken(), true, at(0)), Permit::Closed);
        assert_eq!(tenure.permit(&Fence::Free, true, at(1)), wait(70));
        assert_eq!(tenure.delay(), SUCCESSION);
    }

    #[test]
    fn another_cluster_leaves_the_recorded_one_time_to_come_back() {
        let tenure = Tenure::default();
        assert_eq!(tenure.permit(&Fence::Ours, false, at(0)), Permit::Open);
        assert_eq!(tenure.permit(&taken(), false, at(1)), Permit::Closed);
        assert_eq!(tenure.permit(&Fence::Free, false, at(2)), wait(70));
        assert_eq!(tenure.permit(&Fence::Free, false, at(62)), wait(10), "it is recorded first");
        assert_eq!(tenure.delay(), SUCCESSION);
    }

    #[test]
    fn where_nothing_can_be_recorded_it_continues() {
        let tenure = Tenure::default();
        for why in [Unrecorded::NotServed, Unrecorded::Forbidden, Unrecorded::NoUid] {
            assert_eq!(tenure.permit(&Fence::Unrecorded(why), false, at(0)), Permit::Open);
        }
        assert_eq!(tenure.permit(&Fence::Unknown, false, at(0)), Permit::Closed);
    }
}
