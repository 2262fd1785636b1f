//! How many writes each event costs in the whole fleet, on the hub and in the members.

use fleet_api::{ObjectName, kinds};
use serde_json::{Value, json};

use super::operations::{ALL, LAST_UNEXPORT};
use super::{TEAM, calm, deploy, everyone, export, export_labelled, joined, judge, restart};
use crate::convergence::fleet::{Counted, Fleet};

/// Writes on the hub, and in all members.
fn counted(writes: &[Counted]) -> (usize, usize) {
    let on_hub = writes.iter().filter(|(cluster, _)| cluster == "hub").count();
    (on_hub, writes.len() - on_hub)
}

#[test]
fn each_operation_takes_the_writes_that_the_design_lists() {
    for operation in ALL {
        for seed in 1..4 {
            let mut fleet = operation.prepare(seed * 104_729);
            (operation.act)(&mut fleet);
            let writes = fleet.settle();
            let (on_hub, in_members) = counted(&writes);
            let (hub, members) = operation.writes;
            let fits = (members..=members + operation.slower).contains(&in_members);
            assert!(on_hub == hub && fits, "{}: {writes:#?}", operation.name);
            assert!(fleet.settle().is_empty(), "{}: at rest", operation.name);
        }
    }
}

/// One write on the hub, whatever the number of importers, and one in each cluster.
#[test]
fn an_endpoint_change_costs_the_hub_one_write() {
    for importers in [1, 3, 6] {
        let names: Vec<_> = (0..=importers).map(|number| format!("m{number}")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let mut fleet = joined(&names, 1);
        for at in 0..names.len() {
            super::make_namespace(fleet.member(at));
        }
        export(&mut fleet, 0, &["10.1.0.1"]);
        fleet.settle();
        super::change_endpoints(&mut fleet, 0, &["10.1.0.2"]);
        assert_eq!(counted(&fleet.settle()), (1, 1 + importers));
    }
}

/// An agent that starts anew finds everything as it should be.
#[test]
fn a_restart_of_any_agent_takes_no_write_once_the_hub_has_answered() {
    let mut fleet = LAST_UNEXPORT.prepare(1);
    for agent in everyone(&fleet) {
        let mut reported = 0;
        for (cluster, write) in restart(&mut fleet, &[agent]) {
            // While the hub does not answer for a while, its exports may be reported as pending.
            assert!(cluster != "hub" && write.verb == "patch_status", "{cluster} {write:?}");
            reported += 1;
        }
        assert!(reported <= 2, "{reported}");
    }
}

/// In a namespace that is being deleted nothing is written, and no importer elsewhere notices it.
#[test]
fn a_namespace_that_ends_takes_no_write_of_an_agent() {
    let mut fleet = joined(&["a", "b"], 1);
    export(&mut fleet, 0, &["10.1.0.1"]);
    fleet.settle();
    let team = ObjectName::cluster(TEAM);
    let hold = |namespace: &mut Value| namespace["metadata"]["finalizers"] = json!(["kubernetes"]);
    fleet.member(1).edit(kinds::NAMESPACE, &team, hold).unwrap();
    fleet.member(1).delete(kinds::NAMESPACE, &team).unwrap();
    assert_eq!(counted(&fleet.settle()), (0, 0));
    // The controller of namespaces deletes what is in it, in whatever order.
    let imports = fleet.member(1).names(kinds::MCS_SERVICE_IMPORT);
    for import in imports {
        fleet.member(1).delete(kinds::MCS_SERVICE_IMPORT, &import).unwrap();
    }
    super::change_endpoints(&mut fleet, 0, &["10.1.0.2"]);
    assert_eq!(counted(&fleet.settle()), (1, 1), "the exporter's slice, and its own import");
    assert!(super::import(&mut fleet, 1).is_none());
}

/// Exporters that all differ: each costs the hub its own objects and one write of what is in force.
#[test]
fn a_storm_of_conflicts_is_one_write_on_the_hub_for_each_exporter() {
    let names = ["a", "b", "m3", "m4", "m5", "m6"];
    let mut fleet = joined(&names, 1);
    for at in 2..names.len() {
        super::make_namespace(fleet.member(at));
    }
    export(&mut fleet, 0, &["10.1.0.1"]);
    calm(&mut fleet);
    for (at, name) in names.iter().enumerate().skip(1) {
        deploy(&mut fleet, at, &[&format!("10.{at}.0.1")]);
        export_labelled(&mut fleet, at, &json!({ "tier": name }));
        let (on_hub, _) = counted(&run(&mut fleet));
        assert_eq!(on_hub, 3, "{name}");
    }
    judge(&fleet, "a storm of conflicts");
}

fn run(fleet: &mut Fleet) -> Vec<Counted> {
    let writes = fleet.settle();
    calm(fleet);
    writes
}
