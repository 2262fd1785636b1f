use std::collections::{BTreeMap, BTreeSet};

use fleet_traffic::Slot;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

use crate::traffic::change::{is_shape_only, loses, moves, same_endpoints};
use crate::traffic::placed::Placed;
use crate::traffic::shaping::{Distribution, OwnTopology, named, shaped};

fn slice(endpoints: &Value) -> EndpointSlice {
    let slice = json!({
        "addressType": "IPv4", "endpoints": endpoints, "metadata": { "name": "s" },
        "ports": [{ "name": "http", "port": 80 }],
    });
    serde_json::from_value(slice).unwrap()
}

fn zones(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn placed(slot: Slot, has_hints: bool) -> Placed {
    Placed { slot, has_hints }
}

fn endpoints(slice: &EndpointSlice) -> Value {
    json!(slice.endpoints)
}

/// Every slot, for an endpoint that is ready and for one that is draining at its exporter.
#[test]
fn slots_are_conditions_and_hints() {
    let draining = json!({ "ready": false, "serving": true, "terminating": true });
    let source = slice(&json!([
        { "addresses": ["10.0.0.1"] },
        { "addresses": ["10.0.0.2"], "conditions": draining },
    ]));
    let hints = |names: &[&str]| json!({ "forZones": names.iter().map(|name| json!({ "name": name })).collect::<Vec<_>>() });
    let own = hints(&["", "z1"]);
    let remote = hints(&["fleet.remote"]);
    let table = [
        (Slot::First, true, Some((true, Some(&own)))),
        (Slot::Second, true, Some((true, Some(&remote)))),
        (Slot::LastResort, true, Some((false, Some(&remote)))),
        (Slot::Pool, false, Some((true, None))),
        (Slot::LastResort, false, Some((false, None))),
        (Slot::Out, true, None),
    ];
    for (slot, has_hints, expected) in table {
        let all = [placed(slot, has_hints); 2];
        let found = shaped(&source, &all, &zones(&["", "z1"]), None);
        let endpoint = |address: &str, is_ready: bool, hints: Option<&Value>| {
            let mut endpoint = json!({ "addresses": [address] });
            if !is_ready {
                endpoint["conditions"] = draining.clone();
            }
            if let Some(hints) = hints {
                endpoint["hints"] = hints.clone();
            }
            endpoint
        };
        let expected = expected.map_or_else(
            || json!([]),
            |(ready, hints)| {
                json!([endpoint("10.0.0.1", ready, hints), endpoint("10.0.0.2", false, hints)])
            },
        );
        assert_eq!(endpoints(&found), expected, "{slot:?}");
        assert_eq!((&found.metadata, &found.ports), (&source.metadata, &source.ports));
    }
}

#[test]
fn an_endpoint_of_two_ports_gets_the_better_place() {
    let pool = placed(Slot::Pool, false);
    let table = [
        (placed(Slot::First, true), placed(Slot::LastResort, true), Slot::First),
        (placed(Slot::Second, true), placed(Slot::First, true), Slot::First),
        (pool, placed(Slot::First, true), Slot::First),
        (pool, placed(Slot::Second, true), Slot::Second),
        // Ready without a hint, it would switch off the hints of all others.
        (pool, placed(Slot::LastResort, true), Slot::Second),
        (pool, placed(Slot::LastResort, false), Slot::Pool),
        (pool, placed(Slot::Out, false), Slot::Pool),
        (placed(Slot::Out, true), placed(Slot::LastResort, true), Slot::LastResort),
    ];
    for (a, b, expected) in table {
        assert_eq!(a.merged(b).slot, expected, "{a:?} {b:?}");
        assert_eq!(a.merged(b), b.merged(a));
    }
}

/// Own endpoints in two of three zones, of a Service that prefers close ones.
#[test]
fn own_endpoints_of_a_zone_name_it_and_zones_without_any() {
    let source = slice(&json!([
        { "addresses": ["10.0.0.1"], "nodeName": "n1" },
        { "addresses": ["10.0.0.2"] },
    ]));
    let own = |distribution| OwnTopology {
        distribution,
        zones: BTreeMap::from([
            ("10.0.0.1".to_owned(), "z1".to_owned()),
            ("10.0.0.2".to_owned(), "z2".to_owned()),
        ]),
        ready_zones: zones(&["z1", "z2"]),
        elsewhere: BTreeSet::new(),
    };
    let all = [placed(Slot::First, true); 2];
    let nodes = zones(&["", "z1", "z2", "z3"]);
    let names = |distribution| -> Vec<BTreeSet<String>> {
        let found = shaped(&source, &all, &nodes, Some(&own(distribution)));
        let one = |at: usize| slice(&json!([found.endpoints[at]]));
        vec![named(&one(0)), named(&one(1))]
    };
    let near = [zones(&["", "z1", "z3"]), zones(&["", "z2", "z3"])];
    assert_eq!(names(Distribution::Zone), near);
    assert_eq!(names(Distribution::Node), near);
    assert_eq!(names(Distribution::Any), [nodes.clone(), nodes.clone()]);
    let found = shaped(&source, &all, &nodes, Some(&own(Distribution::Node)));
    let hints = found.endpoints.iter().map(|one| one.hints.as_ref().unwrap().for_nodes.clone());
    let hints: Vec<_> = hints.collect();
    assert_eq!(json!(hints[0]), json!([{ "name": "n1" }]));
    assert!(hints[1].is_none(), "it has no node");
}

#[test]
fn values_of_traffic_distribution_are_those_of_kubernetes() {
    let table = [
        (None, Distribution::Any),
        (Some("PreferClose"), Distribution::Zone),
        (Some("PreferSameZone"), Distribution::Zone),
        (Some("PreferSameNode"), Distribution::Node),
        (Some("PreferFar"), Distribution::Any),
    ];
    for (text, expected) in table {
        assert_eq!(Distribution::parse(text), expected, "{text:?}");
    }
}

/// What an urgent write is, and what is paced.
#[test]
fn only_a_change_of_place_can_wait() {
    let ready = |last: u8| json!({ "addresses": [format!("10.0.0.{last}")] });
    let last = |last: u8| {
        let conditions = json!({ "ready": false, "serving": true, "terminating": true });
        json!({ "addresses": [format!("10.0.0.{last}")], "conditions": conditions })
    };
    let table = [
        // here, at the exporter: loses, only a change of place
        (json!([ready(1)]), json!([ready(1)]), false, true),
        (json!([last(1)]), json!([ready(1)]), false, true),
        (json!([ready(1)]), json!([last(1)]), true, false),
        (json!([last(1)]), json!([last(1)]), false, true),
        (json!([ready(1)]), json!([]), true, false),
        (json!([last(1)]), json!([]), true, false),
        (json!([]), json!([ready(1)]), false, false),
        (json!([ready(1)]), json!([ready(1), ready(2)]), false, false),
        (json!([ready(1), ready(2)]), json!([ready(2), ready(1)]), false, true),
    ];
    for (here, source, expected_loses, expected_shape) in table {
        let (here, source) = (slice(&here), slice(&source));
        let found = (loses(&here, &source), is_shape_only(&here, &source));
        assert_eq!(found, (expected_loses, expected_shape), "{here:?} {source:?}");
    }
    let mut other = slice(&json!([ready(1)]));
    other.ports = None;
    assert!(!is_shape_only(&slice(&json!([ready(1)])), &other));
}

#[test]
fn an_endpoint_moves_if_it_is_there_and_elsewhere() {
    let here = slice(&json!([{ "addresses": ["10.0.0.1"] }]));
    let first = shaped(&here, &[placed(Slot::First, true)], &zones(&["z1"]), None);
    let last = shaped(&here, &[placed(Slot::LastResort, true)], &zones(&["z1"]), None);
    assert!(moves(&here, &first) && moves(&first, &last) && !moves(&last, &last));
    let more = slice(&json!([{ "addresses": ["10.0.0.1"] }, { "addresses": ["10.0.0.2"] }]));
    assert!(!moves(&here, &more), "one that comes moves nothing");
    assert!(moves(&more, &here), "one that is to go does");
}

#[test]
fn conditions_that_servers_fill_in_are_no_difference() {
    let plain = slice(&json!([{ "addresses": ["10.0.0.1"] }]));
    let filled = slice(&json!([{ "addresses": ["10.0.0.1"], "conditions": { "ready": true } }]));
    assert!(same_endpoints(&plain, &filled));
    let hinted = shaped(&plain, &[placed(Slot::Second, true)], &zones(&[]), None);
    assert!(!same_endpoints(&plain, &hinted));
}
