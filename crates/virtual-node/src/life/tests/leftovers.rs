//! What no Pod wants any more.

use super::*;

fn found(left: usize, all: usize, complete: u64, relisted: bool) -> Leftover {
    leftover((left, all), Some(Duration::from_secs(complete)), relisted, Fuse::default())
}

#[test]
fn what_is_left_over_is_stopped_once_the_view_is_settled() {
    assert_eq!(found(2, 10, 60, false), Leftover::Stop);
    assert_eq!(found(2, 10, 59, false), Leftover::Keep(Duration::from_secs(1)));
    assert_eq!(leftover((1, 9), None, true, Fuse::default()), Leftover::Unknown);
}

/// After a long outage, or with the data of another cluster, nearly everything looks left over.
#[test]
fn much_at_once_is_withheld() {
    assert_eq!(found(50, 100, 120, true), Leftover::Keep(Duration::from_mins(8)));
    assert_eq!(found(50, 100, 600, true), Leftover::Stop, "a second list shows the same");
    assert_eq!(found(50, 100, 6000, false), Leftover::Keep(Duration::from_mins(1)));
    assert_eq!(found(30, 100, 60, false), Leftover::Stop, "at most so many in a hundred");
    assert_eq!(found(31, 100, 60, false), Leftover::Keep(Duration::from_mins(9)));
    assert_eq!(found(5, 5, 60, false), Leftover::Stop, "few are no mass");
    assert_eq!(found(6, 6, 60, false), Leftover::Keep(Duration::from_mins(9)));
}
