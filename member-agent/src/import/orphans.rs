//! Imported slices whose EndpointSliceImports on the hub are gone.
//!
//! A copy on the hub has this agent's finalizer until its imported slice is deleted, so one that disappears
//! before is an accident. If few are gone, their slices are deleted. Many at once mean that the hub has lost its
//! data: then the slices are kept, so that traffic continues, until their copies return, the Service is no longer
//! imported, or a user deletes the slices.

use std::fmt;
use std::time::Duration;

use fleet_accumulator::{Accumulator, MassDeletionLimits, Snapshot as _};
use fleet_api::{ObjectName, events};
use fleet_model::objects::HasMeta;
use fleet_model::steps::LOCAL;
use fleet_plan::Plan;
use prometheus::IntGauge;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;

use super::state::{Mcs, ServiceState};
use crate::Identity;
use crate::snapshot::MemberSnapshot;

/// How often a Service with kept slices is planned again: slices of other Services do not affect its key.
const AGAIN: Duration = Duration::from_mins(1);

/// The number of imported slices that are kept although their copies are gone; 0 if only few are gone. It reads all
/// imported slices, so it is called only for a Service with such a slice.
fn kept(identity: &Identity, snapshot: &MemberSnapshot) -> usize {
    let (mut all, mut lost) = (0, 0);
    let slices = snapshot.endpoint_slices.in_namespace(&identity.system_namespace);
    for slice in slices.filter(|slice| slice.is_imported() && !slice.meta().is_terminating()) {
        let copy = ObjectName::new(identity.hub_namespace.as_str(), slice.name.name.clone());
        all += 1;
        lost += usize::from(snapshot.slice_imports.get(&copy).is_none());
    }
    if MassDeletionLimits::default().exceeded_by(lost, all) { lost } else { 0 }
}

/// Whether slices whose copies are gone are kept. If so, adds an Event for the user.
pub(super) fn keep(state: &ServiceState<'_>, holder: &Mcs, count: usize, plan: &mut Plan) -> bool {
    let kept = if count == 0 { 0 } else { kept(state.identity, state.snapshot) };
    if kept == 0 {
        return false;
    }
    plan.wake_within(AGAIN);
    let note = "the hub has lost the EndpointSliceImports of this service and of many others; the \
                imported EndpointSlices are kept until those return or a user deletes the slices";
    plan.events.push(LOCAL.warning(holder, events::IMPORTS_KEPT, note));
    true
}

/// How many imported slices are kept although the hub has lost what they came from.
pub struct KeptMetrics {
    accumulator: Accumulator<MemberSnapshot>,
    identity: Identity,
    gauge: IntGauge,
}

impl fmt::Debug for KeptMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptMetrics").finish_non_exhaustive()
    }
}

impl KeptMetrics {
    /// A gauge of what `accumulator` shows.
    ///
    /// # Errors
    /// If the name is not allowed, which only a change of this file can cause.
    pub fn new(
        accumulator: Accumulator<MemberSnapshot>,
        identity: Identity,
    ) -> Result<Self, prometheus::Error> {
        let gauge = IntGauge::new(
            "fleet_networking_imported_slices_kept",
            "Imported slices that are kept although the hub has lost what they came from.",
        )?;
        Ok(Self { accumulator, identity, gauge })
    }
}

impl Collector for KeptMetrics {
    fn desc(&self) -> Vec<&Desc> {
        self.gauge.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let snapshot = self.accumulator.snapshot();
        let listed = snapshot.state(MemberSnapshot::slice_imports()).is_live();
        let kept = if listed { kept(&self.identity, &snapshot) } else { 0 };
        self.gauge.set(i64::try_from(kept).unwrap_or(i64::MAX));
        self.gauge.collect()
    }
}
