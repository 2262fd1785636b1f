//! Assigns hints by capacity: every endpoint to its own zone first, then some to zones that have too few.

use std::collections::BTreeMap;

use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::Cause;
use crate::changes::{Packed, Update};
use crate::endpoint::is_ready;

use super::allocation::{Allocation, Refusal, allocate};
use super::balance::balance;
use super::endpoints::{each_written, for_zone, hinted_zones};
use super::zones::{Counts, Zones};

/// Sets the hints of all ready endpoints and returns the counts per zone. On a refusal some slices may have hints, which
/// the caller must clear.
pub(super) fn assign(zones: &Zones, packed: &mut Packed<'_>) -> Result<Counts, Refusal> {
    let allocations = allocate(zones, ready(packed))?;
    let mut counts = keep(&allocations, packed);
    own_zone_first(packed, &mut counts)?;
    let (mut givers, mut takers) = balance(&allocations, &counts);
    redistribute(packed, &mut givers, &mut takers, &mut counts);
    if counts.values().all(|count| *count == 0) {
        return Err(Refusal::new(Cause::NoHintsAllocated));
    }
    Ok(counts)
}

fn ready(packed: &Packed<'_>) -> usize {
    let updates = packed.updates.iter().map(|update| &update.slice);
    let slices = packed.creates.iter().chain(updates).chain(packed.unchanged.iter().copied());
    slices.map(ready_in).sum()
}

/// Number of ready endpoints of a slice.
pub(super) fn ready_in(slice: &EndpointSlice) -> usize {
    slice.endpoints.iter().filter(|endpoint| is_ready(endpoint)).count()
}

/// Counts the hints of unchanged slices; slices with invalid hints become updates.
fn keep(allocations: &BTreeMap<&str, Allocation>, packed: &mut Packed<'_>) -> Counts {
    let mut counts = Counts::new();
    let Packed { unchanged, updates, .. } = packed;
    unchanged.retain(|&of| {
        let Some(more) = hints_of(of, allocations, &counts) else {
            updates.push(Update { slice: of.clone(), of, recycled: false });
            return false;
        };
        for (zone, count) in more {
            *counts.entry(zone.to_owned()).or_default() += count;
        }
        true
    });
    counts
}

/// The hints of a slice per zone; `None` if an endpoint has no hint, or if a zone has no capacity or would get too many.
pub(super) fn hints_of<'a>(
    slice: &'a EndpointSlice,
    allocations: &BTreeMap<&str, Allocation>,
    counts: &Counts,
) -> Option<BTreeMap<&'a str, usize>> {
    let mut found = BTreeMap::new();
    for endpoint in slice.endpoints.iter().filter(|endpoint| is_ready(endpoint)) {
        let zones = hinted_zones(endpoint);
        if zones.is_empty() {
            return None;
        }
        for zone in zones {
            *found.entry(zone.name.as_str()).or_default() += 1;
        }
    }
    let fits = |(zone, count): (&&str, &usize)| {
        let before = counts.get(*zone).copied().unwrap_or_default();
        allocations.get(zone).is_some_and(|allocation| before + count <= allocation.maximum)
    };
    found.iter().all(fits).then_some(found)
}

fn own_zone_first(packed: &mut Packed<'_>, counts: &mut Counts) -> Result<(), Refusal> {
    let mut zoneless = false;
    each_written(packed, |endpoint| {
        if !is_ready(endpoint) {
            return;
        }
        match &endpoint.zone {
            Some(zone) if !zone.is_empty() => {
                *counts.entry(zone.clone()).or_default() += 1;
                endpoint.hints = Some(for_zone(zone));
            }
            _ => zoneless = true,
        }
    });
    if zoneless { Err(Refusal::new(Cause::EndpointWithoutZone)) } else { Ok(()) }
}

/// Moves endpoints from zones with too many to zones with too few, in the order of their names.
pub(super) fn redistribute(
    packed: &mut Packed<'_>,
    givers: &mut Counts,
    takers: &mut Counts,
    counts: &mut Counts,
) {
    each_written(packed, |endpoint| {
        let Some(zone) = endpoint.zone.as_ref().filter(|_| is_ready(endpoint)) else { return };
        let Some(giver) = givers.get_mut(zone).filter(|left| **left > 0) else { return };
        let Some((taker, missing)) = takers.iter_mut().find(|(_, left)| **left > 0) else { return };
        *giver -= 1;
        *missing -= 1;
        *counts.entry(zone.clone()).or_default() -= 1;
        *counts.entry(taker.clone()).or_default() += 1;
        endpoint.hints = Some(for_zone(taker));
    });
}
