//! What clusters, agents and their stores do that they should not, one failure of docs/design/failures.md after the other: what
//! importers lose by it, and what comes back.

use fleet_api::{ObjectName, kinds};
use serde_json::{Value, json};

use super::{
    TEAM, calm, change_endpoints, deploy, endpoints, everyone, export, export_labelled, import,
    in_force, ips, joined, judge, mark, rebuilt_hub, report, restart, unexport, watch, web,
};
use crate::convergence::fleet::{Counted, Fleet};
use crate::convergence::watched::Watched;

/// "a" exports, "b" imports like "a", and nothing moves.
fn imported() -> Fleet {
    let mut fleet = joined(&["a", "b"], 1);
    export(&mut fleet, 0, &["10.1.0.1"]);
    calm(&mut fleet);
    fleet.take_writes();
    fleet
}

/// Objects that agents have deleted in members.
fn deleted(writes: Vec<Counted>) -> Vec<Counted> {
    let in_member = |(cluster, write): &Counted| cluster != "hub" && write.verb == "delete";
    writes.into_iter().filter(in_member).collect()
}

/// Writes of agents in members to what kube-proxy reads.
fn moved(writes: &[Counted]) -> Vec<&Counted> {
    let in_member = |(cluster, write): &&Counted| {
        cluster != "hub" && ["EndpointSlice", "Service"].contains(&write.kind)
    };
    writes.iter().filter(in_member).collect()
}

/// All agents see at once that the server went back, or is another one.
fn all_watch(fleet: &mut Fleet, watched: Watched) {
    for agent in everyone(fleet) {
        watch(fleet, agent, watched);
    }
}

/// What is newer than the backup is written again before its absence counts; what was withdrawn since goes again.
#[test]
fn a_hub_that_is_restored_takes_nothing_from_importers() {
    for seed in 1..6 {
        let mut fleet = joined(&["a", "b", "c"], seed * 31);
        super::make_namespace(fleet.member(2));
        export(&mut fleet, 0, &["10.1.0.1"]);
        fleet.settle();
        let backup = fleet.hub.clone();
        unexport(&mut fleet, 0);
        export(&mut fleet, 1, &["10.2.0.1"]);
        fleet.settle();
        change_endpoints(&mut fleet, 1, &["10.2.0.2"]);
        fleet.settle();
        let addresses: Vec<_> = (0..3).map(|at| ips(&mut fleet, at)).collect();

        fleet.record = None; // The oracle knows no time that goes back.
        fleet.hub = backup;
        all_watch(&mut fleet, Watched::Briefly);
        let lost = deleted(fleet.settle());
        assert_eq!(lost, [], "seed {seed}");
        for at in 0..3 {
            assert!(endpoints(&mut fleet, at).contains(&"b 10.2.0.2".to_owned()), "seed {seed}");
        }
        all_watch(&mut fleet, Watched::Long);
        fleet.settle();
        for (at, before) in addresses.iter().enumerate() {
            assert_eq!(endpoints(&mut fleet, at), ["b 10.2.0.2"], "seed {seed}");
            assert_eq!(ips(&mut fleet, at), *before, "seed {seed}");
        }
    }
}

/// An exporter whose agent does not run cannot write its export again: it goes once the restored hub counts.
#[test]
fn what_is_younger_than_the_backup_goes_if_its_agent_is_silent() {
    let mut fleet = joined(&["a", "b"], 1);
    let backup = fleet.hub.clone();
    export(&mut fleet, 0, &["10.1.0.1"]);
    fleet.settle();
    fleet.record = None;
    fleet.hub = backup;
    watch(&mut fleet, Some(0), Watched::Off);
    watch(&mut fleet, Some(1), Watched::Briefly);
    let writes = fleet.settle();
    assert_eq!(deleted(writes), []);
    assert_eq!(endpoints(&mut fleet, 1), ["a 10.1.0.1"]);
    watch(&mut fleet, Some(1), Watched::Long);
    fleet.settle();
    assert!(import(&mut fleet, 1).is_none());
    // It comes back with its agent.
    watch(&mut fleet, Some(0), Watched::Long);
    fleet.settle();
    assert_eq!(endpoints(&mut fleet, 1), ["a 10.1.0.1"]);
}

/// Nothing goes until all exporters have published there; marks are written again, and addresses stay.
#[test]
fn a_hub_that_is_built_anew_takes_nothing_from_importers() {
    for seed in 1..6 {
        let mut fleet = joined(&["a", "b", "c"], seed * 31);
        super::make_namespace(fleet.member(2));
        export(&mut fleet, 0, &["10.1.0.1"]);
        export(&mut fleet, 1, &["10.2.0.1"]);
        fleet.settle();
        let before = (ips(&mut fleet, 2), endpoints(&mut fleet, 2));
        let old = mark(&mut fleet, 2);
        fleet.record = None;
        fleet.hub = rebuilt_hub(&fleet);
        // "b" comes back late.
        watch(&mut fleet, Some(1), Watched::Off);
        let writes = fleet.settle();
        assert!(moved(&writes).is_empty(), "seed {seed}: {:?}", moved(&writes));
        assert_eq!(mark(&mut fleet, 2), old, "b has not come back");
        assert_eq!((ips(&mut fleet, 2), endpoints(&mut fleet, 2)), before, "seed {seed}");
        watch(&mut fleet, Some(1), Watched::Long);
        let writes = fleet.settle();
        assert!(moved(&writes).is_empty(), "seed {seed}: {:?}", moved(&writes));
        assert_ne!(mark(&mut fleet, 2), old);
        assert_eq!((ips(&mut fleet, 2), endpoints(&mut fleet, 2)), before, "seed {seed}");
        // From then on the new hub counts as the old one did.
        unexport(&mut fleet, 1);
        fleet.settle();
        assert_eq!(endpoints(&mut fleet, 2), ["a 10.1.0.1"], "seed {seed}");
    }
}

/// An agent that is killed while the hub is rebuilt, or restarted just then, is no exception.
#[test]
fn a_crash_after_any_write_on_a_hub_that_is_built_anew_heals() {
    let fleet = imported();
    let mut crash = 1;
    loop {
        let mut fleet = fleet.clone();
        let before = (ips(&mut fleet, 1), endpoints(&mut fleet, 1));
        fleet.record = None;
        fleet.hub = rebuilt_hub(&fleet);
        let crashed = fleet.run_until_crash(crash);
        let killed = [fleet.writer];
        let writes = restart(&mut fleet, &killed);
        assert_eq!(deleted(writes), [], "crash {crash}");
        assert_eq!((ips(&mut fleet, 1), endpoints(&mut fleet, 1)), before, "crash {crash}");
        assert_eq!(mark(&mut fleet, 1), "uid-of-another-hub/0", "crash {crash}");
        if !crashed {
            return;
        }
        crash += 1;
    }
}

/// An administrator deletes what the agents have on the hub: they write it again, and importers lose nothing.
#[test]
fn what_is_deleted_on_the_hub_is_written_again() {
    let objects = [
        (kinds::RESOLVED_SERVICE, in_force()),
        (kinds::CLUSTER_REPORT, report("a")),
        (kinds::CLUSTER_REPORT, report("b")),
    ];
    for (kind, name) in objects {
        let mut fleet = imported();
        fleet.hub.delete(kind, &name).unwrap();
        let writes = fleet.settle();
        assert_eq!(deleted(writes), [], "{} {name}", kind.kind);
        assert!(fleet.hub.get(kind, &name).is_some(), "{} {name}", kind.kind);
        assert_eq!(endpoints(&mut fleet, 1), ["a 10.1.0.1"]);
        judge(&fleet, kind.kind);
    }
}

/// Endpoints go from member to member; what the hub agent has to decide waits for it.
#[test]
fn without_the_hub_agent_endpoints_follow_and_exports_wait() {
    let mut fleet = imported();
    watch(&mut fleet, None, Watched::Off);
    change_endpoints(&mut fleet, 0, &["10.1.0.7"]);
    export(&mut fleet, 1, &["10.2.0.1"]);
    fleet.settle();
    assert_eq!(endpoints(&mut fleet, 1), ["a 10.1.0.7"]);
    let export = fleet.member(1).get(kinds::MCS_SERVICE_EXPORT, &web()).unwrap();
    let ready = export["status"]["conditions"].as_array().unwrap().iter();
    let ready: Vec<_> = ready.filter(|it| it["type"] == "Ready").collect();
    assert_eq!((&ready[0]["status"], &ready[0]["reason"]), (&json!("False"), &json!("Pending")));
    watch(&mut fleet, None, Watched::Briefly);
    fleet.settle();
    assert_eq!(endpoints(&mut fleet, 1), ["a 10.1.0.7", "b 10.2.0.1"]);
    watch(&mut fleet, None, Watched::Long);
    calm(&mut fleet);
    judge(&fleet, "the hub agent was away");
}

/// An export that ends while the hub agent is away: importers keep its name, without endpoints, until it is back.
#[test]
fn without_the_hub_agent_an_import_ends_later() {
    let mut fleet = imported();
    watch(&mut fleet, None, Watched::Off);
    unexport(&mut fleet, 0);
    fleet.settle();
    assert!(import(&mut fleet, 1).is_some());
    assert_eq!(endpoints(&mut fleet, 1), [""; 0]);
    watch(&mut fleet, None, Watched::Briefly);
    fleet.settle();
    assert!(import(&mut fleet, 1).is_some(), "it does not know yet what was lost");
    watch(&mut fleet, None, Watched::Long);
    calm(&mut fleet);
    assert!(import(&mut fleet, 1).is_none());
    judge(&fleet, "the hub agent was away");
}

/// Its own endpoints follow without the hub, also in an agent that starts just then.
#[test]
fn without_the_hub_own_endpoints_follow() {
    let mut fleet = imported();
    watch(&mut fleet, None, Watched::Off);
    watch(&mut fleet, Some(0), Watched::Never);
    watch(&mut fleet, Some(1), Watched::Never);
    change_endpoints(&mut fleet, 0, &["10.1.0.8"]);
    fleet.settle();
    assert_eq!(endpoints(&mut fleet, 0), ["a 10.1.0.8"]);
    assert_eq!(endpoints(&mut fleet, 1), ["a 10.1.0.1"]);
    all_watch(&mut fleet, Watched::Briefly);
    fleet.settle();
    assert_eq!(endpoints(&mut fleet, 1), ["a 10.1.0.8"]);
}

/// A member is gone: its endpoints stay until an administrator removes what it has on the hub.
#[test]
fn a_member_that_is_gone_keeps_its_endpoints_until_it_is_removed() {
    let mut fleet = imported();
    export(&mut fleet, 1, &["10.2.0.1"]);
    calm(&mut fleet);
    watch(&mut fleet, Some(0), Watched::Off);
    fleet.hub.advance(10_000);
    assert_eq!(deleted(fleet.settle()), []);
    assert_eq!(endpoints(&mut fleet, 1), ["a 10.1.0.1", "b 10.2.0.1"]);
    // As `fleetctl leave --force` does.
    for kind in [kinds::EXPORTED_SERVICE, kinds::ENDPOINT_SLICE_EXPORT, kinds::CLUSTER_REPORT] {
        let names = fleet.hub.names(kind).into_iter();
        for name in names.filter(|name| *name.namespace == *"fleet-member-a").collect::<Vec<_>>() {
            fleet.hub.delete(kind, &name).unwrap();
        }
    }
    fleet.settle();
    assert_eq!(endpoints(&mut fleet, 1), ["b 10.2.0.1"]);
    assert!(import(&mut fleet, 1).is_some());
}

/// Whatever a user deletes or edits of an import is put right: with its address, unless the whole import was deleted.
#[test]
fn what_users_take_away_comes_back() {
    let derived = |fleet: &mut Fleet| {
        let mut names = fleet.member(1).names(kinds::SERVICE).into_iter();
        names.find(|name| *name.namespace == *TEAM).unwrap()
    };
    for kind in [kinds::MCS_SERVICE_IMPORT, kinds::SERVICE, kinds::ENDPOINT_SLICE] {
        let mut fleet = imported();
        let before = ips(&mut fleet, 1);
        let is_service = kind == kinds::SERVICE;
        let name =
            if is_service { derived(&mut fleet) } else { fleet.member(1).names(kind)[0].clone() };
        fleet.member(1).delete(kind, &name).unwrap();
        calm(&mut fleet);
        assert_eq!(endpoints(&mut fleet, 1), ["a 10.1.0.1"], "{}", kind.kind);
        if kind != kinds::MCS_SERVICE_IMPORT {
            assert_eq!(ips(&mut fleet, 1), before, "{}", kind.kind);
        }
        judge(&fleet, kind.kind);
    }
}

/// A member forges slices for a Service that another one exports: importers believe those alone that the hub lists.
#[test]
fn forged_slices_reach_no_importer() {
    let mut fleet = imported();
    let name = fleet.hub.names(kinds::ENDPOINT_SLICE_EXPORT)[0].clone();
    let mut forged = fleet.hub.get(kinds::ENDPOINT_SLICE_EXPORT, &name).unwrap().clone();
    forged["metadata"] = json!({ "labels": forged["metadata"]["labels"] });
    forged["spec"]["endpointSliceReference"]["clusterId"] = json!("b");
    forged["spec"]["endpoints"] = json!([{ "addresses": ["10.6.6.6"] }]);
    let place = ObjectName::new("fleet-member-b", name.name);
    watch(&mut fleet, Some(1), Watched::Off); // Its agent would delete it.
    fleet.hub.create(kinds::ENDPOINT_SLICE_EXPORT, &place, forged).unwrap();
    fleet.settle();
    assert_eq!(endpoints(&mut fleet, 0), ["a 10.1.0.1"]);
}

/// A Service that is withdrawn and exported again and again: importers follow, and nothing is left over.
#[test]
fn exports_that_come_and_go_leave_nothing() {
    let mut fleet = joined(&["a", "b"], 5);
    deploy(&mut fleet, 0, &["10.1.0.1"]);
    for crash in [1, 2, 3, 4, 5, 6, 7, 8] {
        export_labelled(&mut fleet, 0, &json!({}));
        fleet.run_until_crash(crash);
        unexport(&mut fleet, 0);
        fleet.run_until_crash(crash);
        let killed = [fleet.writer];
        restart(&mut fleet, &killed);
        fleet.hub.advance(10);
        calm(&mut fleet);
        for at in 0..2 {
            assert!(import(&mut fleet, at).is_none(), "crash {crash}");
            assert_eq!(endpoints(&mut fleet, at), [""; 0], "crash {crash}");
        }
        assert!(fleet.hub.names(kinds::EXPORTED_SERVICE).is_empty(), "crash {crash}");
        assert!(fleet.hub.names(kinds::ENDPOINT_SLICE_EXPORT).is_empty(), "crash {crash}");
    }
    judge(&fleet, "exports that come and go");
    // An hour later the hub forgets that it was ever there.
    fleet.hub.advance(3_601);
    fleet.settle();
    assert!(fleet.hub.names(kinds::RESOLVED_SERVICE).is_empty());
}

/// Another implementation takes an import over: nothing more is written about that Service, until the import is deleted.
#[test]
fn an_import_whose_mark_is_deleted_is_left_alone() {
    let mut fleet = imported();
    let unmark = |import: &mut Value| import["metadata"]["annotations"] = json!({});
    fleet.member(1).edit(kinds::MCS_SERVICE_IMPORT, &web(), unmark).unwrap();
    fleet.settle();
    change_endpoints(&mut fleet, 0, &["10.1.0.9"]);
    let writes = fleet.settle();
    assert!(writes.iter().all(|(cluster, _)| cluster != "b"), "{writes:?}");
    fleet.member(1).delete(kinds::MCS_SERVICE_IMPORT, &web()).unwrap();
    fleet.settle();
    assert_eq!(endpoints(&mut fleet, 1), ["a 10.1.0.9"]);
}
