//! Slices of this cluster's own endpoints. They never go through the hub: everything here is known without it.

use std::collections::{BTreeMap, HashMap};

use fleet_accumulator::Object;
use fleet_api::multicluster::standard::ServiceImportPort;
use fleet_api::{Endpoint, EndpointPort, ObjectName, ServicePort, names};
use fleet_model::objects::{EndpointSlice, Service, SliceIndex};
use fleet_model::weight;
use k8s_openapi::api::discovery::v1 as discovery;

use super::bound::{Bound, Wanted};
use super::marks::Origin;
use super::outcome::Outcome;
use super::{content, marks};
use crate::executing::Executing;
use crate::intent::{self, StandardDecision};
use crate::measurement::Plan;
use crate::multicluster::import::state::ServiceState;
use crate::multicluster::import::{derived, ports, source};
use crate::{own_weight, slicing, traffic};

/// Adds what is wanted of this cluster's own slices.
pub(super) fn collect(
    state: &ServiceState<'_>,
    bound: Bound<'_>,
    outcome: &mut Outcome,
    plan: &mut Plan,
) {
    let Some(service) = exported(state) else { return };
    for slice in slices(state).filter(|slice| bound.takes(&slice.address_type)) {
        let Some(name) = name(state, slice) else {
            derived::wait(plan);
            continue;
        };
        let current = state.imported_as(&name).map(|current| &current.slice);
        let wanted = wanted(state, bound, service, (slice, current));
        outcome.wanted.insert(name, wanted);
    }
}

/// The Service whose endpoints are part of the import: this cluster exports it, and the hub lists it or, where that is not known,
/// the import does.
pub(in crate::multicluster::import) fn exported<'a>(
    state: &ServiceState<'a>,
) -> Option<&'a Object<Service>> {
    let (settings, service) = (state.settings, state.service);
    let is_exported = match intent::standard_decision(settings, service, state.snapshot) {
        StandardDecision::Accepted => true,
        StandardDecision::NotExported => false,
        StandardDecision::Undecided => {
            let cluster = state.cluster();
            let is_lost = state.resolved.is_some_and(|it| it.exporter(cluster).is_none());
            state.is_part() && !(is_lost && state.may_remove(cluster))
        }
    };
    state.snapshot.services.get(service).filter(|_| is_exported)
}

/// The slices that back the Service here. Where its endpoints are on a secondary network, those travel, and clients here
/// use the ordinary ones.
pub(in crate::multicluster::import) fn slices<'a>(
    state: &ServiceState<'a>,
) -> impl Iterator<Item = &'a Object<EndpointSlice>> {
    let backs = SliceIndex::Backs(state.service.clone());
    let slices = state.snapshot.endpoint_slices.by(&backs);
    let settings = state.settings;
    slices.filter(move |slice| slicing::is_exportable(settings, slice, false))
}

/// The name of the imported slice: that which the exported one has on the hub and in all other clusters, unless another member took
/// it. What those names are made of all members read on the hub, but not the uid of the import.
pub(in crate::multicluster::import) fn name(
    state: &ServiceState<'_>,
    slice: &Object<EndpointSlice>,
) -> Option<String> {
    let (cluster, ObjectName { namespace, name }) = (state.cluster(), &slice.name);
    let named = |uid: &str| names::slice_export_candidates(cluster, namespace, name, uid);
    let import = state.import.into_iter();
    let own = import.flat_map(|import| named(&format!("{} {}", slice.uid, import.uid)));
    named(&slice.uid.to_string()).chain(own).find(|name| {
        let taken = state.snapshot.endpoint_slices.get(&state.beside(name.as_str())).is_some();
        let ours = state.imported_as(name);
        !taken || ours.is_some_and(|ours| source::cluster(&ours.slice) == Some(cluster))
    })
}

fn wanted(
    state: &ServiceState<'_>,
    bound: Bound<'_>,
    service: &Service,
    (slice, current): (&Object<EndpointSlice>, Option<&discovery::EndpointSlice>),
) -> Wanted {
    let cluster = state.cluster();
    let generation = slice.meta.generation;
    let own = by_name(&service.ports);
    let weight = own_weight::of(state.settings, state.snapshot, state.service);
    // One that cannot be read changes nothing.
    let weight = weight.unwrap_or_else(|| current.map_or(weight::USUAL, traffic::weight_of));
    Wanted {
        slice: discovery::EndpointSlice {
            metadata: marks::metadata(
                state,
                bound,
                Origin { cluster, mark: None, generation, weight },
            ),
            address_type: slice.address_type.as_str().to_owned(),
            endpoints: endpoints(state, slice),
            ports: Some(content::ports(
                &slice.ports,
                &bound.target.spec.ports,
                bound.binding,
                |of| is_in_force(&own, of),
            )),
        },
        source: None,
        cluster: cluster.to_owned(),
        generation,
        exported: None,
        trace: None,
    }
}

/// The endpoints with their Nodes, by which proxies know what `internalTrafficPolicy: Local` leads to.
fn endpoints(state: &ServiceState<'_>, slice: &EndpointSlice) -> Vec<discovery::Endpoint> {
    let (ready, draining) = slice.detailed();
    let mut endpoints = content::endpoints(&ready, &draining, state.settings.multicluster.zones);
    for (endpoint, node) in endpoints.iter_mut().zip(slice.nodes()) {
        endpoint.node_name = node.map(str::to_owned);
    }
    endpoints
}

/// Ports by their names, which are unique in a Service.
fn by_name(own: &[ServicePort]) -> HashMap<&str, &ServicePort> {
    own.iter().map(|port| (port.name.as_deref().unwrap_or_default(), port)).collect()
}

/// Whether a port is in force as this Service has it.
fn is_in_force(own: &HashMap<&str, &ServicePort>, of: &ServiceImportPort) -> bool {
    own.get(of.name.as_str())
        .is_some_and(|own| own.port == of.port && own.protocol.as_str() == ports::protocol(of))
}

/// Own endpoints that are neither ready nor terminating and run here: slices that are made of others lack them.
pub(super) fn unready(state: &ServiceState<'_>, executing: &Executing<'_>) -> usize {
    slices(state).map(|slice| executing.unready_here(slice)).sum()
}

/// Zones by the first address of each own endpoint.
pub(super) fn zones(state: &ServiceState<'_>) -> BTreeMap<String, String> {
    let endpoints = slices(state).flat_map(|slice| {
        let (ready, draining) = slice.detailed();
        ready.into_iter().chain(draining)
    });
    let zone = |endpoint: Endpoint| {
        let address = endpoint.addresses.into_iter().next()?;
        Some((address, endpoint.zone?.into()))
    };
    endpoints.filter_map(zone).collect()
}

/// Whether the Service here has a port as the import has it.
pub(in crate::multicluster::import) fn exposes(
    state: &ServiceState<'_>,
    port: &ServiceImportPort,
) -> bool {
    let service = state.snapshot.services.get(state.service);
    service.is_none_or(|service| is_in_force(&by_name(&service.ports), port))
}

/// Names of ports in slices of the derived Service, by those that the exported Service has.
pub(in crate::multicluster::import) fn names_here(
    list: &[ServiceImportPort],
) -> HashMap<&str, String> {
    list.iter().map(|port| port.name.as_str()).zip(ports::names(list)).collect()
}

/// A ready endpoint, with one of its ports: address, name, protocol and number.
type Offered<'a> = (&'a str, String, &'a str, Option<i32>);

/// The ready endpoints of a slice, with each port that has a name here.
pub(in crate::multicluster::import) fn offered<'a>(
    slice: &'a EndpointSlice,
    name: impl Fn(&str) -> Option<String>,
) -> Vec<Offered<'a>> {
    let here = |port: &'a EndpointPort| {
        let protocol = port.protocol.as_deref().unwrap_or(ports::TCP);
        Some((name(port.name.as_deref().unwrap_or_default())?, protocol, port.port))
    };
    let ports = slice.ports.iter().filter_map(here);
    let offered = ports.flat_map(|(name, protocol, number)| {
        slice.ready.addresses().map(move |address| (address, name.clone(), protocol, number))
    });
    offered.collect()
}
