//! The cluster that an imported slice is from.

use fleet_api::labels;
use k8s_openapi::api::discovery::v1::EndpointSlice;

/// The cluster whose endpoints a slice has.
pub(super) fn cluster(slice: &EndpointSlice) -> Option<&str> {
    let labels = slice.metadata.labels.as_ref()?;
    labels.get(labels::MULTICLUSTER_SOURCE_CLUSTER).map(String::as_str)
}
