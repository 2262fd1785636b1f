//! Hints end to end.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use super::fixture::{World, counts, node, pod_on, service, with};
use crate::{Cause, Hints, TopologyCache};

/// The given numbers of pods on the nodes of zones a, b and c, numbered from `first`.
fn spread(first: usize, sizes: [usize; 3]) -> Vec<Pod> {
    let zones = ["node-a", "node-b", "node-c"].into_iter().zip(sizes);
    let nodes = zones.flat_map(|(node, count)| std::iter::repeat_n(node, count));
    nodes.enumerate().map(|(n, node)| pod_on(first + n, node, true)).collect()
}

/// Three zones of equal capacity; slices that hold the given pods, made before the Service asked for hints.
fn world(annotation: Option<&str>, parts: &[Vec<Pod>], cached: bool) -> World {
    let mut world = World::new(service(), parts.concat());
    world.nodes = ["a", "b", "c"]
        .map(|zone| node(&format!("node-{zone}"), Some(&format!("zone-{zone}")), "1"))
        .into();
    let mut world = world.given(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>());
    if let Some(value) = annotation {
        let key = "/metadata/annotations/service.kubernetes.io~1topology-aware-hints";
        world.service = with(&world.service, key, json!(value));
    }
    if cached {
        let mut topology = TopologyCache::default();
        topology.set_nodes(&world.nodes);
        world.topology = Some(topology);
    }
    world
}

/// Endpoints hinted per zone; and how many for another zone than their own.
fn zones(world: &World) -> (BTreeMap<&str, usize>, usize) {
    let (mut zones, mut cross) = (BTreeMap::new(), 0);
    for endpoint in world.slices.iter().flat_map(|slice| &slice.endpoints) {
        for hint in endpoint.hints.iter().flat_map(|hints| hints.for_zones.iter().flatten()) {
            *zones.entry(hint.name.as_str()).or_default() += 1;
            cross += usize::from(endpoint.zone.as_deref() != Some(&hint.name));
        }
    }
    (zones, cross)
}

/// EPS-44: nothing is known of the cluster.
#[test]
fn without_a_cache_there_are_no_hints() {
    let mut world = world(Some("auto"), &[spread(0, [0, 0, 3])], false);
    assert_eq!(world.counts(), (0, 0, 0));
    assert_eq!(zones(&world).0.len(), 0);
}

/// EPS-45: endpoints of one zone are distributed, with one Event.
#[test]
fn endpoints_are_shared_by_capacity() {
    let mut world = world(Some("auto"), &[spread(0, [0, 0, 3])], true);
    let (writes, events) = world.run(|outcome| (counts(outcome), outcome.events.clone()));
    assert_eq!(writes, (0, 1, 0));
    assert_eq!(events[0].cause, Cause::Enabled);
    assert_eq!(zones(&world), ([("zone-a", 1), ("zone-b", 1), ("zone-c", 1)].into(), 2));
    assert_eq!(world.run(|outcome| (counts(outcome), outcome.events.len())), ((0, 0, 0), 0));
}

/// EPS-46: four endpoints in three zones overload one.
#[test]
fn too_few_endpoints_would_overload_a_zone() {
    let mut world = world(Some("auto"), &[spread(0, [2, 0, 2])], true);
    let events = world.run(|outcome| (counts(outcome), outcome.events.clone()));
    assert_eq!(events.0, (0, 0, 0));
    assert_eq!(
        events.1[0].to_string(),
        "Hints would overload a zone (4 endpoints, 3 zones), addressType: IPv4"
    );
}

/// EPS-47, EPS-48: two slices together, if the annotation requests hints.
#[test]
fn both_slices_are_balanced_together() {
    let parts = [spread(0, [2, 0, 2]), spread(4, [2, 3, 0])];
    let mut on = world(Some("Auto"), &parts, true);
    assert_eq!(on.counts(), (0, 2, 0));
    assert_eq!(zones(&on), ([("zone-a", 3), ("zone-b", 3), ("zone-c", 3)].into(), 1));
    let mut off = world(Some("disabled"), &parts, true);
    assert_eq!(off.counts(), (0, 0, 0));
}

/// The annotation goes: so do the hints, with an Event.
#[test]
fn hints_are_removed_with_the_annotation() {
    let mut world = world(Some("auto"), &[spread(0, [0, 0, 3])], true);
    world.counts();
    world.service.metadata.annotations = None;
    let (writes, events) = world.run(|outcome| (counts(outcome), outcome.events.clone()));
    assert_eq!((writes, events[0].cause), ((0, 1, 0), Cause::Disabled));
    assert_eq!(zones(&world).0.len(), 0);
    assert_eq!(world.run(|outcome| (counts(outcome), outcome.events.len())), ((0, 0, 0), 0));
}

/// EPS-102: nodes that have no zone yet refuse hints; when they get one, hints begin.
#[test]
fn hints_are_assigned_once_nodes_have_zones() {
    let mut world = world(Some("auto"), &[spread(0, [2, 2, 0])], true);
    let cause = |world: &mut World| world.run(|outcome| outcome.events[0].cause);
    for (zones, expected) in
        [([None; 2], Cause::NodeInfo), ([Some("zone-a"), Some("zone-b")], Cause::Enabled)]
    {
        world.nodes = ["node-a", "node-b"]
            .into_iter()
            .zip(zones)
            .map(|(name, zone)| node(name, zone, "1"))
            .collect();
        world.topology.as_mut().unwrap().set_nodes(&world.nodes);
        assert_eq!(cause(&mut world), expected);
    }
    assert_eq!(zones(&world).0, [("zone-a", 2), ("zone-b", 2)].into());
}

/// The original sends a slice again at every look when one of its endpoints has no zone.
#[test]
fn an_endpoint_without_zone_causes_no_writes() {
    let mut world = world(Some("auto"), &[spread(0, [1, 1, 1])], true);
    world.nodes[0] = node("node-a", None, "1");
    assert_eq!(world.counts(), (0, 1, 0), "the zone goes");
    let causes = world.run(|outcome| (counts(outcome), outcome.events[0].cause));
    assert_eq!(causes, ((0, 0, 0), Cause::EndpointWithoutZone));
}

/// EPS-49 to EPS-53: distribution, annotation, values accepted → hints per zone, node hints, whether topology and which
/// distribution count.
#[test]
fn traffic_distribution_and_annotation() {
    let own = [("zone-a", 1), ("zone-b", 3), ("zone-c", 2)];
    let even = [("zone-a", 2), ("zone-b", 2), ("zone-c", 2)];
    for (distribution, annotation, accepted, hinted, nodes, topology, counted) in [
        (Some("PreferClose"), "Disabled", Hints::Close, &own[..], 0, false, Some("PreferClose")),
        (Some("PreferClose"), "Auto", Hints::Close, &even[..], 0, true, None),
        (None, "", Hints::Close, &[][..], 0, false, None),
        (
            Some("PreferSameNode"),
            "Disabled",
            Hints::All,
            &own[..],
            6,
            false,
            Some("PreferSameNode"),
        ),
        (Some("PreferSameZone"), "Disabled", Hints::Close, &[][..], 0, false, None),
    ] {
        let mut world = world(Some(annotation), &[], true);
        world.pods = spread(0, [1, 3, 2]);
        world.config.hints = accepted;
        world.service = with(&world.service, "/spec/trafficDistribution", json!(distribution));
        let (measures, writes) = world.measured();
        assert_eq!(writes, (1, 0, 0));
        assert_eq!(
            zones(&world).0,
            hinted.iter().copied().collect(),
            "{distribution:?} {annotation}"
        );
        let endpoints = &world.only().endpoints;
        let of_nodes = endpoints
            .iter()
            .flat_map(|endpoint| endpoint.hints.iter().flat_map(|hints| &hints.for_nodes));
        assert_eq!(of_nodes.flatten().count(), nodes);
        assert_eq!((measures[0].topology, measures[0].traffic_distribution), (topology, counted));
    }
}
