//! By what the slices of an import are known.

use std::collections::BTreeMap;

use fleet_api::{annotations, labels};
use fleet_model::steps::owner_reference;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::bound::Bound;
use crate::multicluster::import::state::ServiceState;

/// The labels of an imported slice. It has one of the last two.
const LABELS: [&str; 5] = [
    labels::MULTICLUSTER_SERVICE_NAME,
    labels::MULTICLUSTER_SOURCE_CLUSTER,
    labels::MANAGED_BY,
    labels::SERVICE_NAME,
    labels::HEADLESS,
];

/// What a slice was made from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin<'a> {
    /// The cluster whose endpoints these are.
    pub(super) cluster: &'a str,
    /// Uid of the slice on the hub; none for own endpoints.
    pub(super) export: Option<&'a str>,
    /// Generation of the exporter's slice.
    pub(super) generation: i64,
}

/// Labels, annotations and owner of a slice.
pub(super) fn metadata(
    state: &ServiceState<'_>,
    bound: Bound<'_>,
    origin: Origin<'_>,
) -> ObjectMeta {
    let labels = [
        (labels::MULTICLUSTER_SERVICE_NAME, state.service.name.to_string()),
        (labels::MULTICLUSTER_SOURCE_CLUSTER, origin.cluster.to_owned()),
        (labels::MANAGED_BY, labels::MANAGED_BY_MULTICLUSTER.to_owned()),
        bound.label(origin.export.is_none()),
    ];
    let export = origin.export.map(|uid| (annotations::SLICE_EXPORT_UID, uid.to_owned()));
    let annotations = [
        (annotations::FLEET_SERVICE, state.service.to_string()),
        (annotations::LAST_OBSERVED_GENERATION, origin.generation.to_string()),
    ];
    ObjectMeta {
        labels: Some(texts(labels)),
        annotations: Some(texts(annotations.into_iter().chain(export))),
        owner_references: Some(vec![owner_reference(bound.import)]),
        ..ObjectMeta::default()
    }
}

fn texts(pairs: impl IntoIterator<Item = (&'static str, String)>) -> BTreeMap<String, String> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Uid of the slice on the hub that a slice was made from.
pub(super) fn export(slice: &EndpointSlice) -> Option<&str> {
    annotation(slice, annotations::SLICE_EXPORT_UID)
}

/// The generation that a slice was made from, if it was made from the same slice as `wanted`.
pub(super) fn generation(current: &EndpointSlice, wanted: &EndpointSlice) -> Option<i64> {
    let is_same = export(current).is_some() && export(current) == export(wanted);
    observed(current).filter(|_| is_same)
}

fn observed(slice: &EndpointSlice) -> Option<i64> {
    annotation(slice, annotations::LAST_OBSERVED_GENERATION)?.parse().ok()
}

fn annotation<'a>(slice: &'a EndpointSlice, key: &str) -> Option<&'a str> {
    slice.metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

fn label<'a>(slice: &'a EndpointSlice, key: &str) -> Option<&'a str> {
    slice.metadata.labels.as_ref()?.get(key).map(String::as_str)
}

/// Whether another Service, or none, sends traffic to a slice than to `wanted`.
pub(super) fn rebinds(current: &EndpointSlice, wanted: &EndpointSlice) -> bool {
    label(current, labels::SERVICE_NAME) != label(wanted, labels::SERVICE_NAME)
}

/// Whether a slice has the marks of `wanted`, whatever others have added. The generation alone is no reason to write: an exporter's
/// slice may have changed in what does not travel. The uid on the hub is one: by it a slice is known.
pub(super) fn are_current(current: &EndpointSlice, wanted: &EndpointSlice) -> bool {
    let owner = |slice: &EndpointSlice| {
        let owners = slice.metadata.owner_references.as_ref();
        owners.and_then(|owners| owners.first()).map(|owner| owner.uid.clone())
    };
    LABELS.iter().all(|key| label(current, key) == label(wanted, key))
        && owner(current) == owner(wanted)
        && export(current) == export(wanted)
        && annotation(current, annotations::FLEET_SERVICE)
            == annotation(wanted, annotations::FLEET_SERVICE)
        && observed(current).is_some_and(|seen| Some(seen) <= observed(wanted))
}
