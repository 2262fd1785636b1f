//! Which exported slice a copy was made from.
//!
//! The hub records this in annotations of the copy: the namespace of the exported slice, which identifies
//! the member, and its uid. Copies of a Go hub have neither; there the cluster that the reference names
//! counts, and the annotations are added with the next change.

use fleet_accumulator::Object;
use fleet_api::annotations::{ORIGIN_NAMESPACE, SLICE_EXPORT_UID};
use fleet_model::objects::EndpointSliceImport;
use serde_json::{Value, json};

use crate::service::state::SliceExport;

/// The annotations of a copy of `slice`.
pub(super) fn annotations(slice: &SliceExport<'_>) -> Value {
    json!({
        ORIGIN_NAMESPACE: slice.object.name.namespace,
        SLICE_EXPORT_UID: slice.object.uid.to_string(),
    })
}

/// Whether a copy with the name of `slice` was made from it, or from an earlier slice of that name of
/// the same member. One matching annotation is enough: then the other one was altered.
pub(super) fn is_from(copy: &Object<EndpointSliceImport>, slice: &SliceExport<'_>) -> bool {
    let (namespace, uid) = recorded(copy);
    if (namespace, uid) == (None, None) {
        return copy.spec.endpoint_slice_reference.cluster_id == slice.member;
    }
    namespace == Some(&*slice.object.name.namespace) || uid == Some(&slice.object.uid.to_string())
}

/// Whether the annotations of a copy name `slice`, or there are none.
pub(super) fn is_recorded(copy: &Object<EndpointSliceImport>, slice: &SliceExport<'_>) -> bool {
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
