//! Scenarios written by hand, with what they come to worked out by hand.

use serde_json::{Value, json};

use crate::compare::{Comparison, judge};
use crate::program::{ask_oracle, ask_ours};

/// Text of a scenario, creates, updates and deletes, and the sizes of each group.
type Written = (&'static str, [u64; 3], &'static [&'static [u64]]);

const WRITTEN: [Written; 5] = [
    // A named port over a sidecar makes two groups; reserved label, hostname, finished pod, text of the annotation.
    (include_str!("scenarios/1-first-sync.json"), [3, 0, 0], &[&[2, 1], &[1]]),
    // Two updated slices are filled, the larger first; an unchanged one with controller stays alone.
    (include_str!("scenarios/2-fullest-first.json"), [0, 2, 0], &[&[4, 2, 1]]),
    // Order of recycling, a foreign slice is not recycled, annotations are lost.
    (include_str!("scenarios/3-port-change-recycles.json"), [0, 2, 2], &[&[2, 1]]),
    // A pod without node is left out with an error; IPv6 placeholder; unsupported slice.
    (include_str!("scenarios/4-dual-stack-missing-node.json"), [2, 0, 1], &[&[1], &[0]]),
    // The annotation wins over the distribution; a control plane gives no capacity.
    (include_str!("scenarios/5-topology-auto.json"), [0, 1, 0], &[&[5]]),
];

#[test]
fn hand_written_scenarios_come_to_the_same() {
    let scenarios: Vec<Value> =
        WRITTEN.iter().map(|(text, ..)| serde_json::from_str(text).unwrap()).collect();
    let theirs = ask_oracle(&["-runs", "16"], &scenarios);
    let ours = ask_ours(&[], &scenarios);
    for (at, (_, counts, sizes)) in WRITTEN.iter().enumerate() {
        if let Comparison::Different(how) = judge(&scenarios[at], &theirs[at], &ours[at]) {
            panic!("{}: {how}", scenarios[at]["id"]);
        }
        let outcome = &ours[at]["result"]["outcomes"][0];
        let [create, update, delete] = counts;
        assert_eq!(
            outcome["counts"],
            json!({"create": create, "update": update, "delete": delete})
        );
        let packing = outcome["packing"].as_array().unwrap();
        let found: Vec<&Value> = packing.iter().map(|group| &group["sizes"]).collect();
        assert_eq!(json!(found), json!(sizes), "{}", scenarios[at]["id"]);
    }
}
