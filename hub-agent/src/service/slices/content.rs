//! The content of the copies of a slice.

use std::cell::OnceCell;
use std::sync::Arc;

use fleet_accumulator::Object;
use fleet_api::{Endpoint, ExportedSliceSpec, ObjectName, finalizers};
use fleet_model::hub_schema::{self, HubSchema};
use fleet_model::objects::EndpointSliceImport;
use fleet_model::weight::USUAL;
use fleet_plan::{Body, SharedSpec};
use serde_json::json;

use super::origin;
use crate::service::state::{ServiceState, SliceExport};

/// Whether the hub serves slices with this type of addresses; `None` if that is not known yet.
pub(super) fn is_served(state: &ServiceState<'_>, slice: &SliceExport<'_>) -> Option<bool> {
    hub_schema::carries(state.schema, &slice.object.spec.address_type)
}

/// The content of the copies of one slice, which all importers share.
pub(super) struct Content<'a> {
    slice: SliceExport<'a>,
    schema: Option<HubSchema>,
    /// For copies that carry draining endpoints, and for those that do not.
    variants: [OnceCell<Variant>; 2],
}

/// A spec of copies, and the same to be sent.
struct Variant {
    spec: Arc<ExportedSliceSpec>,
    shared: SharedSpec,
}

impl Variant {
    fn of(slice: &SliceExport<'_>, takes_draining: bool) -> Self {
        let mut spec = Arc::clone(&slice.object.spec);
        if !takes_draining && !spec.draining_endpoints.is_empty() {
            Arc::make_mut(&mut spec).draining_endpoints.clear();
        }
        Self { shared: SharedSpec::new(Arc::clone(&spec)), spec }
    }
}

impl<'a> Content<'a> {
    /// The content of a slice, serialised when the first copy is sent.
    pub(super) fn of(state: &ServiceState<'_>, slice: SliceExport<'a>) -> Self {
        Self { slice, schema: state.schema, variants: [const { OnceCell::new() }; 2] }
    }

    /// The exported slice.
    pub(super) fn slice(&self) -> &SliceExport<'a> {
        &self.slice
    }

    /// The spec of a copy, without draining endpoints where the hub does not serve them. `carried` are those of the
    /// present copy.
    pub(super) fn spec(&self, carried: &[Endpoint]) -> &Arc<ExportedSliceSpec> {
        &self.variant(carried).spec
    }

    /// The copy `name` as it is created.
    pub(super) fn new_copy(&self, name: &ObjectName) -> Body {
        let metadata = json!({
            "annotations": origin::annotations(name, &self.slice, USUAL),
            "finalizers": [finalizers::ENDPOINT_SLICE_IMPORT],
        });
        Body::sharing(json!({ "metadata": metadata }), self.variant(&[]).shared.clone())
    }

    /// What a present copy is replaced with. Its finalizers stay: they belong to the importer.
    pub(super) fn successor(&self, copy: &Object<EndpointSliceImport>) -> Body {
        let carried = &copy.spec.draining_endpoints;
        let annotations = origin::annotations(&copy.name, &self.slice, origin::weight(&copy.meta));
        let metadata = json!({ "annotations": annotations });
        Body::sharing(json!({ "metadata": metadata }), self.variant(carried).shared.clone())
    }

    fn variant(&self, carried: &[Endpoint]) -> &Variant {
        let takes_draining = hub_schema::carries_draining(self.schema, carried);
        let variant = &self.variants[usize::from(takes_draining)];
        variant.get_or_init(|| Variant::of(&self.slice, takes_draining))
    }
}
