//! Samples of how long endpoint changes take from one cluster to this one (spec 6.2).
//!
//! The mark of what was counted last is an annotation on the imported slice, in the write that
//! carries the endpoints; a copy on the hub that a Go agent counted says so itself.

use fleet_accumulator::Record;
use fleet_api::annotations::LAST_OBSERVED_GENERATION;
use fleet_model::records::{EndpointSliceImportRecord, EndpointSliceRecord};
use fleet_runtime::plan::Sample;

use super::content;

/// What to measure once `copy` is written over `current`: one sample per generation.
pub(super) fn sample(
    copy: &Record<EndpointSliceImportRecord>,
    current: Option<&Record<EndpointSliceRecord>>,
) -> Option<Sample> {
    let reference = &copy.spec.endpoint_slice_reference;
    let generation = reference.generation.to_string();
    let mark = current.and_then(|current| current.object.meta.annotation(LAST_OBSERVED_GENERATION));
    let adopted = copy.meta.annotation(LAST_OBSERVED_GENERATION);
    if mark.or(adopted) == Some(generation.as_str()) {
        return None;
    }
    let since = reference.exported_since.as_ref()?.0;
    let first = current.is_none() && adopted.is_none();
    Some(Sample { origin: content::origin(copy).to_owned(), since, first })
}
