//! Which slices which importer should have.

use std::collections::BTreeMap;

use fleet_api::{ObjectName, finalizers};
use fleet_model::steps::HUB;
use fleet_plan::{Plan, StepId};

use super::content;
use crate::service::claims::{Grant, Importers};
use crate::service::state::{ServiceState, SliceExport};
use crate::service::status::StatusWrites;

/// A slice that an importer should have a copy of.
pub(super) struct DesiredSlice<'a> {
    /// The exported slice.
    pub(super) slice: SliceExport<'a>,
    /// What a write of the copy waits for; `None` if a present copy stays as it is for now.
    pub(super) after: Option<Vec<StepId>>,
}

/// Slices by the name of the copy. Two members may export slices of one name; the older comes first.
pub(super) type DesiredSlices<'a> = BTreeMap<ObjectName, Vec<DesiredSlice<'a>>>;

/// Pairs the slices of accepted members with the importers. Adds the finalizer that slices of Go members
/// lack, before a copy is made.
pub(super) fn slices<'a>(
    state: &ServiceState<'a>,
    writes: &StatusWrites<'_>,
    importers: &Importers<'_>,
    plan: &mut Plan,
) -> DesiredSlices<'a> {
    let mut desired = DesiredSlices::new();
    if importers.is_empty() {
        return desired;
    }
    for slice in &state.slice_exports {
        let accepted = writes.accepted.get(slice.member);
        let Some(condition_write) = accepted.filter(|_| is_distributed(state, slice)) else {
            continue;
        };
        let guarded = HUB.add_finalizer(slice.object, finalizers::ENDPOINT_SLICE_EXPORT);
        let guarded = guarded.map(|step| plan.push(step));
        for (namespace, grant) in importers {
            let name = ObjectName::new(*namespace, slice.object.name.name.clone());
            let claimed = if let Grant::GainedBy(step) = grant { Some(*step) } else { None };
            let needs = [writes.import, *condition_write, claimed, guarded];
            let after = needs.into_iter().flatten().collect();
            let after = Some(after).filter(|_| *grant != Grant::Pending);
            desired.entry(name).or_default().push(DesiredSlice { slice: *slice, after });
        }
    }
    desired
}

fn is_distributed(state: &ServiceState<'_>, slice: &SliceExport<'_>) -> bool {
    !slice.object.meta.is_terminating() && content::is_served(state, slice) != Some(false)
}
