//! Endpoints that moved to slices of which the hub has no copy yet.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::{Endpoint, ExportedSliceSpec};
use fleet_model::endpoints::printed;
use fleet_model::objects::EndpointSlice;
use fleet_plan::{StepId, deadline};
use jiff::Timestamp;

/// So long after its creation a new slice is waited for. A quota may reject its copy until the old ones are gone.
const PATIENCE: Duration = Duration::from_secs(30);

/// The ready endpoints of the slices that a plan creates on the hub, each with the step that creates it.
#[derive(Default)]
pub(super) struct Moved(HashMap<Endpoint, StepId>);

impl Moved {
    /// Adds the endpoints of a slice whose copy the step `created` creates.
    pub(super) fn extend(
        &mut self,
        slice: &Object<EndpointSlice>,
        created: StepId,
        now: Timestamp,
    ) {
        let since = slice.meta.created.unwrap_or(now);
        if deadline::remaining(since, PATIENCE, now).is_none() {
            return;
        }
        let endpoints = printed(slice.ready.to_vec(), &slice.address_type);
        self.0.extend(endpoints.into_iter().map(|endpoint| (endpoint, created)));
    }

    /// The creations that a write waits for which leaves only `remaining` of a copy's endpoints.
    ///
    /// None if one of the others is in no new slice: it serves no longer, and that must not wait.
    pub(super) fn all(&self, copy: &ExportedSliceSpec, remaining: &[Endpoint]) -> BTreeSet<StepId> {
        if self.0.is_empty() {
            return BTreeSet::new();
        }
        let remaining: HashSet<_> = remaining.iter().collect();
        let lost = copy.endpoints.iter().filter(|endpoint| !remaining.contains(endpoint));
        lost.map(|endpoint| self.0.get(endpoint).copied())
            .collect::<Option<_>>()
            .unwrap_or_default()
    }
}
