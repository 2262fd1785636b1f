//! Which exported slice a copy was made from.
//!
//! The hub records this in annotations of the copy: the namespace of the exported slice, which identifies
//! the member, and its uid. Copies of a Go hub have neither; there the cluster that the reference names
//! counts, and the annotations are added with the next change. A copy that could not get the name of its slice records that
//! name, too. The generation of the slice that a copy shows only decides on whose account the copy is corrected.

use fleet_accumulator::{Meta, Object};
use fleet_api::ObjectName;
use fleet_api::annotations::{
    ORIGIN_NAMESPACE, SLICE_EXPORT_GENERATION, SLICE_EXPORT_NAME, SLICE_EXPORT_UID, WEIGHT,
};
use fleet_model::objects::EndpointSliceImport;
use fleet_model::weight::{self, USUAL};
use fleet_plan::Account;
use serde_json::{Value, json};

use crate::service::state::SliceExport;

/// The annotations of the copy `name` of `slice`, which has this weight so far.
pub(super) fn annotations(name: &ObjectName, slice: &SliceExport<'_>, before: u16) -> Value {
    let mut annotations = json!({
        ORIGIN_NAMESPACE: slice.object.name.namespace,
        SLICE_EXPORT_UID: slice.object.uid.to_string(),
        SLICE_EXPORT_GENERATION: slice.object.meta.generation.to_string(),
    });
    if name.name != slice.object.name.name {
        annotations[SLICE_EXPORT_NAME] = json!(slice.object.name.name);
    }
    let weight = weight(&slice.object.meta);
    // What is there would stay otherwise.
    if [weight, before] != [USUAL; 2] {
        annotations[WEIGHT] = json!(weight.to_string());
    }
    annotations
}

/// The weight that an exported slice or its copy carries.
pub(super) fn weight(meta: &Meta) -> u16 {
    weight::carried(meta.annotation(WEIGHT))
}

/// Whether a copy carries the weight that its exporter gives itself.
pub(super) fn has_weight(copy: &Object<EndpointSliceImport>, slice: &SliceExport<'_>) -> bool {
    weight(&slice.object.meta) == weight(&copy.meta)
}

/// On whose account a copy is deleted: its exporter's, who had it made.
pub(super) fn account(copy: &Object<EndpointSliceImport>) -> Account {
    let (namespace, _) = recorded(copy);
    namespace.map_or_else(|| Account::clone(&copy.name.namespace), Account::from)
}

/// On whose account a copy is brought in line with its slice: the importer's, if the copy has shown this generation of the
/// slice and was altered since, otherwise the exporter's.
///
/// A Go importer drops the fields that it does not know with each of its writes. The API server counts generations, so that
/// no exporter can pass a change of its own off as the importer's.
pub(super) fn account_of_update(
    copy: &Object<EndpointSliceImport>,
    slice: &SliceExport<'_>,
) -> Account {
    let generation = slice.object.meta.generation.to_string();
    let shown = copy.meta.annotation(SLICE_EXPORT_GENERATION) == Some(generation.as_str());
    // Annotations do not count: a weight is the exporter's.
    let altered = shown && is_recorded(copy, slice) && has_weight(copy, slice);
    Account::clone(if altered { &copy.name.namespace } else { &slice.object.name.namespace })
}

/// Whether a copy of a slice with the name of `slice` was made from it, or from an earlier slice of that name of
/// the same member. One matching annotation is enough: then the other one was altered.
pub(super) fn is_from(copy: &Object<EndpointSliceImport>, slice: &SliceExport<'_>) -> bool {
    let (namespace, uid) = recorded(copy);
    if (namespace, uid) == (None, None) {
        return copy.spec.endpoint_slice_reference.cluster_id == slice.member;
    }
    namespace == Some(&*slice.object.name.namespace)
        || uid.is_some_and(|uid| slice.object.uid.is(uid))
}

/// Whether the annotations of a copy name `slice`, or there are none.
pub(super) fn is_recorded(copy: &Object<EndpointSliceImport>, slice: &SliceExport<'_>) -> bool {
    match recorded(copy) {
        (None, None) => true,
        (namespace, uid) => {
            namespace == Some(&*slice.object.name.namespace)
                && uid.is_some_and(|uid| slice.object.uid.is(uid))
        }
    }
}

fn recorded(copy: &Object<EndpointSliceImport>) -> (Option<&str>, Option<&str>) {
    (copy.meta.annotation(ORIGIN_NAMESPACE), copy.meta.annotation(SLICE_EXPORT_UID))
}
