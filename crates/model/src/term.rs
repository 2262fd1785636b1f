//! Terms that are counted from times which objects carry, so that a restart does not start them anew.

use std::time::Duration;

use jiff::Timestamp;

/// What is left of a term that began at `since`; `None` when it is over.
///
/// Nothing is left either where `since` lies as far ahead as the term is long: whoever wrote it has a
/// clock that this one cannot be compared with.
pub fn left(since: Timestamp, term: Duration, now: Timestamp) -> Option<Duration> {
    let left = Duration::try_from(since.checked_add(term).ok()?.duration_since(now)).ok()?;
    (!left.is_zero() && left < 2 * term).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_is_over_in_time_and_never_begins_far_ahead() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let left = |since, now| left(at(since), Duration::from_secs(5), at(now));
        assert_eq!(left(100, 100), Some(Duration::from_secs(5)));
        assert_eq!(left(100, 104), Some(Duration::from_secs(1)));
        assert_eq!(left(100, 105), None);
        assert_eq!(left(100, 1_000), None);
        assert_eq!(left(104, 100), Some(Duration::from_secs(9)));
        assert_eq!(left(105, 100), None);
    }
}
