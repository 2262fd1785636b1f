use fleet_traffic::Slot;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::json;

use crate::traffic::holding::{Manner, held};
use crate::traffic::placed::Placed;
use crate::traffic::shaping::shaped;

fn slice(addresses: &[&str]) -> EndpointSlice {
    let endpoints: Vec<_> = addresses.iter().map(|it| json!({ "addresses": [it] })).collect();
    serde_json::from_value(json!({
        "addressType": "IPv4", "endpoints": endpoints, "metadata": {},
    }))
    .unwrap()
}

fn at(slot: Slot, addresses: &[&str]) -> EndpointSlice {
    let source = slice(addresses);
    let placed = vec![Placed { slot, has_hints: slot != Slot::Pool }; addresses.len()];
    shaped(&source, &placed, &["z1".to_owned()].into(), None)
}

fn manner(own: bool, here: &[&EndpointSlice], others: &[&EndpointSlice]) -> Manner {
    let (here, others) = (here.iter().copied(), others.iter().copied());
    Manner::of(own, here, others, &["z1".to_owned()].into())
}

/// In each slot, one endpoint goes and another one comes.
#[test]
fn new_endpoints_go_where_the_others_of_their_cluster_are() {
    for slot in [Slot::First, Slot::Second, Slot::Pool, Slot::LastResort] {
        let here = at(slot, &["10.0.0.1", "10.0.0.2"]);
        let manner = manner(true, &[&here], &[&here]);
        let found = held(&slice(&["10.0.0.2", "10.0.0.3"]), Some(&here), &manner);
        assert_eq!(found, at(slot, &["10.0.0.2", "10.0.0.3"]), "{slot:?}");
        let found = held(&slice(&["10.0.0.9"]), None, &manner);
        assert_eq!(found, at(slot, &["10.0.0.9"]), "another slice, {slot:?}");
    }
}

/// One that a step of a drain has taken stays so, and so does the other one.
#[test]
fn each_endpoint_stays_where_it_is() {
    let mut here = at(Slot::Second, &["10.0.0.1", "10.0.0.2"]);
    here.endpoints[0] = at(Slot::LastResort, &["10.0.0.1"]).endpoints[0].clone();
    let manner = manner(false, &[&here], &[&here]);
    let found = held(&slice(&["10.0.0.1", "10.0.0.2"]), Some(&here), &manner);
    assert_eq!(found, here);
}

#[test]
fn a_cluster_that_is_new_follows_the_manner_of_others() {
    let source = slice(&["10.0.0.1"]);
    let hinted = at(Slot::Second, &["10.1.0.1"]);
    let plain = at(Slot::Pool, &["10.1.0.1"]);
    let own = held(&source, None, &manner(true, &[], &[&hinted]));
    assert_eq!(own, at(Slot::First, &["10.0.0.1"]));
    let other = held(&source, None, &manner(false, &[], &[&hinted]));
    assert_eq!(other, at(Slot::Second, &["10.0.0.1"]));
    let pool = held(&source, None, &manner(true, &[], &[&plain]));
    assert_eq!(pool, source);
    assert_eq!(held(&source, None, &manner(true, &[], &[])), source);
}

/// What drains at its exporter is last, wherever others are.
#[test]
fn draining_endpoints_stay_draining() {
    let mut source = slice(&["10.0.0.1"]);
    source.endpoints[0] = at(Slot::LastResort, &["10.0.0.1"]).endpoints[0].clone();
    source.endpoints[0].hints = None;
    let here = at(Slot::First, &["10.0.0.1"]);
    let found = held(&source, Some(&here), &manner(true, &[&here], &[]));
    assert_eq!(found.endpoints[0].conditions, source.endpoints[0].conditions);
    assert_eq!(found.endpoints[0].hints, here.endpoints[0].hints);
}
