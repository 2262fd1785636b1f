//! Endpoints and ports of an imported slice.

use std::collections::{BTreeSet, HashMap};

use fleet_api::multicluster::standard::ServiceImportPort;
use fleet_api::{Endpoint, EndpointPort, names};
use fleet_model::ports::same_in_slices;
use k8s_openapi::api::discovery::v1::{self as discovery, EndpointConditions, EndpointSlice};

use super::bound::Binding;
use super::marks;
use crate::executing;
use crate::multicluster::import::ports;

/// Builds the endpoints. Ready ones carry no conditions, as those of the fleet: absent means ready.
pub(super) fn endpoints(
    ready: &[Endpoint],
    draining: &[Endpoint],
    with_zones: bool,
) -> Vec<discovery::Endpoint> {
    let endpoint = |endpoint: &Endpoint, conditions| {
        let hostname = endpoint.hostname.as_deref().filter(|name| names::is_dns1123_label(name));
        discovery::Endpoint {
            addresses: endpoint.addresses.clone(),
            conditions,
            // An exporter can write any; the API server would refuse the slice.
            hostname: hostname.map(str::to_owned),
            zone: endpoint.zone.as_deref().filter(|_| with_zones).map(str::to_owned),
            node_name: executing::node_of(endpoint),
            ..discovery::Endpoint::default()
        }
    };
    let (ready_, serving, terminating) = (Some(false), Some(true), Some(true));
    let last = EndpointConditions { ready: ready_, serving, terminating };
    let ready = ready.iter().map(|ready| endpoint(ready, None));
    let draining = draining.iter().map(|leaves| endpoint(leaves, Some(last.clone())));
    ready.chain(draining).collect()
}

/// The ports of a slice that are in force: those whose names the import has and `is_in_force` accepts, with the name that they
/// have on the derived Service.
pub(super) fn ports(
    list: &[EndpointPort],
    in_force: &[ServiceImportPort],
    binding: Binding<'_>,
    is_in_force: impl Fn(&ServiceImportPort) -> bool,
) -> Vec<discovery::EndpointPort> {
    let names = match binding {
        Binding::Derived(_) => ports::names(in_force),
        // DNS names ports as the exporters do.
        Binding::Headless => in_force.iter().map(|port| port.name.clone()).collect(),
    };
    let here = in_force.iter().zip(&names).filter(|(of, _)| is_in_force(of));
    let here: HashMap<&str, &String> = here.map(|(of, name)| (of.name.as_str(), name)).collect();
    let as_here = |port: &EndpointPort| {
        let found = here.get(port.name.as_deref().unwrap_or_default());
        found.map(|name| discovery::EndpointPort {
            name: Some((*name).clone()),
            port: port.port,
            protocol: port.protocol.clone().or_else(|| Some(ports::TCP.to_owned())),
            app_protocol: port.app_protocol.clone(),
        })
    };
    list.iter().filter_map(as_here).collect()
}

/// Whether a slice needs no write.
pub(super) fn is_current(current: &EndpointSlice, wanted: &EndpointSlice) -> bool {
    marks::are_current(current, wanted)
        && current.address_type == wanted.address_type
        && carries(current, wanted)
}

/// Whether a slice has the endpoints and ports of another one, whatever its labels and annotations.
pub(super) fn carries(current: &EndpointSlice, wanted: &EndpointSlice) -> bool {
    same_in_slices(&listed(current), &listed(wanted))
        && current.endpoints.len() == wanted.endpoints.len()
        && current.endpoints.iter().zip(&wanted.endpoints).all(|(a, b)| plain(a) == plain(b))
}

fn listed(slice: &EndpointSlice) -> Vec<EndpointPort> {
    slice.ports.iter().flatten().map(EndpointPort::from).collect()
}

/// An endpoint without what API servers fill in.
fn plain(endpoint: &discovery::Endpoint) -> discovery::Endpoint {
    let mut endpoint = endpoint.clone();
    endpoint.conditions = endpoint.conditions.filter(|it| *it != EndpointConditions::default());
    endpoint
}

/// Whether traffic to some endpoint of a slice may fail until it is written.
pub(super) fn loses(current: &EndpointSlice, wanted: &EndpointSlice) -> bool {
    fn taking(slice: &EndpointSlice) -> BTreeSet<(&str, bool)> {
        let endpoints = slice.endpoints.iter();
        let addresses = endpoints.flat_map(|endpoint| {
            let is_ready = plain(endpoint).conditions.is_none();
            endpoint.addresses.iter().map(move |address| (address.as_str(), is_ready))
        });
        addresses.collect()
    }
    !taking(current).is_subset(&taking(wanted))
}

/// Whether a proxy ignores all hints because of an endpoint that is ready without.
pub(super) fn voids_hints(slice: &EndpointSlice) -> bool {
    let is_ready = |endpoint: &discovery::Endpoint| {
        endpoint.conditions.as_ref().and_then(|it| it.ready).unwrap_or(true)
    };
    slice.endpoints.iter().any(|endpoint| endpoint.hints.is_none() && is_ready(endpoint))
}
