//! What a process remembers about the record of its cluster, which no snapshot shows.
//!
//! It is the only thing beside snapshot, settings and time that a plan depends on: a record that is gone does not show
//! which cluster was the recorded one a moment ago.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, Ordering};
use std::time::{Duration, Instant};

use fleet_accumulator::{Snapshot as _, SourceSet};
use jiff::Timestamp;
use parking_lot::Mutex;

use crate::fence::Fence;
use crate::snapshot::MemberSnapshot;

/// How long an agent waits for its own record. A hub that accepts none, for example because the member's namespace is being
/// deleted, does not keep the agent from withdrawing what is there.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// When an agent records its cluster again whose record was deleted: an administrator may be about to record another one. One that went
/// with the hub's data was not deleted by one: that cluster is recorded again at once.
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

/// What is known of the records on the hub, beside their content.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Records {
    /// When the last complete list was begun.
    pub(crate) listed: Option<Instant>,
    /// Whether the hub has just become another one, or an earlier one.
    pub(crate) hub_settles: bool,
}

impl Records {
    /// What a snapshot shows.
    pub(crate) fn of(snapshot: &MemberSnapshot) -> Self {
        let reports = SourceSet::from([MemberSnapshot::cluster_reports()]);
        let listed = snapshot.cluster_reports.listed();
        Self { listed, hub_settles: snapshot.is_settling(reports) }
    }
}

/// What a process remembers.
#[derive(Debug)]
pub(crate) struct Tenure {
    /// Whose record was seen last.
    last: AtomicU8,
    /// Since when there is no record, in milliseconds.
    free_since: AtomicI64,
    /// The list of records that showed that of this cluster last.
    listed: Mutex<Option<Instant>>,
    /// Whether the record of this cluster went with the hub's data.
    lost: AtomicBool,
}

impl Default for Tenure {
    fn default() -> Self {
        Self {
            last: AtomicU8::new(NONE),
            free_since: AtomicI64::new(NEVER),
            listed: Mutex::new(None),
            lost: AtomicBool::new(false),
        }
    }
}

impl Tenure {
    /// Whether the agent may write, and remembers what it takes to answer that next time. The same question at the same
    /// time has the same answer.
    pub(crate) fn permit(&self, fence: &Fence, records: Records, now: Timestamp) -> Permit {
        self.follow_loss(fence, records);
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

    /// A record that goes with the hub's data is missing in a list of another hub, or of an earlier one. Who deletes it does so after it
    /// was listed.
    fn follow_loss(&self, fence: &Fence, records: Records) {
        let mut listed = self.listed.lock();
        if *fence == Fence::Ours {
            *listed = records.listed;
        }
        let lost = *fence == Fence::Free && records.hub_settles && *listed != records.listed;
        self.lost.store(lost, Ordering::Relaxed);
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
            assert_eq!(
                tenure.permit(&Fence::Free, Records::default(), at(second)),
                permit,
                "{second}"
            );
        }
        assert_eq!(
            tenure.permit(&Fence::Free, Records::default(), at(-100)),
            wait(10),
            "the clock was set back"
        );
        assert_eq!(tenure.delay(), Duration::ZERO);
    }

    #[test]
    fn a_cluster_that_was_recorded_continues_without_its_record() {
        let tenure = Tenure::default();
        assert_eq!(tenure.permit(&Fence::Ours, Records::default(), at(0)), Permit::Open);
        assert_eq!(tenure.permit(&Fence::Free, Records::default(), at(1)), Permit::Open);
        assert_eq!(tenure.delay(), RENEWAL);
    }

    #[test]
    fn a_record_that_went_with_the_hub_is_renewed_at_once_and_one_that_is_deleted_is_not() {
        let (tenure, begin) = (Tenure::default(), Instant::now());
        for (fence, list, hub_settles, delay) in [
            (Fence::Ours, 0, false, RENEWAL),
            (Fence::Free, 0, false, RENEWAL),
            (Fence::Free, 0, true, RENEWAL),
            (Fence::Ours, 1, true, RENEWAL),
            (Fence::Free, 1, true, RENEWAL),
            (Fence::Free, 2, false, RENEWAL),
            (Fence::Free, 2, true, Duration::ZERO),
            (Fence::Ours, 2, true, RENEWAL),
            (Fence::Free, 2, true, RENEWAL),
        ] {
            let listed = Some(begin + Duration::from_secs(list));
            let records = Records { listed, hub_settles };
            assert_eq!(tenure.permit(&fence, records, at(0)), Permit::Open);
            assert_eq!(tenure.delay(), delay, "{fence:?} {list} {hub_settles}");
        }
    }

    #[test]
    fn a_new_hub_gives_the_name_to_no_other_cluster() {
        let (tenure, listed) = (Tenure::default(), Some(Instant::now()));
        assert_eq!(tenure.permit(&taken(), Records::default(), at(0)), Permit::Closed);
        let records = Records { listed, hub_settles: true };
        assert_eq!(tenure.permit(&Fence::Free, records, at(1)), wait(70));
        assert_eq!(tenure.delay(), SUCCESSION);
    }

    #[test]
    fn another_cluster_leaves_the_recorded_one_time_to_come_back() {
        let tenure = Tenure::default();
        assert_eq!(tenure.permit(&Fence::Ours, Records::default(), at(0)), Permit::Open);
        assert_eq!(tenure.permit(&taken(), Records::default(), at(1)), Permit::Closed);
        assert_eq!(tenure.permit(&Fence::Free, Records::default(), at(2)), wait(70));
        assert_eq!(
            tenure.permit(&Fence::Free, Records::default(), at(62)),
            wait(10),
            "it is recorded first"
        );
        assert_eq!(tenure.delay(), SUCCESSION);
    }

    #[test]
    fn where_nothing_can_be_recorded_it_continues() {
        let tenure = Tenure::default();
        for why in [Unrecorded::NotServed, Unrecorded::Forbidden, Unrecorded::NoUid] {
            assert_eq!(
                tenure.permit(&Fence::Unrecorded(why), Records::default(), at(0)),
                Permit::Open
            );
        }
        assert_eq!(tenure.permit(&Fence::Unknown, Records::default(), at(0)), Permit::Closed);
    }
}
