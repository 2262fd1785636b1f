//! The content of an imported slice.

use fleet_accumulator::Object;
use fleet_api::{ObjectName, annotations, labels};
use fleet_model::objects::{EndpointSlice, EndpointSliceImport, imported_endpoints};
use fleet_model::ports;
use fleet_model::steps::{LOCAL, to_json};
use fleet_plan::Step;
use serde_json::{Value, json};

use super::latency;
use crate::sanitize::Sanitized;

/// Whether a slice equals what [`body`] makes of `content`.
pub(super) fn is_current(
    service: &ObjectName,
    copy: &Object<EndpointSliceImport>,
    content: &Sanitized<'_>,
    current: &EndpointSlice,
    derived: &ObjectName,
) -> bool {
    carries(content, current) && has_marks(service, copy, current, derived)
}

/// Whether a slice has the labels and annotations that [`body`] sets.
pub(super) fn has_marks(
    service: &ObjectName,
    copy: &Object<EndpointSliceImport>,
    current: &EndpointSlice,
    derived: &ObjectName,
) -> bool {
    current.meta.label(labels::SERVICE_NAME) == Some(&derived.name)
        && current.meta.label(labels::MANAGED_BY) == Some(labels::MANAGED_BY_IMPORT)
        && current.imported_for().as_ref() == Some(service)
        && has_right_origin(copy, current)
        && latency::is_marked(copy, current)
}

/// Whether the slice has the endpoints and ports of `content`, regardless of labels and annotations.
pub(super) fn carries(content: &Sanitized<'_>, current: &EndpointSlice) -> bool {
    current.plain
        && current.address_type == *content.address_type
        && current.ready == *content.ready
        && current.draining == *content.draining
        && ports::same_in_slices(&current.ports, &content.ports)
}

/// A slice that a Go agent made has no annotations of its origin, and is not rewritten because of that. Nor because the exported
/// slice has another uid: on a hub that was rebuilt all have. It is written with the next change.
fn has_right_origin(copy: &Object<EndpointSliceImport>, current: &EndpointSlice) -> bool {
    let cluster = current.meta.annotation(annotations::ORIGIN_CLUSTER);
    let uid = current.meta.annotation(annotations::SLICE_EXPORT_UID);
    let recorded = copy.meta.annotation(annotations::SLICE_EXPORT_UID);
    (cluster, uid) == (None, None)
        || (cluster == Some(copy.origin()) && (recorded.is_none() || uid.is_some()))
}

/// The generation of the exported slice that `current` was imported from.
pub(super) fn generation(
    copy: &Object<EndpointSliceImport>,
    current: &EndpointSlice,
) -> Option<i64> {
    let uid = copy.meta.annotation(annotations::SLICE_EXPORT_UID)?;
    let same = current.meta.annotation(annotations::SLICE_EXPORT_UID) == Some(uid);
    latency::observed(&current.meta).filter(|_| same)
}

/// Whether `content` lacks an endpoint of the slice: traffic to it may fail until it is removed.
pub(super) fn loses(content: &Sanitized<'_>, current: &EndpointSlice) -> bool {
    !(current.ready.is_within(&content.ready) && current.draining.is_within(&content.draining))
}

/// Replaces a slice. What it notes of endpoints that it had does not stay.
pub(super) fn replace(current: &Object<EndpointSlice>, body: Value) -> Step {
    if current.meta.annotation(annotations::TERMINATING_AT_EXPORTER).is_some() {
        return LOCAL.replace_exactly(current, body);
    }
    LOCAL.replace(current, body)
}

/// The whole slice: labels, annotations of its origin and generation, endpoints and ports.
pub(super) fn body(
    service: &ObjectName,
    copy: &Object<EndpointSliceImport>,
    content: &Sanitized<'_>,
    derived: &ObjectName,
) -> Value {
    let generation = copy.spec.endpoint_slice_reference.generation.to_string();
    let mut marks = json!({
        annotations::FLEET_SERVICE: service.to_string(),
        annotations::LAST_OBSERVED_GENERATION: generation,
        annotations::ORIGIN_CLUSTER: copy.origin(),
    });
    if let Some(uid) = copy.meta.annotation(annotations::SLICE_EXPORT_UID) {
        marks[annotations::SLICE_EXPORT_UID] = json!(uid);
    }
    json!({
        "metadata": {
            "labels": {
                labels::SERVICE_NAME: derived.name,
                labels::MANAGED_BY: labels::MANAGED_BY_IMPORT,
            },
            "annotations": marks,
        },
        "addressType": content.address_type,
        "endpoints": to_json(&imported_endpoints(&content.ready, &content.draining)),
        "ports": to_json(&content.ports),
    })
}
