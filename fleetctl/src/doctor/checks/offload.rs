//! Pods of one member in another: what keeps them from it.

use std::collections::BTreeMap;

use fleet_api::names::member_namespace;
use fleet_api::offload::{LinkState, VirtualNodePhase};

use crate::doctor::finding::{Finding, Outcome, known};
use crate::doctor::seen::{Hub, Seen};
use crate::offload::{IdleOffer, Offered, has_open};
use crate::shell::{kubectl, quoted};

/// What users do about an offer in general.
const SEE: &str = "fleetctl offload status";

/// Whether all offers are in force.
pub(super) fn offers(_: &Seen, hub: &Hub) -> Outcome {
    let offload = known(&hub.offload)?;
    let finding = |offer: &IdleOffer| {
        let IdleOffer { executor, reason, drains, help } = offer;
        if *drains {
            return Finding::information(format!("{executor}: {reason}"), SEE);
        }
        let what = format!("the offer of {executor} is not in force: {reason}");
        Finding::warning(what, help.as_deref().unwrap_or(SEE))
    };
    Ok(offload.idle.iter().map(finding).collect())
}

/// Whether Pods get from each origin to each executor.
pub(super) fn nodes(_: &Seen, hub: &Hub) -> Outcome {
    let offload = known(&hub.offload)?;
    Ok(offload.nodes.iter().flat_map(|node| of_node(node, hub)).collect())
}

/// Whether P5 still checks the addresses that origins export.
pub(super) fn ranges(_: &Seen, hub: &Hub) -> Outcome {
    let all = known(&hub.executor_ranges)?;
    let open = all.iter().filter(|(_, ranges)| has_open(ranges));
    let finding = |(origin, ranges): &(String, String)| {
        let what = format!(
            "{origin} may export any address as one of its executors: its member policy has the ranges {ranges} for them"
        );
        let advice = format!(
            "give each executor ranges of its own (fleetctl join EXECUTOR --cidrs RANGES-OF-ITS-PODS --print nothing), then: fleetctl offload \
             accept EXECUTOR --origin {}",
            quoted(origin)
        );
        Finding::warning(what, advice)
    };
    Ok(open.map(finding).collect())
}

fn of_node(node: &Offered, hub: &Hub) -> Vec<Finding> {
    let Offered { origin, executor, pods, .. } = node;
    let help = || node.help.clone().unwrap_or_else(|| SEE.to_owned());
    let is = |phase: VirtualNodePhase| node.phase == phase.as_str();
    if is(VirtualNodePhase::Offered) {
        let what =
            format!("{executor} offers to run Pods of {origin}, which has not accepted that");
        return vec![Finding::information(what, help())];
    }
    let mut found = Vec::new();
    if node.heard == Some(LinkState::Silent.as_str()) {
        let what = format!(
            "{executor} renews its Lease on the hub no longer: {pods} Pods of {origin} there get no traffic"
        );
        found.push(Finding::failure(what, help()));
    } else if node.heard.is_none() {
        let what = format!(
            "it is not known whether {executor} is reached: Pods of {origin} there are not ready"
        );
        found.push(Finding::failure(what, help()));
    }
    if is(VirtualNodePhase::Withdrawn) && *pods > 0 {
        let what =
            format!("{executor} offers nothing any more, and {pods} Pods of {origin} are left");
        found.push(Finding::warning(what, help()));
    }
    found.extend(waiting(node, hub));
    found
}

fn waiting(node: &Offered, hub: &Hub) -> Option<Finding> {
    let Offered { origin, executor, waiting, .. } = node;
    let stopped: BTreeMap<_, _> =
        waiting.iter().filter(|(reason, _)| !PASSING.contains(&reason.as_str())).collect();
    let count: usize = stopped.values().copied().sum();
    let reasons: Vec<_> = stopped.keys().map(|reason| reason.as_str()).collect();
    let what = format!("{count} Pods of {origin} wait for {executor}: {}", reasons.join(", "));
    let list = format!("{} -n {} get podexports", kubectl(&hub.context), member_namespace(origin));
    (count > 0).then(|| Finding::warning(what, node.help.clone().unwrap_or(list)))
}

/// Reasons for which a Pod waits a moment in a fleet that works.
const PASSING: [&str; 4] = ["Pending", "Stopping", "WaitingForExecutor", "NotExported"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::testing::{World, levels, sound, unread};
    use crate::offload::OffloadStatus;

    fn node() -> Offered {
        Offered {
            origin: "east".to_owned(),
            executor: "west".to_owned(),
            phase: "Accepted",
            heard: Some("Connected"),
            node: Some("fleet-west".to_owned()),
            pods: 3,
            capacity: 20,
            waiting: BTreeMap::new(),
            help: None,
        }
    }

    fn with(nodes: Vec<Offered>, idle: Vec<IdleOffer>) -> World {
        let mut world = sound();
        world.hub().offload = Ok(OffloadStatus { nodes, idle });
        world
    }

    #[test]
    fn a_node_that_works_is_no_finding() {
        let world = with(vec![node()], Vec::new());
        assert_eq!((world.examine_hub(nodes), world.examine_hub(offers)), (Vec::new(), Vec::new()));
        let passing = [("Pending".to_owned(), 2), ("Stopping".to_owned(), 1)].into();
        let world = with(vec![Offered { waiting: passing, ..node() }], Vec::new());
        assert_eq!(world.examine_hub(nodes), [], "that is usual");
    }

    #[test]
    fn each_problem_has_a_level_and_a_command() {
        let help = Some("fleetctl offload accept west --origin east".to_owned());
        let offered = Offered { phase: "Offered", help: help.clone(), ..node() };
        let found = with(vec![offered], Vec::new()).examine_hub(nodes);
        assert_eq!(
            (levels(&found), found[0].advice.clone()),
            (vec!["information".to_owned()], help)
        );
        let silent = Offered { heard: Some("Silent"), ..node() };
        let unheard = Offered { heard: None, ..node() };
        let withdrawn = Offered { phase: "Withdrawn", ..node() };
        let full = [("QuotaExceeded".to_owned(), 4)].into();
        let waits = Offered { waiting: full, ..node() };
        let found = with(vec![silent, unheard, withdrawn, waits], Vec::new()).examine_hub(nodes);
        assert_eq!(levels(&found), ["failure", "failure", "warning", "warning"]);
        assert!(found[0].what.contains("3 Pods of east there get no traffic"));
        assert!(
            found[3].what.ends_with("4 Pods of east wait for west: QuotaExceeded"),
            "{found:?}"
        );
        assert!(found[3].advice.as_ref().unwrap().ends_with("-n fleet-member-east get podexports"));
    }

    #[test]
    fn offers_that_are_not_in_force_are_found() {
        let idle = |reason: &str, drains| IdleOffer {
            executor: "west".to_owned(),
            reason: reason.to_owned(),
            drains,
            help: None,
        };
        let all =
            vec![idle("ranges of pods overlap those of east", false), idle("it drains", true)];
        let found = with(Vec::new(), all).examine_hub(offers);
        assert_eq!(levels(&found), ["warning", "information"]);
        assert!(found[0].what.contains("not in force: ranges of pods overlap"));
    }

    #[test]
    fn a_policy_with_all_addresses_is_found() {
        let mut world = sound();
        let policy = |member: &str, ranges: &str| (member.to_owned(), ranges.to_owned());
        let all = [policy("east", "10.2.0.0/16,fd00::/64"), policy("north", "0.0.0.0/0,::/0")];
        world.hub().executor_ranges = Ok(all.to_vec());
        let found = world.examine_hub(ranges);
        assert_eq!(levels(&found), ["warning"]);
        assert!(found[0].what.starts_with("north may export any address"), "{found:?}");
        assert!(found[0].advice.as_ref().unwrap().ends_with("accept EXECUTOR --origin north"));
    }

    #[test]
    fn what_may_not_be_read_is_not_checked() {
        let mut world = sound();
        world.hub().offload = Err(unread());
        world.hub().executor_ranges = Err(unread());
        for check in [nodes, offers, ranges] {
            assert!(world.try_examine_hub(check).is_err());
        }
    }
}
