//! Hints say who should use an endpoint. One of two mechanisms gives them: the topology annotation, which spreads load
//! by capacity, or the Service's traffic distribution, which keeps traffic close.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointHints, ForNode, ForZone};

use crate::packing::Packed;
use crate::reconcile::Update;
use crate::slice::Mould;
use crate::{Cause, Config, Event, Hints};

use self::distribution::Distribution;
use self::topology::{Overview, ServiceHints};

mod allocation;
pub(crate) mod annotation;
mod assignment;
mod balance;
mod distribution;
#[cfg(test)]
mod tests;
pub(crate) mod topology;

/// What hints came to for one address type.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    pub(crate) event: Option<Event>,
    pub(crate) topology: bool,
    pub(crate) traffic_distribution: Option<&'static str>,
}

/// Gives all endpoints of one address type the hints they should have. Unchanged slices become updates where theirs are
/// wrong.
pub(crate) fn apply(
    mould: &Mould<'_>,
    topology: Option<Overview<'_>>,
    known: &mut ServiceHints,
    packed: &mut Packed<'_>,
) -> Applied {
    let Mould { service, config, address_type, .. } = *mould;
    let event = |cause, sizes| Event { cause, address_type, sizes };
    if annotation::follows_capacity(service) {
        let Some(topology) = topology else {
            clear(packed);
            return Applied::default();
        };
        let mut applied = Applied { topology: true, ..Applied::default() };
        match assignment::assign(topology.zones, packed) {
            Ok(counts) => {
                let first = !known.has(address_type);
                known.set(address_type, counts);
                applied.event = first.then(|| event(Cause::Enabled, None));
            }
            Err(refusal) => {
                clear(packed);
                known.forget(address_type);
                applied.event = Some(event(refusal.cause, refusal.sizes));
            }
        }
        return applied;
    }
    let disabled = topology.is_some() && known.forget(address_type);
    let event = disabled.then(|| event(Cause::Disabled, None));
    let distribution = distribution_of(service, config);
    match distribution {
        Some(distribution) => distribution.apply(packed),
        None => clear(packed),
    }
    let traffic_distribution = distribution.map(Distribution::as_str);
    Applied { event, topology: false, traffic_distribution }
}

fn distribution_of(service: &Service, config: &Config) -> Option<Distribution> {
    let value = service.spec.as_ref()?.traffic_distribution.as_deref()?;
    Distribution::parse(value)
        .filter(|distribution| *distribution == Distribution::Close || config.hints == Hints::All)
}

/// Takes all hints away.
pub(crate) fn clear(packed: &mut Packed<'_>) {
    rewrite(packed, |endpoint| endpoint.hints.is_some());
    each_written(packed, |endpoint| endpoint.hints = None);
}

/// Makes unchanged slices updates where some endpoint is `wrong`.
fn rewrite(packed: &mut Packed<'_>, wrong: impl Fn(&Endpoint) -> bool) {
    let Packed { unchanged, updates, .. } = packed;
    unchanged.retain(|&of| {
        let right = !of.endpoints.iter().any(&wrong);
        if !right {
            updates.push(Update { slice: of.clone(), of, recycled: false });
        }
        right
    });
}

/// Visits the endpoints to be written: those of creates first.
fn each_written(packed: &mut Packed<'_>, mut visit: impl FnMut(&mut Endpoint)) {
    let updates = packed.updates.iter_mut().map(|update| &mut update.slice);
    for slice in packed.creates.iter_mut().chain(updates) {
        slice.endpoints.iter_mut().for_each(&mut visit);
    }
}

fn for_zone(zone: &str) -> EndpointHints {
    EndpointHints { for_zones: Some(vec![ForZone { name: zone.to_owned() }]), for_nodes: None }
}

fn for_node(node: &str) -> Vec<ForNode> {
    vec![ForNode { name: node.to_owned() }]
}

/// Zones hinted by an endpoint.
fn hinted_zones(endpoint: &Endpoint) -> &[ForZone] {
    let zones = endpoint.hints.as_ref().and_then(|hints| hints.for_zones.as_deref());
    zones.unwrap_or_default()
}

/// Nodes hinted by an endpoint.
fn hinted_nodes(endpoint: &Endpoint) -> &[ForNode] {
    let nodes = endpoint.hints.as_ref().and_then(|hints| hints.for_nodes.as_deref());
    nodes.unwrap_or_default()
}

/// How many endpoints each zone is hinted.
pub(crate) type Counts = BTreeMap<String, usize>;
