//! Distributes the endpoints of one port group over slices.
//!
//! It prefers few writes to few slices: slices that are written anyway are filled first, one unchanged slice is updated
//! only if all remaining endpoints fit into it, and otherwise new slices are created.

use std::cmp::Reverse;

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};

use crate::changes::{Packed, Update};
use crate::desired::DesiredSet;
use crate::labels;
use crate::slice::Template;

/// Packs the desired endpoints of one port group into its existing slices, in the given order, and into new ones.
pub(crate) fn pack<'a>(
    template: &Template<'_>,
    ports: &[EndpointPort],
    existing: &[&'a EndpointSlice],
    mut desired: DesiredSet<'a>,
) -> Packed<'a> {
    let mut packed = Packed::default();
    for &slice in existing {
        keep(template, slice, &mut desired, &mut packed);
    }
    packed.added = desired.len();
    let limit = template.config.limit.max(1);
    fill_updates(&mut packed, &mut desired, limit);
    while !desired.is_empty() {
        if let Some(at) = tightest(&packed.unchanged, desired.len(), limit) {
            let of = packed.unchanged.remove(at);
            let mut update = copy(template, of, of.endpoints.clone());
            fill(&mut update.slice, &mut desired, limit);
            packed.updates.push(update);
        } else {
            let mut slice = template.empty(ports.to_vec());
            fill(&mut slice, &mut desired, limit);
            packed.creates.push(slice);
        }
    }
    packed
}

/// Keeps, updates or deletes one existing slice, without regard to the others.
fn keep<'a>(
    template: &Template<'_>,
    slice: &'a EndpointSlice,
    desired: &mut DesiredSet<'a>,
    packed: &mut Packed<'a>,
) {
    let mut changed = false;
    let mut kept = Vec::with_capacity(slice.endpoints.len());
    for existing in &slice.endpoints {
        if let Some(taken) = desired.take(existing) {
            changed |= desired.get(taken).differs_from(existing);
            kept.push(taken);
        }
    }
    let dropped = slice.endpoints.len() - kept.len();
    packed.removed += dropped;
    if changed || dropped > 0 {
        if kept.is_empty() {
            packed.deletes.push(slice);
        } else {
            let endpoints = kept.into_iter().map(|taken| desired.get(taken).build()).collect();
            packed.updates.push(copy(template, slice, endpoints));
        }
    } else if labels::changed(slice, template.service, template.config) {
        packed.updates.push(copy(template, slice, slice.endpoints.clone()));
    } else {
        packed.unchanged.push(slice);
    }
}

/// An update of `of` with the given endpoints and the desired labels.
fn copy<'a>(
    template: &Template<'_>,
    of: &'a EndpointSlice,
    endpoints: Vec<Endpoint>,
) -> Update<'a> {
    let mut slice = EndpointSlice {
        address_type: of.address_type.clone(),
        metadata: of.metadata.clone(),
        ports: of.ports.clone(),
        endpoints,
    };
    slice.metadata.labels = Some(template.labels.clone());
    Update { slice, of, recycled: false }
}

/// Fills slices that are updated anyway, the fullest first, so that as few as possible stay half full.
fn fill_updates(packed: &mut Packed<'_>, desired: &mut DesiredSet<'_>, limit: usize) {
    if desired.is_empty() {
        return;
    }
    packed.updates.sort_by_key(|update| Reverse(update.slice.endpoints.len()));
    for update in &mut packed.updates {
        fill(&mut update.slice, desired, limit);
    }
}

fn fill(slice: &mut EndpointSlice, desired: &mut DesiredSet<'_>, limit: usize) {
    let free = limit.saturating_sub(slice.endpoints.len());
    slice.endpoints.extend(desired.take_first(free).map(crate::Desired::build));
}

/// The position of the fullest unchanged slice that has space for `count` endpoints.
fn tightest(unchanged: &[&EndpointSlice], count: usize, limit: usize) -> Option<usize> {
    if count >= limit {
        return None;
    }
    let sizes = unchanged.iter().map(|slice| slice.endpoints.len()).enumerate();
    let fitting = sizes.filter(|(_, size)| size + count <= limit);
    fitting.max_by_key(|&(at, size)| (size, Reverse(at))).map(|(at, _)| at)
}
