//! What importers do not reach, by the connections that their agents have opened.

use std::collections::BTreeMap;

use fleet_api::ObjectName;
use fleet_api::multicluster::{ReachHop, ReachTrouble};

use crate::picture::Picture;
use crate::reach::reached::troubles;
use crate::shell::quoted;
use crate::story::{Cause, Hop};

/// Steps of one importer at most: it can name all its exporters.
const STEPS: usize = 4;

/// A step for each importer and exporter of which it is known that something is not reached.
pub(super) fn hops(picture: &Picture, service: &ObjectName) -> Vec<Hop> {
    let mut steps = BTreeMap::<&str, usize>::new();
    let mut is_first = |importer| {
        let own = steps.entry(importer).or_default();
        *own += 1;
        *own <= STEPS
    };
    let troubles = troubles(&picture.reach, service, picture.heard);
    let first = troubles.filter(|(importer, _)| is_first(*importer));
    first.map(|(importer, trouble)| hop(picture, importer, trouble)).collect()
}

fn hop(picture: &Picture, importer: &str, trouble: &ReachTrouble) -> Hop {
    let ReachTrouble { exporter, hop, since, detail, .. } = trouble;
    // The moment, not the age: the sentence is the same at each look.
    let (what, since, hop_name) = (what(*hop, exporter), since.0, hop.as_str());
    let says = format!("{what}, since {since} (hop {hop_name}): {detail}");
    let advice = advice(picture, importer, trouble);
    Hop::stop(importer, "ReachReport", Cause::NotReached, says, advice)
}

/// What does not answer, by the hop at which it stops.
fn what(hop: ReachHop, exporter: &str) -> String {
    match hop {
        ReachHop::Name => "the name does not lead to the address of the Service".to_owned(),
        ReachHop::Address => {
            format!("endpoints of {exporter} answer, and the address of the Service does not")
        }
        ReachHop::Route => format!("no endpoint of {exporter} answers"),
        ReachHop::Endpoint => format!("endpoints of {exporter} accept no connection"),
    }
}

fn advice(picture: &Picture, importer: &str, trouble: &ReachTrouble) -> String {
    let ReachTrouble { exporter, namespace, hop, .. } = trouble;
    match hop {
        ReachHop::Name => format!("fleetctl doctor --member {}", quoted(importer)),
        ReachHop::Address => format!(
            "check kube-proxy, or what serves Services there: {} -n kube-system get pods",
            picture.kubectl(importer)
        ),
        ReachHop::Route => format!(
            "check routes, tunnels and firewalls between {} and {}, in both directions",
            quoted(importer),
            quoted(exporter)
        ),
        ReachHop::Endpoint => format!(
            "check the Pods of the Service, its port, and what denies connections to it: {} -n {} get pods,networkpolicies",
            picture.kubectl(exporter),
            quoted(namespace)
        ),
    }
}
