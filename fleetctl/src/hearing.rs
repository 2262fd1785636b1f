//! Until when the hub was followed: what members write there gets older in the eyes of this program alone while it is not.
//!
//! A hub that does not answer, or a machine that was asleep, shows nothing of members. When the hub is back, members are given the time
//! of a heartbeat to be back, too.

use std::time::Duration;

use jiff::Timestamp;

/// The time in which each member has written to a hub that is back: more than a heartbeat takes by default.
const RETURN: Duration = Duration::from_secs(90);
/// More than any pause between two looks of a program that runs.
const GAP: Duration = Duration::from_secs(30);

/// Until when the hub was followed.
#[derive(Debug, Default)]
pub(crate) struct Hearing {
    last: Option<Look>,
}

#[derive(Clone, Copy, Debug)]
struct Look {
    at: Duration,
    /// Since when the hub has been followed without a gap; `None` while it is not.
    followed: Option<Duration>,
    /// The wall clock when it last was for long enough.
    heard: Timestamp,
}

impl Hearing {
    /// Notes a look, `at` a moment of a clock that goes on while the machine is asleep. Returns until when the hub was followed.
    pub(crate) fn look(&mut self, at: Duration, now: Timestamp, is_followed: bool) -> Timestamp {
        let Some(last) = self.last else {
            // All there is was listed just now, and is as it is.
            let followed = is_followed.then(|| at.saturating_sub(RETURN));
            self.last = Some(Look { at, followed, heard: now });
            return now;
        };
        let was_awake = at.saturating_sub(last.at) < GAP;
        let followed = last.followed.filter(|_| was_awake).unwrap_or(at);
        let followed = is_followed.then_some(followed);
        let is_steady = followed.is_some_and(|since| at.saturating_sub(since) >= RETURN);
        let heard = if is_steady { now } else { last.heard };
        self.last = Some(Look { at, followed, heard });
        heard
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks, a second each, from this one on; until when the hub was followed at the last of them.
    fn looks(hearing: &mut Hearing, seconds: std::ops::Range<u64>, is_followed: bool) -> i64 {
        let look = |second| {
            let now = Timestamp::from_second(i64::try_from(second).unwrap()).unwrap();
            hearing.look(Duration::from_secs(second), now, is_followed).as_second()
        };
        seconds.map(look).last().unwrap()
    }

    #[test]
    fn members_get_older_while_the_hub_is_followed() {
        let mut hearing = Hearing::default();
        assert_eq!(looks(&mut hearing, 1000..1001, true), 1000, "the only look of a command");
        assert_eq!(looks(&mut hearing, 1001..1100, true), 1099);
    }

    #[test]
    fn a_hub_that_is_back_says_nothing_before_members_are_back() {
        let mut hearing = Hearing::default();
        looks(&mut hearing, 1000..1100, true);
        assert_eq!(looks(&mut hearing, 1100..2000, false), 1099);
        assert_eq!(looks(&mut hearing, 2000..2090, true), 1099);
        assert_eq!(looks(&mut hearing, 2090..2091, true), 2090);
    }

    #[test]
    fn a_machine_that_was_asleep_has_heard_nothing() {
        let mut hearing = Hearing::default();
        looks(&mut hearing, 1000..1100, true);
        assert_eq!(looks(&mut hearing, 5000..5090, true), 1099);
        assert_eq!(looks(&mut hearing, 5090..5091, true), 5090);
    }
}
