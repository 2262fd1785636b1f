//! Computes how many endpoints to move between zones.

use std::collections::BTreeMap;

use super::allocation::{Allocation, float};
use super::zones::Counts;

/// Number of endpoints that each zone gives away, and that each zone receives.
pub(super) fn balance(
    allocations: &BTreeMap<&str, Allocation>,
    counts: &Counts,
) -> (Counts, Counts) {
    let desired = allocations.iter().map(|(zone, allocation)| (*zone, allocation.desired));
    let lacking = desired.map(|(zone, desired)| {
        (zone, desired - float(counts.get(zone).copied().unwrap_or_default()))
    });
    moves(lacking.collect())
}

/// Computes the moves from the number of endpoints that each zone lacks; a negative number is an excess.
pub(super) fn moves(mut lacking: BTreeMap<&str, f64>) -> (Counts, Counts) {
    let (mut givers, mut takers) = (Counts::new(), Counts::new());
    while let Some((giver, taker)) = next(&lacking) {
        *givers.entry(giver.to_owned()).or_default() += 1;
        *takers.entry(taker.to_owned()).or_default() += 1;
        lacking.entry(giver).and_modify(|lacks| *lacks += 1.0);
        lacking.entry(taker).and_modify(|lacks| *lacks -= 1.0);
    }
    (givers, takers)
}

/// The zone with the largest excess and the zone that lacks most. `None` if a move would not help: it must bring one of
/// them closer to its share by at least one endpoint, and take neither farther from it.
fn next<'a>(lacking: &BTreeMap<&'a str, f64>) -> Option<(&'a str, &'a str)> {
    let order =
        |a: &(&&'a str, &f64), b: &(&&'a str, &f64)| a.1.total_cmp(b.1).then_with(|| b.0.cmp(a.0));
    let (taker, lacks) = lacking.iter().max_by(order)?;
    let (giver, excess) = lacking.iter().map(|(zone, lacks)| (zone, -lacks)).fold(
        None,
        |most: Option<(&&str, f64)>, (zone, excess)| match most {
            Some((_, known)) if known >= excess => most,
            _ => Some((zone, excess)),
        },
    )?;
    let worth = excess.max(*lacks) >= 1.0 && excess.min(*lacks) >= 0.5;
    worth.then_some((*giver, *taker))
}
