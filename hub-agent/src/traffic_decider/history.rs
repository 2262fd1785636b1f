use std::time::Duration;

use fleet_api::traffic::{FleetTrafficPhase, FleetTrafficStatus};

/// Shortest time between two new epochs: as long as a hub counts as one that went back lately. Between a second restore and its epoch
/// members would believe what was published before that.
const BETWEEN_EPOCHS: Duration = Duration::from_mins(1);
/// The same of a hub that goes back again and again, for which each wait is twice the last: members can publish nothing within a
/// minute, and it would be rebuilt for ever.
const BETWEEN_EPOCHS_AT_MOST: Duration = Duration::from_mins(10);
/// How long members have to publish to a new incarnation of the hub.
const REBUILDING_FOR: Duration = Duration::from_mins(5);

/// How often the hub went back in its own history.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// The highest epoch that this process knows: a restored backup has an earlier one.
    highest: i64,
    went_back: bool,
    /// Whether an epoch has to begin.
    due: bool,
    /// When the last one began, and how long the next has to wait from then.
    raised: Option<(Duration, Duration)>,
    /// The epoch whose rebuilding this process sees, and since when.
    rebuilding_since: Option<(i64, Duration)>,
}

impl History {
    /// How long an epoch that begins now lasts at least: longer each time, until there was none for a while.
    fn next_wait(&self, now: Duration) -> Duration {
        let again = self.raised.filter(|(raised, _)| now < *raised + 2 * BETWEEN_EPOCHS_AT_MOST);
        again.map_or(BETWEEN_EPOCHS, |(_, wait)| (2 * wait).min(BETWEEN_EPOCHS_AT_MOST))
    }

    /// The epoch and phase that are to be stored; no phase before a hub has members. `went_back` is whether versions of the API
    /// server went back lately, `reported` the epoch that members have seen before they did, `complete` whether all members have
    /// published to the incarnation of an epoch, and `None` where there are none.
    pub(super) fn next(
        &mut self,
        stored: &FleetTrafficStatus,
        went_back: bool,
        reported: Option<i64>,
        complete: impl Fn(i64) -> Option<bool>,
        now: Duration,
    ) -> (i64, Option<FleetTrafficPhase>) {
        self.highest = self.highest.max(stored.epoch).max(reported.unwrap_or_default());
        let went_back = went_back || reported.is_some();
        self.due |= went_back && !std::mem::replace(&mut self.went_back, went_back);
        self.went_back = went_back;
        if self.due && self.raised.is_none_or(|(raised, wait)| now >= raised + wait) {
            self.due = false;
            self.raised = Some((now, self.next_wait(now)));
            self.highest = self.highest.saturating_add(1);
            self.rebuilding_since = Some((self.highest, now));
        }
        // Another process may have begun a later epoch meanwhile, which has a time of its own.
        self.rebuilding_since = match self.rebuilding_since {
            Some((epoch, _)) if epoch != self.highest => {
                (self.highest > stored.epoch).then_some((self.highest, now))
            }
            same => same,
        };
        let complete = complete(self.highest);
        if complete.is_none() && stored.phase.is_none() {
            return (self.highest, None);
        }
        // One without a phase is new: that of a hub that was rebuilt is, too.
        if stored.phase.is_none_or(|phase| phase == FleetTrafficPhase::Rebuilding) {
            self.rebuilding_since.get_or_insert((self.highest, now));
        }
        let is_over = |since: Duration| now >= since + REBUILDING_FOR || complete != Some(false);
        self.rebuilding_since = self.rebuilding_since.filter(|(_, since)| !is_over(*since));
        let phase = match self.rebuilding_since {
            Some(_) => FleetTrafficPhase::Rebuilding,
            None => FleetTrafficPhase::Settled,
        };
        (self.highest, Some(phase))
    }
}
