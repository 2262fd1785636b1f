//! By what the slices of an import are known.

use std::collections::BTreeMap;

use fleet_api::{annotations, labels};
use fleet_model::steps::owner_reference;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::bound::Bound;
use crate::multicluster::import::state::ServiceState;
use crate::traffic;

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
    /// The exported slice; none for own endpoints.
    pub(super) mark: Option<Mark<'a>>,
    /// Generation of the exporter's slice.
    pub(super) generation: i64,
    /// The weight that the exporter gives itself.
    pub(super) weight: u16,
}

/// By what the exported slice is known that a slice was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark<'a> {
    /// Uid of the exporter's own slice: the same on every hub that it is exported to.
    Slice(&'a str),
    /// Uid of the slice on the hub, as in slices that an earlier release imported. A hub that was rebuilt has another one.
    OnHub(&'a str),
}

impl<'a> Mark<'a> {
    /// The mark of an imported slice.
    pub(super) fn of(slice: &'a EndpointSlice) -> Option<Self> {
        let own = annotation(slice, annotations::SLICE_UID).map(Self::Slice);
        own.or_else(|| annotation(slice, annotations::SLICE_EXPORT_UID).map(Self::OnHub))
    }

    /// The annotation that has it.
    pub(super) fn entry(self) -> (&'static str, String) {
        match self {
            Self::Slice(uid) => (annotations::SLICE_UID, uid.to_owned()),
            Self::OnHub(uid) => (annotations::SLICE_EXPORT_UID, uid.to_owned()),
        }
    }
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
        bound.label(origin.mark.is_none()),
    ];
    let mark = origin.mark.map(Mark::entry);
    let weight = traffic::weight_mark(origin.weight);
    let annotations = [
        (annotations::FLEET_SERVICE, state.service.to_string()),
        (annotations::LAST_OBSERVED_GENERATION, origin.generation.to_string()),
    ];
    ObjectMeta {
        labels: Some(texts(labels)),
        annotations: Some(texts(annotations.into_iter().chain(mark).chain(weight))),
        owner_references: Some(vec![owner_reference(bound.import)]),
        ..ObjectMeta::default()
    }
}

fn texts(pairs: impl IntoIterator<Item = (&'static str, String)>) -> BTreeMap<String, String> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The generation that a slice was made from, if it was made from the same slice as `wanted`.
pub(super) fn generation(current: &EndpointSlice, wanted: &EndpointSlice) -> Option<i64> {
    let is_same = Mark::of(current).is_some() && Mark::of(current) == Mark::of(wanted);
    observed(current).filter(|_| is_same)
}

/// Whether a slice was made from the same generation of the same slice as `wanted`; own endpoints name none.
pub(super) fn is_same_generation(current: &EndpointSlice, wanted: &EndpointSlice) -> bool {
    let of = observed(current);
    of.is_some() && of == observed(wanted) && Mark::of(current) == Mark::of(wanted)
}

/// Whether a slice was made from a later generation than this one.
pub(super) fn is_later(slice: &EndpointSlice, generation: i64) -> bool {
    observed(slice).is_some_and(|seen| generation < seen)
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
/// slice may have changed in what does not travel. By which slice it was made from a slice is known.
pub(super) fn are_current(current: &EndpointSlice, wanted: &EndpointSlice) -> bool {
    let owner = |slice: &EndpointSlice| {
        let owners = slice.metadata.owner_references.as_ref();
        owners.and_then(|owners| owners.first()).map(|owner| owner.uid.clone())
    };
    LABELS.iter().all(|key| label(current, key) == label(wanted, key))
        && owner(current) == owner(wanted)
        && Mark::of(current) == Mark::of(wanted)
        && traffic::weight_of(current) == traffic::weight_of(wanted)
        && annotation(current, annotations::FLEET_SERVICE)
            == annotation(wanted, annotations::FLEET_SERVICE)
        && observed(current).is_some_and(|seen| Some(seen) <= observed(wanted))
}
