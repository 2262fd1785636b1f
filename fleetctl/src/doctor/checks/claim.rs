//! Whether the hub knows a member as the cluster that it is, and has all that it exports.

use std::collections::BTreeSet;

use fleet_api::conditions::standard::DUPLICATE_CLUSTER;
use fleet_api::names::member_namespace;

use crate::doctor::finding::{Finding, Outcome, known};
use crate::doctor::list::list;
use crate::doctor::mend::hub_helm;
use crate::doctor::seen::{Hub, Report, Seen};
use crate::doctor::subject::Subject;
use crate::shell::{kubectl, quoted};

/// Whether the hub has accepted the member, and as this cluster.
pub(super) fn claim(member: &Subject<'_>) -> Outcome {
    let hub = member.hub()?;
    let Some(report) = member.report()? else { return Ok(vec![unreported(member, hub)]) };
    let uid = known(&member.own.uid)?;
    if report.cluster_uid != *uid {
        let name = member.name;
        let what = format!(
            "the hub has recorded another cluster as {name} (uid {}, and this one is {uid}): the member agent writes nothing",
            report.cluster_uid
        );
        let advice = format!(
            "if this cluster is to have the name: fleetctl join {name} --replace. Otherwise join it under a name of its own"
        );
        return Ok(vec![Finding::failure(what, advice)]);
    }
    Ok(accepted(report, hub).into_iter().collect())
}

fn unreported(member: &Subject<'_>, hub: &Hub) -> Finding {
    let name = member.name;
    let what = format!(
        "the hub has no ClusterReport of {name}: its agent has not connected, or is of release 0.1"
    );
    let advice = format!(
        "check the member agent ({} -n fleet-system get pods), and whether {name} has joined this hub: fleetctl status \
         --hub-context {}",
        member.kubectl(),
        quoted(&hub.context)
    );
    Finding::failure(what, advice)
}

fn accepted(report: &Report, hub: &Hub) -> Option<Finding> {
    let Some(accepted) = &report.accepted else {
        let what =
            "the hub agent has not answered whether the member takes part in the standard API";
        let advice = "run the hub agent with --multicluster=on: value multicluster.mode of the chart hub-agent";
        let command = hub_helm(hub, &["multicluster.mode=on"]);
        return Some(Finding::failure(what, advice).mend_with(command));
    };
    let message = &accepted.message;
    if !accepted.is_true {
        let what = format!("the hub does not accept the member ({}): {message}", accepted.reason);
        let namespace = member_namespace(&report.member);
        let advice = format!("{} -n {namespace} get clusterreports -o yaml", kubectl(&hub.context));
        return Some(Finding::failure(what, advice));
    }
    let is_twin = accepted.reason == DUPLICATE_CLUSTER;
    let advice = || {
        let member = &report.member;
        format!(
            "if both are one cluster, let one of them leave, such as this one: fleetctl leave {member}"
        )
    };
    is_twin.then(|| Finding::warning(message, advice()))
}

/// Whether the hub agent and the imports of the member name the hub that there is.
pub(super) fn incarnation(member: &Subject<'_>) -> Outcome {
    let hub = member.hub()?;
    let Some(report) = member.report()? else { return Ok(Vec::new()) };
    let Some(incarnation) = report.incarnation.as_deref() else { return Ok(Vec::new()) };
    if !is_of(incarnation, known(&hub.uid)?) {
        let what = format!(
            "the hub agent has named another hub to the member ({incarnation}) than there is"
        );
        let advice = "check that the hub agent runs: it names the hub again within seconds";
        return Ok(vec![Finding::failure(what, advice)]);
    }
    let marked = member.marked()?;
    let others = marked.iter().filter(|(_, mark)| *mark != incarnation);
    let others: Vec<_> = others.map(|(import, _)| &import.name).collect();
    if others.is_empty() {
        return Ok(Vec::new());
    }
    let what = format!(
        "{} ServiceImports were confirmed by another hub and not yet by this one: {}",
        others.len(),
        list(others)
    );
    let advice = "they stay until all their exporters have reported to this hub: check that the agents of all exporters run. If \
                  such a Service is gone for good, delete its ServiceImport";
    Ok(vec![Finding::failure(what, advice)])
}

/// Whether an incarnation is of the hub with this uid.
fn is_of(incarnation: &str, uid: &str) -> bool {
    incarnation.split_once('/').is_some_and(|(of, _)| of == uid)
}

/// Whether the hub has all exports of the member.
pub(super) fn published(member: &Subject<'_>) -> Outcome {
    let Some(report) = member.report()? else { return Ok(Vec::new()) };
    if report.incarnation.is_none() || report.published_to == report.incarnation {
        return Ok(Vec::new());
    }
    let what = "the member has not reported that the hub has all of its exports: after a loss of the hub's data, importers keep \
                what is missing of it";
    let advice = format!(
        "this takes a minute after a start of the agent; later, look for ServiceExports that are not exported: {} get \
         serviceexports.multicluster.x-k8s.io -A",
        member.kubectl()
    );
    Ok(vec![Finding::warning(what, advice)])
}

/// Which other members have not reported that the hub has all of their exports. Those that once did take part; others may not.
pub(super) fn unpublished(seen: &Seen, hub: &Hub) -> Outcome {
    if !hub.serves_standard()? {
        return Ok(Vec::new());
    }
    let looked_at: BTreeSet<_> =
        seen.members.iter().filter(|it| it.own.is_ok()).map(|it| &it.name).collect();
    let reports = known(&hub.reports)?.iter().filter(|report| !looked_at.contains(&report.member));
    let silent = reports
        .filter(|report| report.incarnation.is_some() && report.published_to != report.incarnation);
    let (elsewhere, never): (Vec<_>, Vec<_>) =
        silent.partition(|report| report.published_to.is_some());
    let names = |reports: Vec<&Report>| list(reports.into_iter().map(|report| &report.member));
    let mut findings = Vec::new();
    if !elsewhere.is_empty() {
        let what = format!(
            "members have reported their exports to another hub and not yet to this one: {}. What they exported stays imported \
             where this hub lacks it",
            names(elsewhere)
        );
        findings.push(Finding::warning(what, "check that their agents run, and reach this hub"));
    }
    if !never.is_empty() {
        let what = format!(
            "members have never reported that the hub has all of their exports: {}",
            names(never)
        );
        findings.push(Finding::information(
            what,
            "that is so for members that run with --multicluster=off",
        ));
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::seen::{Accepted, Report};
    use crate::doctor::testing::{HUB, import, levels, sound, unread};

    #[test]
    fn a_sound_member_is_accepted() {
        let world = sound();
        for check in [claim, incarnation, published] {
            assert_eq!(world.examine(check), []);
        }
    }

    #[test]
    fn a_member_without_a_report_has_not_connected() {
        let mut world = sound();
        world.hub().reports = Ok(Vec::new());
        let found = world.examine(claim);
        assert_eq!(levels(&found), ["failure"]);
        assert!(found[0].what.contains("no ClusterReport of west"), "{found:?}");
        assert_eq!(world.examine(incarnation), []);
        assert_eq!(world.examine(published), []);
    }

    #[test]
    fn another_cluster_of_the_name_is_named() {
        let mut world = sound();
        world.own().uid = Ok("other".to_owned());
        let found = world.examine(claim);
        assert!(found[0].what.contains("and this one is other"), "{found:?}");
        assert!(found[0].advice.as_deref().unwrap().contains("join west --replace"), "{found:?}");
    }

    #[test]
    fn what_the_hub_agent_answers_is_reported() {
        let mut world = sound();
        world.report().accepted = None;
        assert!(world.examine(claim)[0].advice.as_deref().unwrap().contains("--multicluster=on"));
        let reason = DUPLICATE_CLUSTER.to_owned();
        let twin = Accepted { is_true: true, reason, message: "and so does east".to_owned() };
        world.report().accepted = Some(twin.clone());
        assert_eq!(levels(&world.examine(claim)), ["warning"]);
        world.report().accepted = Some(Accepted { is_true: false, ..twin });
        let found = world.examine(claim);
        assert_eq!(levels(&found), ["failure"]);
        assert!(found[0].what.contains("and so does east"), "{found:?}");
    }

    #[test]
    fn a_rebuilt_hub_is_found_out() {
        let mut world = sound();
        world.hub().uid = Ok("rebuilt".to_owned());
        let found = world.examine(incarnation);
        assert!(found[0].what.contains("named another hub"), "{found:?}");
        let mut world = sound();
        world.own().imports = Ok(vec![
            import("shop/web", Some("old/0")),
            import("shop/api", Some(HUB)),
            import("shop/db", None),
        ]);
        let found = world.examine(incarnation);
        assert_eq!(levels(&found), ["failure"]);
        assert!(found[0].what.ends_with("by this one: shop/web"), "{found:?}");
        world.report().incarnation = None;
        assert_eq!(world.examine(incarnation), [], "the claim check reports it");
    }

    #[test]
    fn exports_that_are_not_complete_are_a_warning() {
        let mut world = sound();
        for other in [None, Some("old/0".to_owned())] {
            world.report().published_to = other;
            assert_eq!(levels(&world.examine(published)), ["warning"]);
        }
    }

    fn report(member: &str, published_to: Option<&str>) -> Report {
        Report {
            member: member.to_owned(),
            incarnation: Some(HUB.to_owned()),
            clusterset_id: Some("fleet".to_owned()),
            published_to: published_to.map(str::to_owned),
            ..Report::default()
        }
    }

    #[test]
    fn other_members_are_judged_by_what_they_once_reported() {
        let mut world = sound();
        assert_eq!(world.examine_hub(unpublished), []);
        let reports = world.hub().reports.as_mut().unwrap();
        reports.extend([
            report("east", Some("old/0")),
            report("north", None),
            report("south", Some(HUB)),
        ]);
        let found = world.examine_hub(unpublished);
        assert_eq!(levels(&found), ["warning", "information"]);
        assert!(found[0].what.contains("this one: east."), "{found:?}");
        assert!(found[1].what.ends_with(": north"), "{found:?}");
        for report in world.hub().reports.as_mut().unwrap() {
            report.clusterset_id = None;
        }
        assert_eq!(world.examine_hub(unpublished), [], "the hub does not serve the API");
    }

    #[test]
    fn without_the_hub_nothing_is_claimed() {
        let mut world = sound();
        world.seen.hub = Err(unread());
        for check in [claim, incarnation, published] {
            assert_eq!(world.try_examine(check), Err(unread()));
        }
        let mut world = sound();
        world.hub().reports = Err(unread());
        assert_eq!(world.try_examine(claim), Err(unread()));
        let mut world = sound();
        world.own().uid = Err(unread());
        assert_eq!(world.try_examine(claim), Err(unread()));
    }
}
