//! Weights that exporters give themselves, as imported slices carry them.

use std::collections::BTreeMap;

use fleet_api::annotations::WEIGHT;
use fleet_model::weight;
use k8s_openapi::api::discovery::v1::EndpointSlice;

/// The weight that an imported slice carries.
pub(crate) fn weight_of(slice: &EndpointSlice) -> u16 {
    let annotations = slice.metadata.annotations.as_ref();
    weight::carried(annotations.and_then(|all| all.get(WEIGHT)).map(String::as_str))
}

/// The annotation of a slice whose exporter gives itself this weight.
pub(crate) fn weight_mark(weight: u16) -> Option<(&'static str, String)> {
    (weight != weight::USUAL).then(|| (WEIGHT, weight.to_string()))
}

/// The weight of each exporter. While one changes it, not all of its slices agree: the greatest counts.
pub(crate) fn weights<'a>(
    slices: impl Iterator<Item = (&'a str, &'a EndpointSlice)>,
) -> BTreeMap<&'a str, u16> {
    let mut weights = BTreeMap::new();
    for (cluster, slice) in slices {
        let weight = weights.entry(cluster).or_default();
        *weight = weight_of(slice).max(*weight);
    }
    weights
}
