use std::time::Duration;

use fleet_api::traffic::{FleetTrafficPhase, FleetTrafficStatus};

/// Shortest time between two new epochs.
const BETWEEN_EPOCHS: Duration = Duration::from_mins(10);
/// How long members have to publish to a new incarnation of the hub.
const REBUILDING_FOR: Duration = Duration::from_mins(5);

/// How often the hub went back in its own history.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// The highest epoch that this process knows: a restored backup has an earlier one.
    highest: i64,
    went_back: bool,
    /// Since when an epoch has to begin: the hub went back, again perhaps.
    due: Option<Duration>,
    raised: Option<Duration>,
    /// The epoch whose rebuilding this process sees, and since when.
    rebuilding_since: Option<(i64, Duration)>,
}

impl History {
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
        if went_back && !std::mem::replace(&mut self.went_back, went_back) {
            self.due = Some(now);
        }
        self.went_back = went_back;
        if self.due.is_some() && self.raised.is_none_or(|raised| now >= raised + BETWEEN_EPOCHS) {
            self.due = None;
            self.raised = Some(now);
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
        // Until the epoch that is due may begin, what members have published to the present one may be what the hub has lost since.
        let is_due = self.due.is_some_and(|since| now < since + REBUILDING_FOR);
        let phase = if is_due || self.rebuilding_since.is_some() {
            FleetTrafficPhase::Rebuilding
        } else {
            FleetTrafficPhase::Settled
        };
        (self.highest, Some(phase))
    }
}
