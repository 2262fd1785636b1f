//! Measures how long endpoint changes take from one cluster to this one
//! (docs/design/contract.md#latency-samples).
//!
//! The generation that was counted last is an annotation on the imported slice, in the same write as the endpoints. A
//! Go agent sets that annotation on the copy on the hub.

use fleet_accumulator::{Meta, Object};
use fleet_api::annotations::LAST_OBSERVED_GENERATION;
use fleet_model::objects::{EndpointSlice, EndpointSliceImport};

use crate::measurement::{Imported, Measurement};

/// What to measure once `copy` is written over `current`, from which it differs in content: one
/// measurement per generation.
pub(super) fn imported(
    copy: &Object<EndpointSliceImport>,
    current: Option<&Object<EndpointSlice>>,
) -> Option<Measurement> {
    let reference = &copy.spec.endpoint_slice_reference;
    let adopted = observed(&copy.meta);
    let counted = current.and_then(|current| observed(&current.object.meta)).max(adopted);
    if counted.is_some_and(|counted| counted >= reference.generation) {
        return None;
    }
    Some(Measurement::Imported(Imported {
        origin: copy.origin().to_owned(),
        since: reference.exported_since.as_ref()?.0,
        first: current.is_none() && adopted.is_none(),
        copy: copy.uid.clone(),
        generation: reference.generation,
    }))
}

/// Whether the slice has the annotation, with a generation that this copy can have had.
pub(super) fn is_marked(copy: &Object<EndpointSliceImport>, current: &EndpointSlice) -> bool {
    let generation = copy.spec.endpoint_slice_reference.generation;
    observed(&current.meta).is_some_and(|counted| counted <= generation)
}

/// The generation that was counted last.
pub(super) fn observed(meta: &Meta) -> Option<i64> {
    meta.annotation(LAST_OBSERVED_GENERATION)?.parse().ok()
}
