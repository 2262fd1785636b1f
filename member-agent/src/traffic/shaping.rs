//! Slots, as EndpointSlices have them.

use std::collections::{BTreeMap, BTreeSet};

use fleet_traffic::{Conditions, REMOTE_ZONE, Slot, shape, zones_of_own};
use k8s_openapi::api::discovery::v1::{
    Endpoint, EndpointConditions, EndpointHints, EndpointSlice, ForNode, ForZone,
};

use super::placed::Placed;

/// Which clients of this cluster an own endpoint prefers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Distribution {
    /// All.
    #[default]
    Any,
    /// Those in its zone.
    Zone,
    /// Those on its Node, then those in its zone.
    Node,
}

impl Distribution {
    /// From the field `trafficDistribution` of the exported Service.
    pub(crate) fn parse(text: Option<&str>) -> Self {
        match text {
            Some("PreferClose" | "PreferSameZone") => Self::Zone,
            Some("PreferSameNode") => Self::Node,
            _ => Self::Any,
        }
    }
}

/// What own endpoints name beside all zones of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnTopology {
    /// Which clients they prefer.
    pub(crate) distribution: Distribution,
    /// Zones by the first address of each own endpoint.
    pub(crate) zones: BTreeMap<String, String>,
    /// Zones with a ready own endpoint.
    pub(crate) ready_zones: BTreeSet<String>,
    /// First addresses of endpoints that run in other clusters, which are near no client.
    pub(crate) elsewhere: BTreeSet<String>,
}

/// The conditions that an exporter reports.
pub(crate) fn conditions(endpoint: &Endpoint) -> Conditions {
    let Some(conditions) = &endpoint.conditions else { return Conditions::READY };
    let ready = conditions.ready.unwrap_or(true);
    Conditions {
        ready,
        serving: conditions.serving.unwrap_or(ready),
        terminating: conditions.terminating.unwrap_or(false),
    }
}

/// The first address, by which an endpoint is known.
pub(crate) fn address(endpoint: &Endpoint) -> &str {
    endpoint.addresses.first().map(String::as_str).unwrap_or_default()
}

/// The slice with its endpoints where they are placed. `zones` are those that the first slot names; `own` is for own endpoints.
pub(crate) fn shaped(
    slice: &EndpointSlice,
    placed: &[Placed],
    zones: &BTreeSet<String>,
    own: Option<&OwnTopology>,
) -> EndpointSlice {
    let endpoints = slice.endpoints.iter().zip(placed);
    let endpoints = endpoints.filter_map(|(one, placed)| endpoint(one, *placed, zones, own));
    EndpointSlice { endpoints: endpoints.collect(), ..slice.clone() }
}

fn endpoint(
    source: &Endpoint,
    placed: Placed,
    zones: &BTreeSet<String>,
    own: Option<&OwnTopology>,
) -> Option<Endpoint> {
    let reported = conditions(source);
    let own = own.filter(|own| own.distribution != Distribution::Any && placed.slot == Slot::First);
    let own = own.filter(|own| !own.elsewhere.contains(address(source)));
    let zone = |own: &OwnTopology| own.zones.get(address(source)).cloned().unwrap_or_default();
    let near = own.map(|own| zones_of_own(&zone(own), &own.ready_zones, zones));
    let zones = near.as_ref().unwrap_or(zones);
    let shape = shape(placed.slot, reported, placed.has_hints.then_some(zones))?;
    let mut endpoint = source.clone();
    if shape.conditions != reported {
        endpoint.conditions = Some(wire(shape.conditions));
    }
    let zones = shape.zones.into_iter().map(|name| ForZone { name }).collect::<Vec<_>>();
    let on_node = own.is_some_and(|own| own.distribution == Distribution::Node);
    let nodes = || Some(vec![ForNode { name: source.node_name.clone()? }]);
    endpoint.hints = (!zones.is_empty()).then(|| EndpointHints {
        for_zones: Some(zones),
        for_nodes: if on_node { nodes() } else { None },
    });
    Some(endpoint)
}

/// The slot in which an endpoint of a slice is.
pub(crate) fn slot(endpoint: &Endpoint) -> Slot {
    let zones = endpoint.hints.iter().flat_map(|hints| hints.for_zones.iter().flatten());
    match zones.map(|zone| zone.name.as_str()).next() {
        _ if !conditions(endpoint).ready => Slot::LastResort,
        Some(REMOTE_ZONE) => Slot::Second,
        Some(_) => Slot::First,
        None => Slot::Pool,
    }
}

fn wire(conditions: Conditions) -> EndpointConditions {
    let Conditions { ready, serving, terminating } = conditions;
    EndpointConditions {
        ready: Some(ready),
        serving: Some(serving),
        terminating: Some(terminating),
    }
}

/// Zones of this cluster that a slice names.
pub(crate) fn named(slice: &EndpointSlice) -> BTreeSet<String> {
    let hints = slice.endpoints.iter().filter_map(|endpoint| endpoint.hints.as_ref());
    let zones = hints.flat_map(|hints| hints.for_zones.iter().flatten());
    zones.map(|zone| zone.name.clone()).filter(|zone| zone != REMOTE_ZONE).collect()
}
