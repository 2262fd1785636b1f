use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use serde_json::{Value, json};

use super::allocation::Allocation;
use super::annotation;
use super::assignment::{assign, hints_of, ready_in, redistribute};
use super::balance::moves;
use super::distribution::Distribution;
use super::endpoints::{clear, hinted_nodes, hinted_zones};
use super::zones::{Counts, Zones};
use crate::Cause;
use crate::changes::{Packed, Update};
use crate::tests::fixture::{node, object, service, with};

fn counts(of: &[(&str, usize)]) -> Counts {
    of.iter().map(|(zone, count)| ((*zone).to_owned(), *count)).collect()
}

/// A slice of endpoints: their zone (or none), readiness, and hinted zones.
fn slice(endpoints: &[(Option<&str>, Option<bool>, &[&str])]) -> EndpointSlice {
    let endpoint = |(zone, ready, hints): &(Option<&str>, Option<bool>, &[&str])| -> Endpoint {
        let mut endpoint = json!({"addresses": ["10.0.0.1"], "zone": zone, "conditions": {"ready": ready}, "nodeName": "n"});
        if !hints.is_empty() {
            let zones: Vec<Value> = hints.iter().map(|name| json!({"name": name})).collect();
            endpoint["hints"] = json!({"forZones": zones});
        }
        object(endpoint)
    };
    EndpointSlice {
        endpoints: endpoints.iter().map(endpoint).collect(),
        ..EndpointSlice::default()
    }
}

fn hinted(slice: &EndpointSlice) -> Vec<Option<&str>> {
    let hint = |endpoint| hinted_zones(endpoint).first().map(|zone| zone.name.as_str());
    slice.endpoints.iter().map(hint).collect()
}

fn shares(of: &[(&str, f64)]) -> Zones {
    Zones::Shares(of.iter().map(|(zone, share)| ((*zone).to_owned(), *share)).collect())
}

/// EPS-60: which annotations ask for hints.
#[test]
fn the_older_annotation_wins() {
    const MODE: &str = "service.kubernetes.io/topology-mode";
    const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
    for (annotations, expected) in [
        (json!({}), false),
        (json!({"other": "auto"}), false),
        (json!({HINTS: "enabled"}), false),
        (json!({HINTS: "aUto"}), false),
        (json!({HINTS: "disabled"}), false),
        (json!({HINTS: "auto"}), true),
        (json!({HINTS: "Auto"}), true),
        (json!({MODE: "enabled"}), false),
        (json!({MODE: "aUto"}), false),
        (json!({MODE: "disabled"}), false),
        (json!({MODE: "auto"}), true),
        (json!({MODE: "Auto"}), true),
        (json!({MODE: "disabled", HINTS: "auto"}), true),
        (json!({MODE: "auto", HINTS: "disabled"}), false),
    ] {
        let service = with(&service(), "/metadata/annotations", annotations.clone());
        assert_eq!(annotation::follows_capacity(&service), expected, "{annotations}");
    }
}

/// EPS-62: without shares, and with more zones than endpoints.
#[test]
fn hints_are_refused() {
    let three = shares(&[("a", 0.4), ("b", 0.3), ("c", 0.3)]);
    let two = slice(&[(Some("a"), Some(true), &[]), (Some("b"), Some(true), &[])]);
    let zoneless = slice(&[(None, Some(true), &[]), (Some("b"), Some(true), &[])]);
    let halves = shares(&[("a", 0.5), ("b", 0.5)]);
    for (zones, slices, cause) in [
        (&Zones::Unknown, vec![], Cause::NodeInfo),
        (&Zones::Unknown, vec![two.clone()], Cause::NodeInfo),
        (&Zones::default(), vec![two.clone()], Cause::OneZone),
        (&three, vec![two], Cause::TooFewEndpoints),
        (&halves, vec![zoneless], Cause::EndpointWithoutZone),
    ] {
        let mut packed = Packed { creates: slices, ..Packed::default() };
        assert_eq!(assign(zones, &mut packed).unwrap_err().cause, cause);
    }
}

/// EPS-62: each for its own zone; what is not ready gets none.
#[test]
fn two_zones_keep_their_own() {
    let zones = shares(&[("a", 0.45), ("b", 0.55)]);
    let one = slice(&[
        (Some("a"), Some(true), &[]),
        (Some("b"), Some(true), &[]),
        (Some("b"), Some(false), &[]),
        (Some("b"), None, &[]),
    ]);
    let mut packed = Packed { creates: vec![one], ..Packed::default() };
    assert_eq!(assign(&zones, &mut packed), Ok(counts(&[("a", 1), ("b", 1)])));
    assert_eq!(hinted(&packed.creates[0]), [Some("a"), Some("b"), None, None]);
}

/// EPS-62: creates come before updates, so the very first endpoint moves.
#[test]
fn the_first_endpoint_of_a_full_zone_moves() {
    let zones = shares(&[("a", 0.35), ("b", 0.35), ("c", 0.30)]);
    let of = |zones: &[&'static str]| {
        slice(&zones.iter().map(|zone| (Some(*zone), Some(true), &[][..])).collect::<Vec<_>>())
    };
    let empty = EndpointSlice::default();
    let update = |slice| Update { slice, of: &empty, recycled: false };
    let mut packed = Packed {
        creates: vec![of(&["a", "b"]), of(&["a", "c", "c"])],
        updates: vec![update(of(&["a", "a", "b"])), update(of(&["a", "c"]))],
        ..Packed::default()
    };
    assert_eq!(assign(&zones, &mut packed), Ok(counts(&[("a", 4), ("b", 3), ("c", 3)])));
    assert_eq!(hinted(&packed.creates[0])[0], Some("b"));
}

/// EPS-63: which nodes make which shares.
#[test]
fn ready_workers_share_the_capacity() {
    let not_ready = |mut node: Node| {
        node.status.as_mut().unwrap().conditions = None;
        node
    };
    let control_plane = |mut node: Node| {
        let label = "node-role.kubernetes.io/control-plane".to_owned();
        node.metadata.labels.as_mut().unwrap().insert(label, String::new());
        node
    };
    let in_zone = |zone: &str, cpu: &str| node("n", Some(zone), cpu);
    for (nodes, expected) in [
        (vec![], Zones::Unknown),
        (vec![in_zone("a", "1")], Zones::Unknown),
        (vec![in_zone("a", "1"), in_zone("a", "2")], Zones::Unknown),
        (vec![in_zone("a", "1"), not_ready(in_zone("b", "1"))], Zones::Unknown),
        (vec![in_zone("a", "1"), control_plane(in_zone("b", "1"))], Zones::Unknown),
        (vec![in_zone("a", "1"), in_zone("b", "1"), node("n", None, "1")], Zones::Unknown),
        (vec![in_zone("a", "1"), in_zone("b", "0")], Zones::Unknown),
        (vec![in_zone("a", "1"), in_zone("b", "1000m")], shares(&[("a", 0.5), ("b", 0.5)])),
        (
            vec![
                in_zone("a", "1"),
                in_zone("b", "1"),
                not_ready(in_zone("c", "1")),
                control_plane(in_zone("d", "9")),
            ],
            shares(&[("a", 0.5), ("b", 0.5)]),
        ),
        (
            vec![in_zone("a", "5000m"), in_zone("b", "4.5"), in_zone("c", "500m")],
            shares(&[("a", 0.5), ("b", 0.45), ("c", 0.05)]),
        ),
    ] {
        assert_eq!(Zones::of(&nodes), expected, "{nodes:?}");
    }
}

/// EPS-64: only what is ready counts.
#[test]
fn ready_endpoints_are_counted() {
    assert_eq!(ready_in(&EndpointSlice::default()), 0);
    let some = [true, false, true].map(|ready| (Some("a"), Some(ready), &[][..]));
    assert_eq!(ready_in(&slice(&some)), 2);
}

/// EPS-65: nothing to move; one; two to different zones.
#[test]
fn redistribution_moves_the_given_numbers() {
    for (gives, takes, expected) in [
        (counts(&[]), counts(&[]), ["a", "a", "b"]),
        (counts(&[("a", 1)]), counts(&[("b", 1)]), ["b", "a", "b"]),
        (counts(&[("a", 2)]), counts(&[("b", 1), ("c", 1)]), ["b", "c", "b"]),
    ] {
        let (mut gives, mut takes) = (gives, takes);
        let own = ["a", "a", "b"].map(|zone| (Some(zone), Some(true)));
        let endpoints: Vec<(_, _, &[&str])> = vec![
            (own[0].0, own[0].1, &["a"]),
            (own[1].0, own[1].1, &["a"]),
            (own[2].0, own[2].1, &["b"]),
        ];
        let mut packed = Packed { creates: vec![slice(&endpoints)], ..Packed::default() };
        redistribute(&mut packed, &mut gives, &mut takes, &mut counts(&[("a", 2), ("b", 1)]));
        assert_eq!(hinted(&packed.creates[0]), expected.map(Some));
    }
}

/// EPS-66: desired and counted → who gives and who takes.
#[test]
fn endpoints_move_only_where_it_helps() {
    type Case<'a> = ([(f64, f64); 3], &'a [(&'a str, usize)], &'a [(&'a str, usize)]);
    let cases: [Case<'_>; 8] = [
        ([(1.2, 1.0), (1.1, 1.0), (1.0, 1.0)], &[], &[]),
        ([(5.1, 16.0), (5.1, 0.0), (5.8, 0.0)], &[("a", 10)], &[("b", 5), ("c", 5)]),
        ([(5.0, 16.0), (5.6, 0.0), (5.4, 0.0)], &[("a", 11)], &[("b", 6), ("c", 5)]),
        ([(5.0, 0.0), (5.6, 8.0), (5.4, 8.0)], &[("b", 2), ("c", 3)], &[("a", 5)]),
        ([(1.0, 9.0), (1.0, 9.0), (1.0, 9.0)], &[], &[]),
        ([(-5.1, 1.0), (-5.1, 1.0), (-5.8, 1.0)], &[], &[]),
        ([(5.1, -1.0), (5.1, -1.0), (5.8, -1.0)], &[], &[]),
        ([(-40.0, 5.0), (20.0, 5.0), (20.0, 5.0)], &[("a", 30)], &[("b", 15), ("c", 15)]),
    ];
    for (zones, gives, takes) in cases {
        let lacking =
            ["a", "b", "c"].into_iter().zip(zones.map(|(desired, counted)| desired - counted));
        assert_eq!(moves(lacking.collect()), (counts(gives), counts(takes)), "{zones:?}");
    }
    assert_eq!(moves(BTreeMap::new()), (counts(&[]), counts(&[])));
}

/// EPS-67: the hints of an unchanged slice: their number per zone, or wrong.
#[test]
fn hints_of_an_unchanged_slice() {
    let allocations: BTreeMap<&str, Allocation> = [
        ("a", Allocation { desired: 1.0, maximum: 3 }),
        ("b", Allocation { desired: 2.0, maximum: 3 }),
    ]
    .into();
    let ready = |hints: &'static [&'static str]| (Some("a"), Some(true), hints);
    let none = counts(&[]);
    for (endpoints, before, expected) in [
        (vec![], &none, Some(vec![])),
        (vec![ready(&["a"])], &none, Some(vec![("a", 1)])),
        (vec![ready(&["a"]), (Some("a"), Some(false), &["b"][..])], &none, Some(vec![("a", 1)])),
        (vec![ready(&["a"]), ready(&["a"]), ready(&["b"])], &none, Some(vec![("a", 2), ("b", 1)])),
        (vec![ready(&["elsewhere"])], &none, None),
        (vec![ready(&["a"]), ready(&[])], &none, None),
        (vec![ready(&["a"]), ready(&["a"])], &counts(&[("a", 2)]), None),
    ] {
        let slice = slice(&endpoints);
        let found = hints_of(&slice, &allocations, before);
        assert_eq!(found, expected.map(|counts| counts.into_iter().collect()), "{endpoints:?}");
    }
}

/// EPS-68: what each distribution makes of new, changed and unchanged slices.
#[test]
fn distributions_correct_hints() {
    let old = slice(&[(Some("a"), Some(true), &["b"])]);
    let right = slice(&[(Some("a"), Some(true), &["a"])]);
    let idle = slice(&[(Some("a"), Some(false), &["b"])]);
    let nowhere = slice(&[(None, Some(true), &[])]);
    for distribution in [Distribution::Close, Distribution::SameZone, Distribution::SameNode] {
        let nodes = usize::from(distribution == Distribution::SameNode);
        let mut packed = Packed {
            creates: vec![old.clone(), nowhere.clone()],
            unchanged: vec![&old, &right, &idle],
            ..Packed::default()
        };
        distribution.apply(&mut packed);
        assert_eq!(hinted(&packed.creates[0]), [Some("a")]);
        assert_eq!(packed.creates[1].endpoints[0].hints.is_some(), nodes == 1);
        assert_eq!(hinted_nodes(&packed.creates[0].endpoints[0]).len(), nodes);
        // The slice that is right by zone still lacks its node hint.
        assert_eq!((packed.updates.len(), packed.unchanged.len()), (1 + nodes, 2 - nodes));
        assert!(packed.unchanged.iter().any(|slice| **slice == idle));
        assert_eq!(hinted(&packed.updates[0].slice), [Some("a")]);
    }
    assert_eq!(Distribution::parse("Elsewhere"), None);
}

/// EPS-68: without distribution, hints go.
#[test]
fn no_mechanism_means_no_hints() {
    let (hinted_slice, plain) =
        (slice(&[(Some("a"), Some(false), &["b"])]), slice(&[(Some("a"), Some(true), &[])]));
    let mut packed = Packed {
        creates: vec![hinted_slice.clone()],
        unchanged: vec![&hinted_slice, &plain],
        ..Packed::default()
    };
    clear(&mut packed);
    assert_eq!((packed.updates.len(), packed.unchanged.len()), (1, 1));
    assert_eq!(hinted(&packed.creates[0]), [None]);
    assert_eq!(hinted(&packed.updates[0].slice), [None]);
}

/// EPS-101: nodes and counts → whether the Service must be looked at again.
#[test]
fn overloaded_services_are_found() {
    let cpus = |cpus: &[(&str, &str)]| -> Vec<Node> {
        cpus.iter()
            .map(|(zone, cpu)| node("n", Some(*zone).filter(|zone| !zone.is_empty()), cpu))
            .collect()
    };
    for (nodes, counted, expected) in [
        (cpus(&[]), counts(&[]), 0),
        (
            cpus(&[("a", "100m"), ("b", "1"), ("c", "2")]),
            counts(&[("a", 1), ("b", 2), ("c", 3)]),
            1,
        ),
        (cpus(&[("a", "1"), ("b", "1")]), counts(&[("a", 5), ("b", 4)]), 0),
        (cpus(&[("a", "1"), ("", "1")]), counts(&[("a", 5), ("b", 4)]), 1),
        (cpus(&[("a", "1"), ("b", "0")]), counts(&[("a", 5), ("b", 4)]), 1),
        (cpus(&[("a", "1"), ("b", "1")]), counts(&[("a", 6), ("b", 4)]), 1),
        (
            cpus(&[("a", "2"), ("b", "1"), ("c", "100m")]),
            counts(&[("a", 20), ("b", 10), ("c", 1)]),
            0,
        ),
        (cpus(&[("a", "2"), ("b", "1"), ("c", "100m")]), counts(&[("a", 20), ("b", 10)]), 1),
    ] {
        let mut cache = crate::TopologyCache::default();
        cache.set_nodes(&nodes);
        let mut hints = crate::ServiceHints::default();
        hints.set(crate::AddressType::IPv4, counted.clone());
        cache.set_hints("test/foo", hints);
        assert_eq!(cache.overloaded().count(), expected, "{counted:?}");
    }
}
