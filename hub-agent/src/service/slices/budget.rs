//! How many endpoints a member may export for one Service (`--max-endpoints-per-service`).
//!
//! Slices beyond that are not distributed, the youngest first. Those that importers have stay, because their endpoints
//! serve, up to a multiple of the limit.

use std::collections::{BTreeMap, BTreeSet};

use fleet_accumulator::Uid;
use fleet_api::{ExportedSliceSpec, events};
use fleet_model::steps::HUB;
use fleet_plan::Plan;

use super::origin;
use crate::service::notice::Notices;
use crate::service::state::{ServiceState, SliceExport};

/// How many times as many endpoints slices may have that importers have already: a Service grows past the limit without
/// losing endpoints, as does one that was larger before there was a limit.
const IN_FORCE: usize = 10;

/// Slices of a Service that are not distributed because their members have too many endpoints.
#[derive(Debug, Default)]
pub(in crate::service) struct Surplus<'a> {
    slices: BTreeSet<&'a Uid>,
    members: BTreeMap<&'a str, usize>,
}

impl<'a> Surplus<'a> {
    /// Compares the slices of each member with the limit.
    pub(in crate::service) fn of(state: &ServiceState<'a>) -> Self {
        let limit = state.settings.max_endpoints_per_service;
        let mut surplus = Self::default();
        if total(&state.slice_exports) <= limit {
            return surplus;
        }
        let mut members: BTreeMap<&str, Vec<SliceExport<'a>>> = BTreeMap::new();
        for slice in state.slice_exports.iter().filter(|it| !it.object.meta.is_terminating()) {
            members.entry(slice.member).or_default().push(*slice);
        }
        members.retain(|_, slices| total(slices) > limit);
        for (member, slices) in members {
            let found = surplus_of(state, slices, limit);
            if !found.is_empty() {
                surplus.members.insert(member, found.len());
                surplus.slices.extend(found);
            }
        }
        surplus
    }

    /// Whether a slice is not distributed.
    pub(super) fn includes(&self, slice: &SliceExport<'_>) -> bool {
        self.slices.contains(&slice.object.uid)
    }

    /// Reports to the exports of such members that not all of their endpoints reach importers. Returns the same about each
    /// slice.
    pub(super) fn report(&self, state: &ServiceState<'_>, plan: &mut Plan) -> Notices {
        if self.slices.is_empty() {
            return Notices::new();
        }
        let why = format!(
            "the member exports more than {} endpoints of service {} (--max-endpoints-per-service)",
            state.settings.max_endpoints_per_service, state.service,
        );
        for export in state.live_exports().filter(|it| self.members.contains_key(it.member)) {
            let note = format!("not all of its EndpointSlices are distributed: {why}");
            plan.events.push(HUB.warning(export.object, events::LIMIT_EXCEEDED, note));
        }
        let notice = |slice: &&Uid| (Uid::clone(slice), format!("not distributed: {why}"));
        self.slices.iter().map(notice).collect()
    }

    /// The members that have such slices, each with their number.
    pub(in crate::service) fn members(&self) -> impl Iterator<Item = (&'a str, usize)> {
        self.members.iter().map(|(member, count)| (*member, *count))
    }
}

/// Endpoints of a slice, those that are draining included. A slice without endpoints counts as one: importers get it, too.
pub(in crate::service) fn endpoints(spec: &ExportedSliceSpec) -> usize {
    (spec.endpoints.len() + spec.draining_endpoints.len()).max(1)
}

fn total(slices: &[SliceExport<'_>]) -> usize {
    slices.iter().map(|slice| endpoints(&slice.object.spec)).sum()
}

/// The surplus among the slices of one member, which are sorted, oldest first.
fn surplus_of<'a>(
    state: &ServiceState<'a>,
    slices: Vec<SliceExport<'a>>,
    limit: usize,
) -> Vec<&'a Uid> {
    let (in_force, new): (Vec<_>, Vec<_>) =
        slices.into_iter().partition(|slice| is_in_force(state, slice));
    let mut taken = 0;
    let mut beyond = |slice: &SliceExport<'a>, limit: usize| {
        let fits = taken + endpoints(&slice.object.spec) <= limit;
        taken += if fits { endpoints(&slice.object.spec) } else { 0 };
        (!fits).then_some(&slice.object.uid)
    };
    let most = limit.saturating_mul(IN_FORCE);
    let mut surplus: Vec<_> = in_force.iter().filter_map(|slice| beyond(slice, most)).collect();
    surplus.extend(new.iter().filter_map(|slice| beyond(slice, limit)));
    surplus
}

/// Whether an importer has a copy.
fn is_in_force(state: &ServiceState<'_>, slice: &SliceExport<'_>) -> bool {
    let mut copies = state.copies_named(&slice.object.name.name);
    copies.any(|copy| !copy.meta.is_terminating() && origin::is_from(copy, slice))
}
