//! Slices while it is not known what is in force: endpoints come and go, their order stays as it is.

use std::collections::{BTreeMap, BTreeSet};

use fleet_traffic::{Conditions, REMOTE_ZONE};
use k8s_openapi::api::discovery::v1::{
    Endpoint, EndpointConditions, EndpointHints, EndpointSlice, ForZone,
};

use super::shaping::{address, conditions};

/// How the slices of one cluster are written at present.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Manner {
    hints: Option<EndpointHints>,
    /// Whether none of its endpoints takes new connections.
    is_last_resort: bool,
}

impl Manner {
    /// From the slices of a cluster, or for one without slices from those of others.
    pub(crate) fn of<'a>(
        own: bool,
        here: impl Iterator<Item = &'a EndpointSlice>,
        others: impl Iterator<Item = &'a EndpointSlice>,
        zones: &BTreeSet<String>,
    ) -> Self {
        let endpoints: Vec<_> = here.flat_map(|slice| &slice.endpoints).collect();
        if let Some(first) = endpoints.first() {
            let is_last_resort = endpoints.iter().all(|one| !conditions(one).ready);
            return Self { hints: first.hints.clone(), is_last_resort };
        }
        let mut others = others.flat_map(|slice| &slice.endpoints);
        let has_hints = others.any(|endpoint| endpoint.hints.is_some());
        let zones = if own { zones.clone() } else { BTreeSet::from([REMOTE_ZONE.to_owned()]) };
        let zones = zones.into_iter().map(|name| ForZone { name }).collect();
        let hints = EndpointHints { for_zones: Some(zones), ..EndpointHints::default() };
        Self { hints: has_hints.then_some(hints), is_last_resort: false }
    }
}

/// The slice with each endpoint where it is, and new ones where most others are.
pub(crate) fn held(
    source: &EndpointSlice,
    current: Option<&EndpointSlice>,
    manner: &Manner,
) -> EndpointSlice {
    let known = current.into_iter().flat_map(|slice| &slice.endpoints);
    let known: BTreeMap<_, _> = known.map(|endpoint| (address(endpoint), endpoint)).collect();
    let endpoint = |source: &Endpoint| {
        let known = known.get(address(source));
        let reported = conditions(source);
        let is_last = known.map_or(manner.is_last_resort, |known| !conditions(known).ready);
        let mut endpoint = source.clone();
        endpoint.hints = known.map_or_else(|| manner.hints.clone(), |known| known.hints.clone());
        if reported.ready && is_last {
            let Conditions { ready, serving, terminating } = Conditions::DRAINING;
            let (ready, serving, terminating) = (Some(ready), Some(serving), Some(terminating));
            endpoint.conditions = Some(EndpointConditions { ready, serving, terminating });
        }
        endpoint
    };
    let endpoints = source.endpoints.iter().map(endpoint).collect();
    EndpointSlice { endpoints, ..source.clone() }
}
