//! The hub may be a member of its own fleet: hub agent and member agent on one API server (F44).

use fleet_api::{ObjectName, ResourceKind, kinds, labels};
use serde_json::{Value, json};

use super::{expose, shop};
use crate::convergence::fleet::{Fleet, bound, endpoints, export, import, service, slice};

/// Position of the member that is the hub.
const HOME: usize = 2;

/// Exporter "a", importer "b", and the hub as a member, all with a `MemberCluster`.
fn fleet(seed: u64) -> Fleet {
    let mut fleet = Fleet::with_seed(&["a", "b"], seed);
    fleet.join_hub("home");
    for at in 0..=HOME {
        fleet.tell(at, "Join");
    }
    fleet
}

fn desk() -> ObjectName {
    ObjectName::new("team", "desk")
}

/// The hub imports shop, which "a" exports, and exports desk, which it imports itself like "b".
fn exchange(fleet: &mut Fleet) {
    expose(fleet);
    import(&shop(), "shop", fleet.member(HOME));
    import(&shop(), "shop", fleet.member(1));
    service(&desk(), fleet.member(HOME), 90);
    slice(&desk(), "z1", fleet.member(HOME), &["10.9.0.1"]);
    export(&desk(), fleet.member(HOME));
    import(&desk(), "desk", fleet.member(HOME));
    import(&desk(), "desk", fleet.member(1));
    fleet.settle();
}

#[track_caller]
fn assert_bound(fleet: &mut Fleet, at: usize, derived: &str, addresses: &[&str]) {
    assert_eq!(bound(fleet.member(at), derived), addresses, "{derived} of {at}");
}

fn objects(fleet: &Fleet, kind: ResourceKind, namespace: &str) -> Vec<ObjectName> {
    let names = fleet.hub.names(kind).into_iter();
    names.filter(|name| *name.namespace == *namespace).collect()
}

#[test]
fn services_cross_to_and_from_the_hubs_own_cluster_in_any_order() {
    for seed in 1..8 {
        let mut fleet = fleet(seed * 4027);
        exchange(&mut fleet);
        for at in [1, HOME] {
            assert_bound(&mut fleet, at, "team-shop", &["10.1.0.1"]);
            assert_bound(&mut fleet, at, "team-desk", &["10.9.0.1"]);
        }
        // The hub's own ServiceImports serve the member in the place of two others.
        assert_eq!(fleet.hub.names(kinds::SERVICE_IMPORT), [desk(), shop()]);
        for name in [desk(), shop()] {
            let import = fleet.hub.get(kinds::SERVICE_IMPORT, &name).unwrap();
            assert_eq!(import["metadata"]["ownerReferences"], json!(null));
        }
        let change = |slice: &mut Value| slice["endpoints"] = endpoints(&["10.1.0.2"]);
        let name = ObjectName::new("team", "shop-x1");
        fleet.member(0).edit(kinds::ENDPOINT_SLICE, &name, change).unwrap();
        fleet.settle();
        assert_bound(&mut fleet, HOME, "team-shop", &["10.1.0.2"]);
        assert!(fleet.settle().is_empty());
    }
}

#[test]
fn a_second_wish_on_the_hub_takes_over_and_the_last_one_lets_go() {
    let mut fleet = fleet(1);
    exchange(&mut fleet);
    let second = ObjectName::new("team", "second");
    import(&second, "shop", fleet.member(HOME));
    fleet.settle();
    fleet.member(HOME).delete(kinds::MULTI_CLUSTER_SERVICE, &shop()).unwrap();
    fleet.settle();
    assert_bound(&mut fleet, HOME, "team-second", &["10.1.0.1"]);
    assert_bound(&mut fleet, HOME, "team-shop", &[]);
    fleet.member(HOME).delete(kinds::MULTI_CLUSTER_SERVICE, &second).unwrap();
    fleet.settle();
    assert_eq!(fleet.hub.names(kinds::MULTI_CLUSTER_SERVICE), [desk()]);
    assert_eq!(objects(&fleet, kinds::INTERNAL_SERVICE_IMPORT, "fleet-member-home").len(), 1);
    // What the hub has for others is not touched.
    assert_bound(&mut fleet, 1, "team-shop", &["10.1.0.1"]);
}

/// Leaving takes along what the member made, and nothing of the hub's or of other members.
#[test]
fn the_hub_leaves_its_own_fleet_and_goes_on_as_hub() {
    let mut fleet = fleet(1);
    exchange(&mut fleet);
    let shop_on_hub = fleet.hub.get(kinds::SERVICE_IMPORT, &shop()).unwrap()["metadata"].clone();
    let others = ["fleet-member-a", "fleet-member-b"];
    let kinds_of_a = [kinds::INTERNAL_SERVICE_EXPORT, kinds::ENDPOINT_SLICE_EXPORT];
    let before: Vec<_> = kinds_of_a.map(|kind| objects(&fleet, kind, others[0])).into();

    fleet.tell(HOME, "Leave");
    fleet.settle();
    assert_eq!(fleet.reported(HOME), Some("False"));
    for kind in [
        kinds::INTERNAL_SERVICE_EXPORT,
        kinds::ENDPOINT_SLICE_EXPORT,
        kinds::INTERNAL_SERVICE_IMPORT,
        kinds::ENDPOINT_SLICE_IMPORT,
    ] {
        assert_eq!(objects(&fleet, kind, "fleet-member-home"), [], "{}", kind.kind);
    }
    assert_eq!(objects(&fleet, kinds::ENDPOINT_SLICE, "fleet-system"), []);
    assert_eq!(objects(&fleet, kinds::SERVICE, "fleet-system"), []);
    assert!(fleet.hub.names(kinds::MULTI_CLUSTER_SERVICE).is_empty());

    let after: Vec<_> = kinds_of_a.map(|kind| objects(&fleet, kind, others[0])).into();
    assert_eq!(before, after);
    let import = fleet.hub.get(kinds::SERVICE_IMPORT, &shop()).unwrap();
    assert_eq!(import["metadata"]["uid"], shop_on_hub["uid"]);
    assert_eq!(import["metadata"]["deletionTimestamp"], json!(null));
    assert_bound(&mut fleet, 1, "team-shop", &["10.1.0.1"]);
    assert_bound(&mut fleet, 1, "team-desk", &[]);

    fleet.tell(HOME, "Join");
    fleet.settle();
    exchange_again(&mut fleet);
}

fn exchange_again(fleet: &mut Fleet) {
    import(&shop(), "shop", fleet.member(HOME));
    export(&desk(), fleet.member(HOME));
    fleet.settle();
    assert_bound(fleet, HOME, "team-shop", &["10.1.0.1"]);
    assert_bound(fleet, 1, "team-desk", &["10.9.0.1"]);
    let derived = fleet.hub.get(kinds::SERVICE, &ObjectName::new("fleet-system", "team-shop"));
    let label = &derived.unwrap()["metadata"]["labels"][labels::MULTI_CLUSTER_SERVICE_NAME];
    assert_eq!(*label, "shop");
}

/// No crash leaves anything behind, and none makes the member undo what is the hub's.
#[test]
fn a_crash_at_any_write_heals() {
    for crash in (1..70).step_by(3) {
        let mut fleet = fleet(crash as u64 * 911);
        expose(&mut fleet);
        import(&shop(), "shop", fleet.member(HOME));
        fleet.run_until_crash(crash);
        fleet.settle();
        assert_bound(&mut fleet, HOME, "team-shop", &["10.1.0.1"]);
        fleet.member(HOME).delete(kinds::MULTI_CLUSTER_SERVICE, &shop()).unwrap();
        fleet.run_until_crash(crash);
        fleet.settle();
        assert!(fleet.hub.names(kinds::MULTI_CLUSTER_SERVICE).is_empty(), "crash {crash}");
        assert_eq!(objects(&fleet, kinds::INTERNAL_SERVICE_IMPORT, "fleet-member-home"), []);
        assert_eq!(fleet.hub.names(kinds::SERVICE_IMPORT), [shop()], "crash {crash}");
        fleet.member(0).delete(kinds::SERVICE_EXPORT, &shop()).unwrap();
        fleet.settle();
        assert_eq!(fleet.hub.names(kinds::SERVICE_IMPORT), [], "crash {crash}");
    }
}
