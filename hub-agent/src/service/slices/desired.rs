//! Which slices which importer should have.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet_accumulator::Object;
use fleet_api::finalizers;
use fleet_model::objects::EndpointSliceImport;
use fleet_model::steps::HUB;
use fleet_plan::{Plan, StepId};

use super::budget::Surplus;
use super::{content, origin};
use crate::service::claims::{Grant, Importers};
use crate::service::state::{ServiceState, SliceExport};
use crate::service::status::{Acceptance, StatusWrites};

/// A slice that every importer should have a copy of.
pub(super) struct DesiredSlice<'a> {
    /// The exported slice.
    pub(super) slice: SliceExport<'a>,
    /// By the importer's namespace what a write of its copy waits for; `None` if a present copy stays as it is for now.
    pub(super) after: BTreeMap<&'a str, Option<Vec<StepId>>>,
}

impl<'a> DesiredSlice<'a> {
    /// The copies of the slice, by the importer's namespace.
    pub(super) fn copies(
        &self,
        state: &ServiceState<'a>,
    ) -> BTreeMap<Arc<str>, &'a Object<EndpointSliceImport>> {
        let named = state.copies_named(&self.slice.object.name.name);
        let own = named.filter(|copy| origin::is_from(copy, &self.slice));
        let mut copies = BTreeMap::new();
        for copy in own {
            copies.entry(Arc::clone(&copy.name.namespace)).or_insert(copy);
        }
        copies
    }
}

/// Pairs the slices of accepted members, oldest first, with the importers. Adds the finalizer that slices of Go members
/// lack, before a copy is made.
pub(super) fn slices<'a>(
    state: &ServiceState<'a>,
    writes: &StatusWrites<'_>,
    importers: &Importers<'a>,
    surplus: &Surplus<'_>,
    plan: &mut Plan,
) -> Vec<DesiredSlice<'a>> {
    let mut desired = Vec::new();
    if importers.is_empty() {
        return desired;
    }
    for slice in state.slice_exports.iter().filter(|slice| !surplus.includes(slice)) {
        let accepted = writes.accepted.get(slice.member);
        let Some(acceptance) = accepted.filter(|_| is_distributed(state, slice)) else {
            continue;
        };
        let guarded = HUB.add_finalizer(slice.object, finalizers::ENDPOINT_SLICE_EXPORT);
        let guarded = guarded.map(|step| plan.push(step));
        let after = |grant: &Grant| {
            let (claimed, condition_write) = match (grant, acceptance) {
                (Grant::Pending, _) | (_, Acceptance::Unlisted) => return None,
                (Grant::Held, Acceptance::Listed(write)) => (None, *write),
                (Grant::GainedBy(step), Acceptance::Listed(write)) => (Some(*step), *write),
            };
            let needs = [writes.import, condition_write, claimed, guarded];
            Some(needs.into_iter().flatten().collect())
        };
        let after = importers.iter().map(|(namespace, grant)| (*namespace, after(grant))).collect();
        desired.push(DesiredSlice { slice: *slice, after });
    }
    desired
}

fn is_distributed(state: &ServiceState<'_>, slice: &SliceExport<'_>) -> bool {
    !slice.object.meta.is_terminating() && content::is_served(state, slice) != Some(false)
}
