//! Why a request or a slice is rejected, or does not reach importers, as an annotation: the users of a member do not see
//! Events on the hub.

use std::collections::BTreeMap;

use fleet_accumulator::{Object, Tracked, Uid};
use fleet_api::annotations::REJECTED;
use fleet_model::objects::HasMeta;
use fleet_model::steps::HUB;
use fleet_plan::Step;
use fleet_plan::json_patch::set_entries;
use fleet_plan::text::truncate;

/// Maximum length of the annotation, in bytes.
const MAX_LENGTH: usize = 512;

/// Why slices do not reach importers, by uid.
pub(super) type Notices = BTreeMap<Uid, String>;

/// Sets the annotation to `note`, or removes it from an object about which there is nothing to report. An object that is
/// being deleted stays as it is.
pub(super) fn annotate<T: Tracked + HasMeta>(
    object: &Object<T>,
    note: Option<&str>,
) -> Option<Step> {
    let meta = object.object.meta();
    let note = note.map(|note| truncate(note, MAX_LENGTH));
    let operations = set_entries(meta, "annotations", &[(REJECTED, note)]);
    (!operations.is_empty() && !meta.is_terminating()).then(|| HUB.patch(object, operations))
}
