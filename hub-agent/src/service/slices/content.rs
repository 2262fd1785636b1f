//! The content of a copy.

use std::sync::Arc;

use fleet_api::{Endpoint, ExportedSliceSpec, finalizers};
use fleet_model::hub_schema;
use fleet_model::steps::to_json;
use serde_json::{Value, json};

use super::origin;
use crate::service::state::{ServiceState, SliceExport};

/// Whether the hub serves slices with this type of addresses; `None` if that is not known yet.
pub(super) fn is_served(state: &ServiceState<'_>, slice: &SliceExport<'_>) -> Option<bool> {
    hub_schema::carries(state.schema, &slice.object.spec.address_type)
}

/// The copy as it is created. `carried` are the draining endpoints of the present copy.
pub(super) fn body(
    state: &ServiceState<'_>,
    slice: &SliceExport<'_>,
    carried: &[Endpoint],
) -> Value {
    json!({
        "metadata": {
            "annotations": origin::annotations(slice),
            "finalizers": [finalizers::ENDPOINT_SLICE_IMPORT],
        },
        "spec": to_json(&spec(state, slice, carried)),
    })
}

/// The spec of the slice, without draining endpoints where the hub does not serve them.
pub(super) fn spec(
    state: &ServiceState<'_>,
    slice: &SliceExport<'_>,
    carried: &[Endpoint],
) -> Arc<ExportedSliceSpec> {
    let mut spec = Arc::clone(&slice.object.spec);
    let takes_draining = hub_schema::carries_draining(state.schema, carried);
    if !takes_draining && !spec.draining_endpoints.is_empty() {
        Arc::make_mut(&mut spec).draining_endpoints.clear();
    }
    spec
}
