//! Why a request or a slice is rejected, as an annotation: the users of a member do not see Events on the hub.

use fleet_accumulator::{Object, Tracked};
use fleet_api::annotations::REJECTED;
use fleet_model::objects::HasMeta;
use fleet_model::steps::HUB;
use fleet_plan::json_patch::set_entries;
use fleet_plan::text::truncate;
use fleet_plan::{Event, Step};

/// Maximum length of the annotation, in bytes.
const MAX_LENGTH: usize = 512;

/// Sets the annotation to the note of the Event about a rejected object, or removes it from one that is not rejected. An
/// object that is being deleted stays as it is.
pub(super) fn annotate<T: Tracked + HasMeta>(
    object: &Object<T>,
    event: Option<&Event>,
) -> Option<Step> {
    let meta = object.object.meta();
    let note = event.map(|event| truncate(&event.note, MAX_LENGTH));
    let operations = set_entries(meta, "annotations", &[(REJECTED, note)]);
    (!operations.is_empty() && !meta.is_terminating()).then(|| HUB.patch(object, operations))
}
