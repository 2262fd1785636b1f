//! Whose endpoints a distributed slice carries.
//!
//! The hub records it in annotations of the copy: the namespace of the exported slice, which proves
//! the member, and its uid. A copy made by a Go hub has neither; it is taken for what its reference
//! says, and gets them with its next change.

use fleet_accumulator::Object;
use fleet_api::annotations::{ORIGIN_NAMESPACE, SLICE_EXPORT_UID};
use fleet_model::objects::{EndpointSliceExport, EndpointSliceImport};
use serde_json::{Value, json};

use super::state::Owned;

type Slice<'a> = Owned<'a, EndpointSliceExport>;

/// What the hub writes into a copy.
pub(super) fn annotations(slice: &Slice<'_>) -> Value {
    json!({
        ORIGIN_NAMESPACE: slice.object.name.namespace,
        SLICE_EXPORT_UID: slice.object.uid.to_string(),
    })
}

/// Whether a copy of the name of `slice` was made from it, or from an earlier slice of that name of
/// the same member. One of the two annotations is enough: the other was altered.
pub(super) fn is_from(copy: &Object<EndpointSliceImport>, slice: &Slice<'_>) -> bool {
    let (namespace, uid) = recorded(copy);
    if (namespace, uid) == (None, None) {
        return copy.spec.endpoint_slice_reference.cluster_id == slice.member;
    }
    namespace == Some(&*slice.object.name.namespace) || uid == Some(&slice.object.uid.to_string())
}

/// Whether a copy says that it was made from `slice`, or says nothing.
pub(super) fn is_right(copy: &Object<EndpointSliceImport>, slice: &Slice<'_>) -> bool {
    match recorded(copy) {
        (None, None) => true,
        (namespace, uid) => {
            namespace == Some(&*slice.object.name.namespace)
                && uid == Some(&slice.object.uid.to_string())
        }
    }
}

fn recorded(copy: &Object<EndpointSliceImport>) -> (Option<&str>, Option<&str>) {
    (copy.meta.annotation(ORIGIN_NAMESPACE), copy.meta.annotation(SLICE_EXPORT_UID))
}
