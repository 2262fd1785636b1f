//! Both agents' plans against model API servers: what a fleet converges to, and with how many
//! writes. The same is shown on real API servers by the other tests of this folder.

mod fleet;
mod in_hub;
mod leave;
mod oscillation;
mod record;
mod standard;
mod trace;
mod watched;

use fleet::{Counted, Fleet, bound, endpoints, export, import, leftovers, service, slice};
use fleet_api::{ObjectName, kinds};
use fleet_model_server::ModelServer;
use serde_json::{Value, json};

fn shop() -> ObjectName {
    ObjectName::new("team", "shop")
}

fn listed(writes: &[Counted]) -> String {
    let line = |(cluster, write): &Counted| {
        format!("{cluster}: {} {} {}", write.verb, write.kind, write.name)
    };
    writes.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn assert_count(writes: &[Counted], expected: usize) {
    assert_eq!(writes.len(), expected, "\n{}", listed(writes));
}

/// A fleet of exporter "a" and importers, at rest, with shop imported.
fn imported(importers: &[&str]) -> Fleet {
    let mut members = vec!["a"];
    members.extend(importers);
    let mut fleet = Fleet::new(&members);
    expose(&mut fleet);
    for at in 1..members.len() {
        import(&shop(), "shop", fleet.member(at));
    }
    fleet.settle();
    fleet
}

fn expose(fleet: &mut Fleet) {
    service(&shop(), fleet.member(0), 80);
    slice(&shop(), "x1", fleet.member(0), &["10.1.0.1"]);
    export(&shop(), fleet.member(0));
}

#[test]
fn first_export_and_import_take_17_writes() {
    let mut fleet = Fleet::new(&["a", "b"]);
    expose(&mut fleet);
    let exported = fleet.settle().len();
    import(&shop(), "shop", fleet.member(1));
    let writes = fleet.settle();
    assert_eq!(bound(fleet.member(1), "team-shop"), ["10.1.0.1"]);
    assert_eq!(exported + writes.len(), 17, "{exported} before\n{}", listed(&writes));
}

#[test]
fn import_before_export_takes_17_writes_when_both_come_together() {
    let mut fleet = Fleet::new(&["a", "b"]);
    import(&shop(), "shop", fleet.member(1));
    expose(&mut fleet);
    let writes = fleet.settle();
    assert_eq!(bound(fleet.member(1), "team-shop"), ["10.1.0.1"]);
    assert_count(&writes, 17);
}

#[test]
fn an_endpoint_change_takes_one_write_and_two_per_importer() {
    for importers in [&["b"][..], &["b", "c", "d"]] {
        let mut fleet = imported(importers);
        let name = ObjectName::new("team", "shop-x1");
        let change = |slice: &mut Value| {
            slice["endpoints"] = endpoints(&["10.1.0.1", "10.1.0.2"]);
        };
        fleet.member(0).edit(kinds::ENDPOINT_SLICE, &name, change).unwrap();
        assert_count(&fleet.settle(), 1 + 2 * importers.len());
        for at in 1..=importers.len() {
            assert_eq!(bound(fleet.member(at), "team-shop"), ["10.1.0.1", "10.1.0.2"]);
        }
    }
}

/// An endpoint that drains costs a change when it begins and one when it ends.
#[test]
fn a_draining_endpoint_moves_and_goes_at_the_price_of_two_changes() {
    let mut fleet = imported(&["b", "c"]);
    let name = ObjectName::new("team", "shop-x1");
    let drained = json!({ "ready": false, "serving": true, "terminating": true });
    let ended = json!({ "ready": false, "serving": false, "terminating": true });
    for (conditions, expected) in [
        (&drained, json!([{ "addresses": ["10.1.0.1"], "conditions": drained }])),
        (&ended, json!([])),
    ] {
        let change = |slice: &mut Value| slice["endpoints"][0]["conditions"] = conditions.clone();
        fleet.member(0).edit(kinds::ENDPOINT_SLICE, &name, change).unwrap();
        assert_count(&fleet.settle(), 1 + 2 * 2);
        for at in [1, 2] {
            assert_eq!(imported_endpoints(fleet.member(at)), expected);
        }
    }
}

#[test]
fn a_dual_stack_service_arrives_with_both_kinds_of_addresses() {
    let mut fleet = imported(&["b"]);
    slice(&shop(), "x6", fleet.member(0), &["2001:db8::1"]);
    let name = ObjectName::new("team", "shop-x6");
    // The model does not mind; a real server would want a new slice.
    let family = |slice: &mut Value| slice["addressType"] = json!("IPv6");
    fleet.member(0).edit(kinds::ENDPOINT_SLICE, &name, family).unwrap();
    fleet.settle();
    assert_eq!(bound(fleet.member(1), "team-shop"), ["10.1.0.1", "2001:db8::1"]);
    assert_count(&fleet.settle(), 0);
}

/// Endpoints of the only imported slice.
fn imported_endpoints(server: &ModelServer) -> Value {
    let names = server.names(kinds::ENDPOINT_SLICE);
    assert_eq!(names.len(), 1, "{names:?}");
    server.get(kinds::ENDPOINT_SLICE, &names[0]).unwrap()["endpoints"].clone()
}

#[test]
fn a_change_that_exports_nothing_else_takes_no_write() {
    let mut fleet = imported(&["b"]);
    let name = ObjectName::new("team", "shop-x1");
    let label = |slice: &mut Value| slice["metadata"]["labels"]["note"] = json!("x");
    fleet.member(0).edit(kinds::ENDPOINT_SLICE, &name, label).unwrap();
    let unready = |slice: &mut Value| {
        let unready = json!({ "addresses": ["10.1.0.9"], "conditions": { "ready": false } });
        slice["endpoints"].as_array_mut().unwrap().push(unready);
    };
    fleet.member(0).edit(kinds::ENDPOINT_SLICE, &name, unready).unwrap();
    assert_count(&fleet.settle(), 0);
}

#[test]
fn unexport_takes_14_writes_and_leaves_the_request_only() {
    let mut fleet = imported(&["b"]);
    fleet.member(0).delete(kinds::SERVICE_EXPORT, &shop()).unwrap();
    let writes = fleet.settle();
    assert_count(&writes, 14);
    let left = leftovers(&fleet, &[]);
    assert_eq!(
        left,
        ["hub: InternalServiceImport fleet-member-b/team-shop", "b: ServiceImport team/shop"]
    );
}

#[test]
fn deleting_the_multi_cluster_service_takes_7_writes_and_3_per_slice() {
    for slices in [1, 3] {
        let mut fleet = imported(&["b"]);
        for at in 1..slices {
            slice(&shop(), &format!("y{at}"), fleet.member(0), &[&format!("10.1.1.{at}")]);
        }
        fleet.settle();
        fleet.member(1).delete(kinds::MULTI_CLUSTER_SERVICE, &shop()).unwrap();
        assert_count(&fleet.settle(), 7 + 3 * slices);
        assert_eq!(bound(fleet.member(1), "team-shop"), Vec::<String>::new());
        assert!(fleet.member(1).names(kinds::SERVICE).is_empty());
    }
}

#[test]
fn everything_goes_when_export_and_import_go() {
    let mut fleet = imported(&["b", "c"]);
    fleet.member(0).delete(kinds::SERVICE_EXPORT, &shop()).unwrap();
    for at in [1, 2] {
        fleet.member(at).delete(kinds::MULTI_CLUSTER_SERVICE, &shop()).unwrap();
    }
    fleet.settle();
    assert_eq!(leftovers(&fleet, &[]), Vec::<String>::new());
    assert!(fleet.member(1).names(kinds::MULTI_CLUSTER_SERVICE).is_empty());
}

#[test]
fn a_new_slice_and_a_deleted_slice_arrive() {
    let mut fleet = imported(&["b"]);
    slice(&shop(), "x2", fleet.member(0), &["10.1.0.7"]);
    fleet.settle();
    assert_eq!(bound(fleet.member(1), "team-shop"), ["10.1.0.1", "10.1.0.7"]);
    let first = ObjectName::new("team", "shop-x1");
    fleet.member(0).delete(kinds::ENDPOINT_SLICE, &first).unwrap();
    fleet.settle();
    assert_eq!(bound(fleet.member(1), "team-shop"), ["10.1.0.7"]);
}

#[test]
fn a_port_change_reaches_the_derived_service() {
    let mut fleet = imported(&["b"]);
    let change = |service: &mut Value| service["spec"]["ports"][0]["port"] = json!(81);
    fleet.member(0).edit(kinds::SERVICE, &shop(), change).unwrap();
    fleet.settle();
    let derived = ObjectName::new("fleet-system", "team-shop");
    let derived = fleet.member(1).get(kinds::SERVICE, &derived).unwrap();
    assert_eq!(derived["spec"]["ports"][0]["port"], json!(81));
}

#[test]
fn a_recreated_service_is_exported_anew() {
    let mut fleet = imported(&["b"]);
    fleet.member(0).delete(kinds::SERVICE, &shop()).unwrap();
    service(&shop(), fleet.member(0), 8080);
    fleet.settle();
    let derived = ObjectName::new("fleet-system", "team-shop");
    let derived = fleet.member(1).get(kinds::SERVICE, &derived).unwrap();
    assert_eq!(derived["spec"]["ports"][0]["port"], json!(8080));
    assert_eq!(bound(fleet.member(1), "team-shop"), ["10.1.0.1"]);
}

#[test]
fn a_re_pointed_import_switches() {
    let mut fleet = imported(&["b"]);
    let desk = ObjectName::new("team", "desk");
    service(&desk, fleet.member(0), 90);
    slice(&desk, "z1", fleet.member(0), &["10.2.0.1"]);
    export(&desk, fleet.member(0));
    fleet.settle();
    let point = |mcs: &mut Value| mcs["spec"]["serviceImport"]["name"] = json!("desk");
    fleet.member(1).edit(kinds::MULTI_CLUSTER_SERVICE, &shop(), point).unwrap();
    fleet.settle();
    assert_eq!(bound(fleet.member(1), "team-shop"), ["10.2.0.1"]);
    assert_eq!(fleet.member(1).names(kinds::SERVICE_IMPORT), [desk]);
}

#[test]
fn a_second_wish_takes_over_when_the_first_goes() {
    let mut fleet = imported(&["b"]);
    let second = ObjectName::new("team", "second");
    import(&second, "shop", fleet.member(1));
    fleet.settle();
    let waiting = fleet.member(1).get(kinds::MULTI_CLUSTER_SERVICE, &second).unwrap();
    assert_eq!(waiting["status"]["conditions"][0]["status"], json!("Unknown"));
    fleet.member(1).delete(kinds::MULTI_CLUSTER_SERVICE, &shop()).unwrap();
    fleet.settle();
    assert_eq!(bound(fleet.member(1), "team-second"), ["10.1.0.1"]);
    let holds = fleet.member(1).get(kinds::MULTI_CLUSTER_SERVICE, &second).unwrap();
    assert_eq!(holds["status"]["conditions"][0]["status"], json!("True"));
}

/// The end of every interleaving and of every crash is the same (L1, L12).
#[test]
fn a_crash_at_any_write_heals_in_any_order() {
    let undisturbed = {
        let mut fleet = imported(&["b"]);
        story(&mut fleet, usize::MAX);
        bound(fleet.member(1), "team-shop")
    };
    for seed in 1..10 {
        for crash in 1..60 {
            let mut fleet = Fleet::with_seed(&["a", "b"], seed * 7919);
            expose(&mut fleet);
            import(&shop(), "shop", fleet.member(1));
            let crashed = story(&mut fleet, crash);
            assert_eq!(bound(fleet.member(1), "team-shop"), undisturbed, "seed {seed}, {crash}");
            fleet.member(0).delete(kinds::SERVICE_EXPORT, &shop()).unwrap();
            fleet.member(1).delete(kinds::MULTI_CLUSTER_SERVICE, &shop()).unwrap();
            fleet.run_until_crash(crash);
            fleet.settle();
            assert_eq!(leftovers(&fleet, &[]), Vec::<String>::new(), "seed {seed}, {crash}");
            if !crashed {
                break;
            }
        }
    }
}

/// Export, import, change, with a crash after that many writes.
fn story(fleet: &mut Fleet, crash: usize) -> bool {
    let crashed = crash != usize::MAX && fleet.run_until_crash(crash);
    let name = ObjectName::new("team", "shop-x1");
    let change = |slice: &mut Value| {
        slice["endpoints"] = endpoints(&["10.1.0.3", "10.1.0.4"]);
    };
    fleet.member(0).edit(kinds::ENDPOINT_SLICE, &name, change).unwrap();
    fleet.settle();
    crashed
}
