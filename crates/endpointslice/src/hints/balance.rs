//! Which zones have too many endpoints, and which too few.

use std::collections::BTreeMap;

use super::allocation::{Allocation, float};
use super::zones::Counts;

/// How many endpoints each zone gives, and how many each takes.
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

/// `lacking` says what each zone lacks; below zero it has too many.
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

/// The zone with most to give and the one that lacks most, unless a move would not help: it must bring one of them at
/// least one endpoint nearer, and neither farther away.
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
