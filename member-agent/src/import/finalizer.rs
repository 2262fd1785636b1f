//! Writes that begin and end an imported slice.

use fleet_accumulator::Object;
use fleet_api::finalizers;
use fleet_model::objects::{EndpointSlice, EndpointSliceImport};
use fleet_model::steps::{HUB, LOCAL};
use fleet_plan::Step;

/// Adds this agent's finalizer, before the effect, to a copy that lacks it: a Go hub sets none, and users can remove it.
pub(super) fn guard(copy: &Object<EndpointSliceImport>) -> Option<Step> {
    HUB.add_finalizer(copy, finalizers::ENDPOINT_SLICE_IMPORT)
}

/// Deletes an imported slice; traffic to its endpoints fails until then.
pub(super) fn delete(slice: &Object<EndpointSlice>) -> Option<Step> {
    (!slice.meta.is_terminating()).then(|| LOCAL.delete(slice).urgent())
}
