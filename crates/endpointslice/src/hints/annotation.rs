//! The annotation that asks for hints by capacity.

use k8s_openapi::api::core::v1::Service;

use crate::names::{TOPOLOGY_HINTS, TOPOLOGY_MODE};

/// Whether it is set. The older name wins where both are there.
pub(super) fn is_enabled(service: &Service) -> bool {
    let value = service.metadata.annotations.as_ref().and_then(|annotations| {
        annotations.get(TOPOLOGY_HINTS).or_else(|| annotations.get(TOPOLOGY_MODE))
    });
    value.is_some_and(|value| value == "Auto" || value == "auto")
}
