//! Periods that are counted from times which objects carry, so that a restart does not begin them again.

use std::time::Duration;

use jiff::Timestamp;

/// The time that is left of a `period` which began at `since`; `None` when it is over.
///
/// `None` too if `since` is at least a whole `period` ahead of `now`: it was written by a clock that
/// cannot be compared with this one.
pub fn remaining(since: Timestamp, period: Duration, now: Timestamp) -> Option<Duration> {
    let end = since.checked_add(period).ok()?;
    let remaining = Duration::try_from(end.duration_since(now)).ok()?;
    (!remaining.is_zero() && remaining < 2 * period).then_some(remaining)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_ends_in_time_and_never_begins_far_ahead() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let remaining = |since, now| remaining(at(since), Duration::from_secs(5), at(now));
        assert_eq!(remaining(100, 100), Some(Duration::from_secs(5)));
        assert_eq!(remaining(100, 104), Some(Duration::from_secs(1)));
        assert_eq!(remaining(100, 105), None);
        assert_eq!(remaining(100, 1_000), None);
        assert_eq!(remaining(104, 100), Some(Duration::from_secs(9)));
        assert_eq!(remaining(105, 100), None);
    }
}
