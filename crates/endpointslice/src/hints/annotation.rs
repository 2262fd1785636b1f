//! The annotation that requests hints by capacity.

use k8s_openapi::api::core::v1::Service;

use crate::names::{TOPOLOGY_HINTS, TOPOLOGY_MODE};

/// Whether the Service requests hints by capacity. The older annotation takes precedence over the newer one.
pub fn follows_capacity(service: &Service) -> bool {
    let value = service.metadata.annotations.as_ref().and_then(|annotations| {
        annotations.get(TOPOLOGY_HINTS).or_else(|| annotations.get(TOPOLOGY_MODE))
    });
    value.is_some_and(|value| value == "Auto" || value == "auto")
}
