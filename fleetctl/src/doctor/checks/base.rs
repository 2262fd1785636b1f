//! Definitions, rights, policies and clocks: what an agent stands on, on the hub as in a member.

use crate::doctor::finding::{Finding, Outcome, Read, known};
use crate::doctor::list::list;
use crate::doctor::mend::{HUB_CHART, MEMBER_CHART, RELEASE, helm, is_newer, owns};
use crate::doctor::seen::{Base, Hub, Kind, OnHub, Policy, Seen};
use crate::doctor::subject::Subject;
use crate::shell::quoted;

/// The cluster that an agent is in.
struct Place<'a> {
    chart: &'static str,
    context: &'a str,
    base: &'a Base,
}

impl<'a> Place<'a> {
    fn hub(hub: &'a Hub) -> Self {
        Self { chart: HUB_CHART, context: &hub.context, base: &hub.base }
    }

    fn member(member: &Subject<'a>) -> Self {
        Self { chart: MEMBER_CHART, context: &member.own.context, base: &member.own.base }
    }

    fn helm(&self, values: &[&str]) -> Result<String, String> {
        helm(self.chart, self.context, self.base, values)
    }
}

/// Whether the hub has this release's definitions.
pub(super) fn hub_kinds(_: &Seen, hub: &Hub) -> Outcome {
    kinds_of(&Place::hub(hub))
}

/// Whether a member has this release's definitions.
pub(super) fn kinds(member: &Subject<'_>) -> Outcome {
    kinds_of(&Place::member(member))
}

fn kinds_of(place: &Place<'_>) -> Outcome {
    let kinds = known(&place.base.kinds)?;
    let mut findings = Vec::new();
    let missing: Vec<_> = kinds.iter().filter(|kind| !kind.exists).map(|kind| &kind.name).collect();
    if !missing.is_empty() {
        let what = format!("definitions are missing: {}: the agent waits for them", list(missing));
        let advice = format!("install them: value crds.install=true of the chart {}", place.chart);
        let command = place.helm(&["crds.install=true"]);
        findings.push(Finding::failure(what, advice).mend_with(command));
    }
    findings.extend(kinds.iter().filter(|kind| kind.exists).filter_map(|it| outdated(it, place)));
    Ok(findings)
}

fn outdated(kind: &Kind, place: &Place<'_>) -> Option<Finding> {
    let Kind { name, versions, fields, bounds, .. } = kind;
    let advice = format!(
        "install this release's definitions: value crds.install=true of the chart {}, with crds.adopt=true and helm's \
         --take-ownership where another release or the original has installed them",
        place.chart
    );
    let mend = |finding: Finding| {
        if !owns(place.base, kind) {
            return finding;
        }
        finding.mend_with(place.helm(&["crds.install=true"]))
    };
    if !versions.is_empty() {
        let what = format!("the definition {name} does not serve {}", list(versions));
        return Some(mend(Finding::failure(what, advice)));
    }
    let mut lacks = Vec::new();
    if !fields.is_empty() {
        lacks.push(format!("{} fields ({})", fields.len(), list(fields)));
    }
    if !bounds.is_empty() {
        lacks.push(format!("{} bounds ({})", bounds.len(), list(bounds)));
    }
    if lacks.is_empty() {
        return None;
    }
    let what = format!(
        "the definition {name} lacks {} of this release: what needs these fields does not arrive, and without bounds a member can \
         write objects of any size",
        lacks.join(" and ")
    );
    Some(mend(Finding::warning(what, advice)))
}

/// Whether the hub agent has the rights that its chart grants.
pub(super) fn hub_rights(_: &Seen, hub: &Hub) -> Outcome {
    rights_of(&Place::hub(hub))
}

/// Whether a member agent has the rights that its chart grants.
pub(super) fn rights(member: &Subject<'_>) -> Outcome {
    rights_of(&Place::member(member))
}

fn rights_of(place: &Place<'_>) -> Outcome {
    let lacks = known(&place.base.lacks)?;
    if lacks.is_empty() {
        return Ok(Vec::new());
    }
    let account = known(&place.base.install)?.as_ref();
    let account = account.map(|it| format!("{}/{}", it.namespace, it.account)).unwrap_or_default();
    let what = format!(
        "the agent, as ServiceAccount {account}, lacks {} rights that the chart grants: {}",
        lacks.len(),
        list(lacks)
    );
    let advice = format!("bring the release of the chart {} to this version", place.chart);
    Ok(vec![Finding::failure(what, advice).mend_with(place.helm(&["rbac.create=true"]))])
}

/// Whether a member agent may do on the hub what the chart lets members do.
pub(super) fn on_hub(member: &Subject<'_>) -> Outcome {
    let OnHub { account, lacks } = known(&member.own.on_hub)?;
    if lacks.is_empty() {
        return Ok(Vec::new());
    }
    let what = format!(
        "the member, as {account} on the hub, lacks {} rights there that the chart {HUB_CHART} grants: {}",
        lacks.len(),
        list(lacks)
    );
    let advice = format!(
        "fleetctl join {} grants them once more, or bring the release of the chart {HUB_CHART} to this version, with the member in \
         the lists of members of the values that it needs",
        quoted(member.name)
    );
    Ok(vec![Finding::failure(what, advice)])
}

/// Whether the admission policies on the hub are of this release.
pub(super) fn hub_policies(_: &Seen, hub: &Hub) -> Outcome {
    policies_of(&Place::hub(hub))
}

/// Whether the admission policies in a member are of this release.
pub(super) fn policies(member: &Subject<'_>) -> Outcome {
    policies_of(&Place::member(member))
}

fn policies_of(place: &Place<'_>) -> Outcome {
    let all = known(&place.base.policies)?;
    let chart = place.chart;
    let ours: Vec<_> = all.iter().filter(|policy| policy.chart == chart).collect();
    if ours.is_empty() {
        let what = format!(
            "no admission policy of the chart {chart} is installed: only rights stand between a stolen credential and the cluster"
        );
        let advice = "value policies.enabled=true of the chart installs them; docs/security.md has what they refuse";
        return Ok(vec![Finding::information(what, advice)]);
    }
    let mut findings = Vec::new();
    let (newer, ours): (Vec<_>, Vec<_>) =
        ours.into_iter().partition(|policy| is_newer(&policy.version));
    if !newer.is_empty() {
        let names = list(newer.iter().map(|policy| &policy.name));
        let what = format!("admission policies are of a newer release than {RELEASE}: {names}");
        let advice = "examine this fleet with the fleetctl of that release: this one knows less";
        findings.push(Finding::information(what, advice));
    }
    let mut say = |policies: Vec<&&Policy>, what: &str| {
        if !policies.is_empty() {
            let names = list(policies.iter().map(|policy| &policy.name));
            let advice = format!("bring the release of the chart {chart} to this version");
            let finding = Finding::warning(format!("admission policies {what}: {names}"), advice);
            findings.push(finding.mend_with(place.helm(&[])));
        }
    };
    say(
        ours.iter().filter(|policy| policy.version != RELEASE).collect(),
        &format!(
            "are of another release than {RELEASE}: they may refuse what this release writes, or let pass what it forbids"
        ),
    );
    say(
        newer.iter().chain(&ours).filter(|policy| !policy.is_bound).collect(),
        "have no binding, and refuse nothing",
    );
    Ok(findings)
}

/// Seconds of skew without an effect.
const SMALL: u64 = 10;
/// Seconds of skew from which on tokens and Leases are misjudged.
const LARGE: u64 = 60;

/// Whether the clock of this computer is right, by that of the hub: the other checks of clocks need nothing of it.
pub(super) fn hub_clock(_: &Seen, hub: &Hub) -> Outcome {
    let skew = *known(&hub.base.clock)?;
    let what =
        format!("the hub's clock and that of this computer differ by {} s", skew.unsigned_abs());
    let advice = "synchronize them: ages and expiries that fleetctl prints are wrong by that";
    Ok((skew.unsigned_abs() > SMALL)
        .then(|| Finding::information(what, advice))
        .into_iter()
        .collect())
}

/// Whether the clocks of a member and of the hub agree.
pub(super) fn clock(member: &Subject<'_>) -> Outcome {
    let hub: &Read<i64> = &member.hub()?.base.clock;
    let skew = known(&member.own.base.clock)?.saturating_sub(*known(hub)?).unsigned_abs();
    let what = format!("the clocks of the member's API server and of the hub's differ by {skew} s");
    let advice = "synchronize the clocks of both control planes (chrony or systemd-timesyncd on their machines): tokens, Leases and \
                  latencies are judged by them";
    Ok(match skew {
        0..=SMALL => Vec::new(),
        skew if skew > LARGE => vec![Finding::failure(what, advice)],
        _ => vec![Finding::warning(what, advice)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::testing::{levels, sound, unread};

    #[test]
    fn definitions_are_compared() {
        let mut world = sound();
        assert_eq!((world.examine(kinds), world.examine_hub(hub_kinds)), (vec![], vec![]));
        let kind = Kind { name: "a.b".to_owned(), exists: true, ..Kind::default() };
        let some = |text: &str| vec![text.to_owned()];
        world.own().base.kinds = Ok(vec![
            Kind { exists: false, ..kind.clone() },
            Kind {
                versions: some("v1beta1"),
                owner: Some("fleet-system/member-agent".to_owned()),
                ..kind.clone()
            },
            Kind {
                owner: Some("fleet-system/hub-agent".to_owned()),
                fields: some(".spec.weight"),
                bounds: some(".spec.x (maxLength)"),
                ..kind
            },
        ]);
        let found = world.examine(kinds);
        assert_eq!(levels(&found), ["failure", "failure", "warning"]);
        assert!(found[1].what.contains("does not serve v1beta1"), "{found:?}");
        let expected = "lacks 1 fields (.spec.weight) and 1 bounds (.spec.x (maxLength))";
        assert!(found[2].what.contains(expected), "{found:?}");
        assert!(found[0].command.as_ref().unwrap().ends_with("--set crds.install=true"));
        assert!(found[1].command.as_ref().unwrap().ends_with("--set crds.install=true"));
        assert_eq!(found[2].command, None, "no user has decided to take it over");
        world.hub().base.kinds = world.own().base.kinds.clone();
        let found = world.examine_hub(hub_kinds);
        assert!(found[0].command.as_ref().unwrap().contains("charts/hub-agent --kube-context hub"));
    }

    #[test]
    fn lacking_rights_are_counted() {
        let mut world = sound();
        assert_eq!((world.examine(rights), world.examine_hub(hub_rights)), (vec![], vec![]));
        world.own().base.lacks = Ok(vec!["watch nodes".to_owned()]);
        let found = world.examine(rights);
        assert_eq!(levels(&found), ["failure"]);
        assert!(found[0].what.contains("fleet-system/member-agent, lacks 1 rights"), "{found:?}");
        world.hub().base.lacks = Err(unread());
        assert_eq!(world.try_examine_hub(hub_rights), Err(unread()));
    }

    #[test]
    fn lacking_rights_on_the_hub_are_counted() {
        let mut world = sound();
        assert_eq!(world.examine(on_hub), []);
        let lacks = vec!["create leases in fleet-member-west".to_owned()];
        world.own().on_hub = Ok(OnHub { account: "user west".to_owned(), lacks });
        let found = world.examine(on_hub);
        assert_eq!(levels(&found), ["failure"]);
        assert!(found[0].what.contains("as user west on the hub, lacks 1 rights"), "{found:?}");
        assert!(found[0].advice.as_ref().unwrap().starts_with("fleetctl join west"), "{found:?}");
        world.own().on_hub = Err(unread());
        assert_eq!(world.try_examine(on_hub), Err(unread()));
    }

    #[test]
    fn policies_of_another_release_or_without_a_binding_are_named() {
        let mut world = sound();
        assert_eq!((world.examine(policies), world.examine_hub(hub_policies)), (vec![], vec![]));
        let policy = &mut world.own().base.policies.as_mut().unwrap()[0];
        policy.version = "0.0.9".to_owned();
        policy.is_bound = false;
        let found = world.examine(policies);
        assert_eq!(levels(&found), ["warning", "warning"]);
        assert!(
            found[0].what.contains("of another release") && found[1].what.contains("no binding")
        );
        assert!(found[0].command.as_ref().unwrap().ends_with("--reset-then-reuse-values"));
        world.own().base.policies.as_mut().unwrap()[0].chart = HUB_CHART.to_owned();
        assert_eq!(levels(&world.examine(policies)), ["information"], "those of the hub's chart");
        let policy = &mut world.own().base.policies.as_mut().unwrap()[0];
        (policy.chart, policy.version) = (MEMBER_CHART.to_owned(), "999.0.0".to_owned());
        policy.is_bound = true;
        let found = world.examine(policies);
        assert_eq!(levels(&found), ["information"]);
        assert!(found[0].what.contains("of a newer release") && found[0].command.is_none());
    }

    #[test]
    fn clocks_are_compared_with_that_of_the_hub() {
        let mut world = sound();
        for (own, hub, expected) in [
            (3, 0, None),
            (-11, 0, Some("warning")),
            (61, 0, Some("failure")),
            (500, 495, None),
            (0, -61, Some("failure")),
            (i64::MAX, i64::MIN, Some("failure")),
        ] {
            world.own().base.clock = Ok(own);
            world.hub().base.clock = Ok(hub);
            let found = levels(&world.examine(clock));
            assert_eq!(found.first().map(String::as_str), expected, "{own} {hub}");
        }
        world.hub().base.clock = Ok(11);
        assert_eq!(levels(&world.examine_hub(hub_clock)), ["information"]);
        world.hub().base.clock = Ok(10);
        assert_eq!(world.examine_hub(hub_clock), []);
        world.hub().base.clock = Err(unread());
        assert_eq!(world.try_examine(clock), Err(unread()));
    }
}
