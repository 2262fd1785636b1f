//! docs/design/traffic.md#slots

use std::collections::BTreeSet;

use crate::tests::given::zones;
use crate::tests::kube_proxy::{Bound, used};
use crate::{Conditions, REMOTE_ZONE, Slot, shape};

fn bound(slot: Slot, source: Conditions) -> Bound {
    let zones = zones();
    let zones = (slot != Slot::Pool).then_some(&zones);
    Bound { shape: shape(slot, source, zones).unwrap() }
}

#[test]
fn shape_of_each_slot() {
    let remote = BTreeSet::from([REMOTE_ZONE.to_owned()]);
    let rows = [
        (Slot::First, Conditions::READY, zones()),
        (Slot::Second, Conditions::READY, remote.clone()),
        (Slot::Pool, Conditions::READY, BTreeSet::new()),
        (Slot::LastResort, Conditions::DRAINING, remote),
    ];
    for (slot, conditions, zones) in rows {
        let shape = bound(slot, Conditions::READY).shape;
        assert_eq!((shape.conditions, shape.zones), (conditions, zones), "{slot:?}");
    }
    assert_eq!(shape(Slot::Out, Conditions::READY, Some(&zones())), None);
    assert!(shape(Slot::LastResort, Conditions::READY, None).unwrap().zones.is_empty());
}

#[test]
fn only_a_ready_endpoint_that_is_last_resort_has_other_conditions_than_its_source() {
    for ready in [false, true] {
        for serving in [false, true] {
            for terminating in [false, true] {
                let source = Conditions { ready, serving, terminating };
                for slot in [Slot::First, Slot::Second, Slot::Pool, Slot::LastResort] {
                    let demoted = ready && slot == Slot::LastResort;
                    let expected = if demoted { Conditions::DRAINING } else { source };
                    assert_eq!(bound(slot, source).shape.conditions, expected);
                }
            }
        }
    }
}

#[test]
fn what_a_node_uses() {
    let [a, b, c] = [Slot::First, Slot::Second, Slot::LastResort];
    // Slots with a ready endpoint, those used in a named zone or without a zone, those used in a zone not yet named.
    let rows = [
        (vec![a, b, c], vec![a], vec![a, b]),
        (vec![a, c], vec![a], vec![a]),
        (vec![b, c], vec![b], vec![b]),
        (vec![c], vec![c], vec![c]),
        (vec![Slot::Pool, c], vec![Slot::Pool], vec![Slot::Pool]),
    ];
    for (left, named, unnamed) in rows {
        let all: Vec<_> = left.iter().map(|slot| bound(*slot, Conditions::READY)).collect();
        let used = |zone: &str| used(&all, zone).into_iter().map(|at| left[at]).collect::<Vec<_>>();
        for zone in ["a", "b", ""] {
            assert_eq!(used(zone), named, "{left:?} in {zone:?}");
        }
        assert_eq!(used("new"), unnamed, "{left:?} in a zone that is not named");
    }
}

#[test]
fn draining_endpoints_share_the_last_resort() {
    let own = bound(Slot::First, Conditions::DRAINING);
    let remote = bound(Slot::LastResort, Conditions::READY);
    assert_eq!(used(&[own.clone(), remote.clone()], "a"), [0, 1]);
    let ready = bound(Slot::Second, Conditions::READY);
    assert_eq!(used(&[own, remote, ready], "a"), [2]);
}

#[test]
fn one_ready_endpoint_without_hints_makes_one_pool_of_all() {
    let slots = [Slot::First, Slot::Second, Slot::Pool];
    assert_eq!(used(&slots.map(|slot| bound(slot, Conditions::READY)), "a"), [0, 1, 2]);
}
