//! Metadata of objects that are kept as JSON.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

/// The metadata as the API server has it, without the resource version: a version alone is no change.
pub(super) fn document_metadata(metadata: &ObjectMeta) -> Value {
    // `self_link` carries what did not decode.
    let kept = ObjectMeta { resource_version: None, self_link: None, ..metadata.clone() };
    serde_json::to_value(kept).unwrap_or_default()
}
