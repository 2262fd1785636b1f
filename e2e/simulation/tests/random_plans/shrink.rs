//! A failing plan without what it does not need to fail.

use crate::act::Act;

/// Leaves out acts as long as the plan still fails the same way.
pub(crate) fn shrink(mut acts: Vec<Act>, mut fails: impl FnMut(&[Act]) -> bool) -> Vec<Act> {
    let mut size = acts.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < acts.len() {
            let mut fewer = acts.clone();
            fewer.drain(at..(at + size).min(acts.len()));
            if !fewer.is_empty() && fails(&fewer) {
                acts = fewer;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    acts
}

#[test]
fn what_is_needed_stays() {
    let acts = vec![Act::Rest, Act::HandOver, Act::Wipe, Act::Rest, Act::Backup, Act::HandOver];
    let fails = |acts: &[Act]| acts.contains(&Act::Wipe) && acts.contains(&Act::Backup);
    assert_eq!(shrink(acts, fails), [Act::Wipe, Act::Backup]);
}
