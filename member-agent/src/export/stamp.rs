//! The time since which something is exported, from which latency is measured.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// How far a recorded time may be in the future: an earlier process may have had another clock. A later time is
/// ignored.
const SKEW: SignedDuration = SignedDuration::from_mins(1);

/// The time since which something is exported, given the time `noted` on the hub. If it is still the `same`, it keeps
/// its time; otherwise the new time is never older, even if the clock was set back a little.
pub(super) fn since(noted: Option<&Time>, same: bool, now: Timestamp) -> Timestamp {
    let known = noted.map(|noted| noted.0).filter(|noted| noted.duration_since(now) <= SKEW);
    match known {
        Some(known) if same => known,
        Some(known) => known.max(now),
        None => now,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    /// M6: the time changes with the generation only, never decreases, and lies in no future that
    /// clocks do not explain.
    #[test]
    fn times_stay_grow_and_are_believable() {
        for (noted, same, expected) in [
            (None, true, 0),
            (Some(-50), true, -50),
            (Some(-50), false, 0),
            // The clock was set back, or belongs to another node.
            (Some(30), true, 30),
            (Some(30), false, 30),
            (Some(60), false, 60),
            (Some(61), true, 0),
            (Some(3600), false, 0),
        ] {
            let noted_at = noted.map(|second| Time(at(second)));
            assert_eq!(since(noted_at.as_ref(), same, at(0)), at(expected), "{noted:?} {same}");
        }
    }
}
