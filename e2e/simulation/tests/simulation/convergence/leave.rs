//! Members that leave the fleet and come back.

use fleet_api::{ObjectName, ResourceKind, kinds};
use serde_json::{Value, json};

use super::{expose, imported, shop};
use crate::convergence::fleet::{Fleet, bound, export, import, leftovers, service, slice};

/// A fleet whose members are in KubeFleet's book, at rest, with shop imported from "a" by the others.
fn joined(importers: &[&str]) -> Fleet {
    let mut fleet = imported(importers);
    for at in 0..=importers.len() {
        fleet.tell(at, "Join");
    }
    fleet.settle();
    for at in 0..=importers.len() {
        assert_eq!(fleet.reported(at), Some("True"));
    }
    fleet
}

fn names(fleet: &mut Fleet, at: usize, kind: ResourceKind) -> Vec<ObjectName> {
    fleet.member(at).names(kind)
}

fn condition<'a>(object: &'a Value, type_: &str) -> (&'a str, &'a str) {
    let conditions = object["status"]["conditions"].as_array().unwrap();
    let found = conditions.iter().find(|condition| condition["type"] == type_).unwrap();
    (found["status"].as_str().unwrap(), found["reason"].as_str().unwrap())
}

/// MIMC-4: exports and imports of a member that leaves go everywhere, before it reports that it left.
#[test]
fn what_a_leaving_member_exports_and_imports_goes() {
    let mut fleet = joined(&["b", "c"]);
    // "a" exports shop and imports desk, which "b" exports.
    let desk = ObjectName::new("team", "desk");
    service(&desk, fleet.member(1), 90);
    slice(&desk, "z1", fleet.member(1), &["10.2.0.1"]);
    export(&desk, fleet.member(1));
    import(&desk, "desk", fleet.member(0));
    fleet.settle();
    assert_eq!(bound(fleet.member(0), "team-desk"), ["10.2.0.1"]);
    let before = leftovers(&fleet, &[]).len();

    fleet.tell(0, "Leave");
    fleet.settle();
    assert_eq!(fleet.reported(0), Some("False"));
    for kind in [kinds::SERVICE_EXPORT, kinds::MULTI_CLUSTER_SERVICE, kinds::SERVICE_IMPORT] {
        assert!(names(&mut fleet, 0, kind).is_empty(), "{}", kind.kind);
    }
    // The user's own objects stay; the others' do, too.
    assert_eq!(names(&mut fleet, 0, kinds::SERVICE), [shop()]);
    assert_eq!(names(&mut fleet, 0, kinds::ENDPOINT_SLICE).len(), 1);
    assert_eq!(bound(fleet.member(1), "team-shop"), Vec::<String>::new());
    assert_eq!((fleet.reported(1), fleet.reported(2)), (Some("True"), Some("True")));
    let left = leftovers(&fleet, &[]);
    assert!(left.len() < before);
    assert!(!left.iter().any(|line| line.contains("fleet-member-a/")), "{left:#?}");
}

/// No order of events and no crash makes a member report too early, or never.
#[test]
fn left_is_reported_last_whatever_happens() {
    for seed in 1..6 {
        for crash in [1, 4, 9, 16, 25] {
            let mut fleet = Fleet::with_seed(&["a", "b"], seed * 6151);
            expose(&mut fleet);
            import(&shop(), "shop", fleet.member(1));
            import(&shop(), "shop", fleet.member(0));
            fleet.tell(0, "Join");
            // Not everything need be in place when it has to leave.
            fleet.run_until_crash(crash * 2);
            fleet.tell(0, "Leave");
            fleet.run_until_crash(crash);
            if fleet.reported(0) == Some("False") {
                assert_nothing_of_a(&mut fleet);
            }
            fleet.settle();
            assert_eq!(fleet.reported(0), Some("False"), "seed {seed}, crash {crash}");
            assert_nothing_of_a(&mut fleet);
        }
    }
}

#[track_caller]
fn assert_nothing_of_a(fleet: &mut Fleet) {
    let left = leftovers(fleet, &[]);
    let of_a = |line: &&String| line.contains("fleet-member-a/") || line.starts_with("a: ");
    assert_eq!(left.iter().find(of_a), None);
    assert!(names(fleet, 0, kinds::SERVICE_EXPORT).is_empty());
    assert!(names(fleet, 0, kinds::MULTI_CLUSTER_SERVICE).is_empty());
}

#[test]
fn what_comes_after_left_waits_untouched_and_works_after_the_next_join() {
    let mut fleet = joined(&["b"]);
    fleet.tell(0, "Leave");
    fleet.settle();
    export(&shop(), fleet.member(0));
    let desk = ObjectName::new("team", "desk");
    import(&desk, "shop", fleet.member(0));
    import(&ObjectName::new("team", "nothing"), "", fleet.member(0));
    fleet.settle();

    assert_nothing_on_the_hub(&fleet);
    let export = fleet.member(0).get(kinds::SERVICE_EXPORT, &shop()).unwrap();
    assert_eq!(export["metadata"]["finalizers"], json!(null));
    assert_eq!(condition(export, "Valid"), ("False", "MemberLeft"));
    let wish = fleet.member(0).get(kinds::MULTI_CLUSTER_SERVICE, &desk).unwrap();
    assert_eq!(wish["metadata"]["finalizers"], json!(null));
    let valid = &wish["status"]["conditions"][0];
    assert_eq!(valid["message"], "this cluster has left the fleet");
    assert!(names(&mut fleet, 0, kinds::SERVICE_IMPORT).is_empty());

    // Another version of the object whose state is still "leave" is no reason to delete them.
    let name = ObjectName::new("fleet-member-a", "a");
    let slower = |object: &mut Value| object["spec"]["heartbeatPeriodSeconds"] = json!(90);
    fleet.hub.edit(kinds::INTERNAL_MEMBER_CLUSTER, &name, slower).unwrap();
    fleet.settle();
    let object = fleet.hub.get(kinds::INTERNAL_MEMBER_CLUSTER, &name).unwrap();
    let reports = &object["status"]["agentStatus"];
    assert_eq!(reports[0]["conditions"][0]["observedGeneration"], object["metadata"]["generation"]);
    assert_eq!(names(&mut fleet, 0, kinds::SERVICE_EXPORT), [shop()]);

    fleet.tell(0, "Join");
    fleet.settle();
    assert_eq!(fleet.reported(0), Some("True"));
    assert_eq!(bound(fleet.member(1), "team-shop"), ["10.1.0.1"]);
    assert_eq!(bound(fleet.member(0), "team-desk"), ["10.1.0.1"]);
    let export = fleet.member(0).get(kinds::SERVICE_EXPORT, &shop()).unwrap();
    assert_eq!(condition(export, "Valid"), ("True", "ServiceIsValid"));
}

fn assert_nothing_on_the_hub(fleet: &Fleet) {
    let left = leftovers(fleet, &[]);
    assert!(!left.iter().any(|line| line.contains("fleet-member-a/")), "{left:#?}");
}

/// Whatever users make while the member leaves is deleted like the rest.
#[test]
fn what_comes_while_leaving_goes_too() {
    let mut fleet = joined(&["b"]);
    fleet.tell(0, "Leave");
    // Far enough to have deleted what was there, not far enough to have left.
    fleet.run_until_crash(4);
    assert_eq!(fleet.reported(0), Some("True"));
    let late = ObjectName::new("team", "late");
    service(&late, fleet.member(0), 81);
    export(&late, fleet.member(0));
    import(&late, "late", fleet.member(0));
    import(&ObjectName::new("team", "nothing"), "", fleet.member(0));
    fleet.settle();
    assert_eq!(fleet.reported(0), Some("False"));
    assert_nothing_of_a(&mut fleet);
}

/// Leave and join, again and again under one name: each time starts clean and works (L6).
#[test]
fn a_member_comes_and_goes() {
    let mut fleet = joined(&["b"]);
    for _ in 0..5 {
        fleet.tell(0, "Leave");
        fleet.settle();
        assert_eq!(fleet.reported(0), Some("False"));
        assert_nothing_of_a(&mut fleet);
        fleet.tell(0, "Join");
        fleet.settle();
        assert_eq!(fleet.reported(0), Some("True"));
        export(&shop(), fleet.member(0));
        fleet.settle();
        assert_eq!(bound(fleet.member(1), "team-shop"), ["10.1.0.1"]);
    }
}

/// At rest after leaving nothing is written, and no time brings a heartbeat.
#[test]
fn a_member_that_left_is_silent() {
    let mut fleet = joined(&["b"]);
    fleet.tell(0, "Leave");
    fleet.settle();
    fleet.hub.advance(1000);
    let writes = fleet.settle();
    // The heartbeat of "b" only.
    assert_eq!(writes.len(), 1, "{writes:?}");
}
