//! An agent is killed after any of its writes, and started again: the end is the same, nothing is left over, and importers lose
//! nothing meanwhile that they would not lose without it (L1, L12, F02).

use std::collections::BTreeMap;

use fleet_api::kinds;
use serde_json::Value;

use super::operations::{self, Operation};
use super::{calm, contents, everyone, judge, restart};
use crate::convergence::fleet::{AgentOf, Counted, Fleet};

/// Which agents are killed.
type Killed = fn(&Fleet) -> Vec<AgentOf>;

/// Each with an order of the agents' work.
const KILLED: [(u64, &str, Killed); 2] = [
    (7_919, "the agent that wrote last", |fleet| vec![fleet.writer]),
    (104_729, "all agents", everyone),
];

/// After each write of an operation.
#[track_caller]
fn killed_after_each_write(operation: &Operation) {
    let undisturbed = {
        let mut fleet = operation.prepare(3);
        (operation.act)(&mut fleet);
        calm(&mut fleet);
        judge(&fleet, operation.name);
        contents::of(&fleet)
    };
    for (seed, who, killed) in KILLED {
        let before = operation.prepare(seed);
        let mut writes = 0;
        loop {
            let what = format!("{}, {who} killed after {} writes", operation.name, writes + 1);
            let mut fleet = before.clone();
            (operation.act)(&mut fleet);
            if !fleet.run_until_crash(writes + 1) {
                break;
            }
            writes += 1;
            let killed = killed(&fleet);
            heals(operation, &mut fleet, &killed, &undisturbed, &what);
        }
        // And requests that the garbage collector has made superfluous.
        assert!(writes >= operation.writes.0 + operation.writes.1, "{}: {writes}", operation.name);
    }
}

/// The killed agents start again, and the end is as it is without that.
#[track_caller]
fn heals(
    operation: &Operation,
    fleet: &mut Fleet,
    killed: &[AgentOf],
    undisturbed: &BTreeMap<String, Value>,
    what: &str,
) {
    let writes = restart(fleet, killed);
    calm(fleet);
    let found = contents::of(fleet);
    for (object, content) in undisturbed {
        assert_eq!(found.get(object), Some(content), "{what}: {object}");
    }
    let more: Vec<_> = found.keys().filter(|key| !undisturbed.contains_key(*key)).collect();
    assert!(more.is_empty(), "{what}: left over {more:?}");
    let lost: Vec<_> = writes.iter().filter(|write| takes(write)).collect();
    assert!(operation.takes || lost.is_empty(), "{what}: {lost:?}");
    judge(fleet, what);
    assert!(fleet.settle().is_empty(), "{what}: at rest");
}

/// Whether a write takes something from clients of a member.
fn takes((cluster, write): &Counted) -> bool {
    let kinds = [kinds::MCS_SERVICE_IMPORT, kinds::SERVICE, kinds::ENDPOINT_SLICE];
    cluster != "hub"
        && write.verb == "delete"
        && kinds.iter().any(|kind| kind.label() == write.kind)
}

macro_rules! killed_after_each_write {
    ($($test:ident: $operation:ident;)*) => {$(
        #[test]
        fn $test() {
            killed_after_each_write(&operations::$operation);
        }
    )*};
}

killed_after_each_write! {
    an_export_survives_a_crash_at_each_write: EXPORT;
    a_headless_export_survives_a_crash_at_each_write: HEADLESS;
    an_import_survives_a_crash_at_each_write: IMPORT;
    a_change_of_endpoints_survives_a_crash_at_each_write: CHANGE;
    a_change_of_ports_survives_a_crash_at_each_write: PORT;
    one_of_two_unexports_survives_a_crash_at_each_write: ONE_UNEXPORT;
    the_last_unexport_survives_a_crash_at_each_write: LAST_UNEXPORT;
    a_second_export_survives_a_crash_at_each_write: SECOND_EXPORT;
    a_conflict_survives_a_crash_at_each_write: CONFLICT;
    a_namespace_that_appears_survives_a_crash_at_each_write: NAMESPACE;
}
