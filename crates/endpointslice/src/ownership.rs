//! Ownership of slices.

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;

/// Whether the Service owns the slice. Slices of an earlier Service of the same name are not owned.
pub(crate) fn owns(service: &Service, slice: &EndpointSlice) -> bool {
    let uid = service.metadata.uid.as_deref().unwrap_or_default();
    slice
        .metadata
        .owner_references
        .iter()
        .flatten()
        .any(|owner| owner.uid == uid && owner.kind == "Service" && owner.api_version == "v1")
}
