//! What no Pod wants any more.

use std::collections::BTreeSet;

use super::*;

fn uids(range: std::ops::Range<usize>) -> BTreeSet<String> {
    range.map(|at| format!("u{at:03}")).collect()
}

fn found(present: usize, wanted: usize, complete: u64, relisted: bool) -> Leftovers {
    let complete = Some(Duration::from_secs(complete));
    leftovers(&uids(0..present), &uids(0..wanted), complete, relisted, Fuse::default())
}

#[test]
fn what_is_left_over_is_stopped_once_the_view_is_settled() {
    assert_eq!(found(10, 8, 60, false).stop, uids(8..10));
    let early = found(10, 8, 59, false);
    assert_eq!(
        (early.stop.len(), early.withheld, early.again_after),
        (0, 2, Some(Duration::from_secs(1)))
    );
    let none = leftovers(&uids(0..9), &uids(0..0), None, true, Fuse::default());
    assert_eq!((none.stop.len(), none.withheld), (0, 9));
}

/// After a long outage, or with the data of another cluster, nearly everything looks left over.
#[test]
fn much_at_once_is_withheld() {
    let much = found(100, 50, 120, true);
    assert_eq!((much.stop.len(), much.withheld), (0, 50));
    assert_eq!(much.again_after, Some(Duration::from_mins(8)));
    assert_eq!(found(100, 50, 600, true).stop.len(), 50, "a second list shows the same");
    let unconfirmed = found(100, 50, 6000, false);
    assert_eq!(
        (unconfirmed.stop.len(), unconfirmed.again_after),
        (0, Some(Duration::from_mins(1)))
    );
    assert_eq!(found(100, 70, 60, false).stop.len(), 30, "at most so many in a hundred");
    assert_eq!(found(5, 0, 60, false).stop.len(), 5, "few are no mass");
    assert_eq!(found(6, 0, 60, false).stop.len(), 0);
}

#[test]
fn what_is_wanted_is_never_left_over() {
    let all = uids(0..20);
    assert_eq!(leftovers(&all, &all, Some(LONG), true, Fuse::default()), Leftovers::default());
    assert_eq!(
        leftovers(&BTreeSet::new(), &all, Some(LONG), true, Fuse::default()),
        Leftovers::default()
    );
}
