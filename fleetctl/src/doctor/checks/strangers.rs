//! Other implementations of the standard API in a cluster, and what an agent has left that no longer serves it.

use std::collections::BTreeSet;

use fleet_api::multicluster::standard::CLUSTERSET_ID;
use fleet_model::multicluster::mode::Mode;

use crate::deployments::MEMBER_AGENT;
use crate::doctor::finding::{Finding, Outcome, Unread, known};
use crate::doctor::list::list;
use crate::doctor::seen::Import;
use crate::doctor::subject::Subject;

/// The group of Submariner's kinds.
const SUBMARINER: &str = "submariner.io";

/// ServiceImports of others: the agent leaves those alone.
pub(super) fn foreign_imports(member: &Subject<'_>) -> Outcome {
    let foreign = known(&member.own.imports)?.iter().filter(|import| import.mark.is_none());
    let foreign: Vec<_> = foreign.collect();
    if foreign.is_empty() {
        return Ok(Vec::new());
    }
    let resolved = known(&member.hub()?.resolved)?.iter();
    let exported: BTreeSet<_> =
        resolved.filter(|it| it.is_exported()).map(|it| &it.service).collect();
    let (blocking, others): (Vec<_>, Vec<_>) =
        foreign.into_iter().partition(|import| exported.contains(&import.name));
    let mut findings = Vec::new();
    if !blocking.is_empty() {
        let what = format!(
            "members export Services that are not imported here, since another implementation made their ServiceImports: {}",
            described(&blocking)
        );
        let advice = "to hand a Service over to the agent, stop the other implementation and delete the ServiceImport";
        findings.push(Finding::failure(what, advice));
    }
    if !others.is_empty() {
        let what = format!("another implementation made ServiceImports: {}", described(&others));
        let advice = "the agent leaves them alone. If that implementation is gone, delete them";
        findings.push(Finding::warning(what, advice));
    }
    Ok(findings)
}

/// Which imports, and who has written them.
fn described(imports: &[&Import]) -> String {
    let names = list(imports.iter().map(|import| &import.name));
    let writers: BTreeSet<_> = imports.iter().flat_map(|import| &import.writers).collect();
    if writers.is_empty() { names } else { format!("{names} (written by {})", list(writers)) }
}

/// Other implementations that are installed.
pub(super) fn implementations(member: &Subject<'_>) -> Outcome {
    let mut findings = Vec::new();
    if *known(&member.own.has_cilium)? {
        let what = "Cilium serves the standard API in this cluster, too (clustermesh-enable-mcs-api in kube-system/cilium-config)";
        let advice = "switch it off in Cilium (clustermesh.mcsapi.enabled=false) or in the agent (--multicluster=off): a Service \
                      has one ServiceImport";
        findings.push(Finding::warning(what, advice));
    }
    if known(&member.own.groups)?.contains(SUBMARINER) {
        let what = "the cluster serves kinds of submariner.io: Submariner imports and exports by the same kinds";
        findings.push(Finding::warning(what, "use one of the two for a Service, and remove the definitions of the other if it is gone"));
    }
    Ok(findings)
}

/// Whether the flags of the agent are known, and ask for the standard API.
pub(super) fn mode(member: &Subject<'_>) -> Outcome {
    let Some(agent) = known(&member.own.agent)? else {
        let reason =
            format!("no Deployment with the labels {MEMBER_AGENT} shows the flags of the agent");
        let advice = "the other checks assume --multicluster=on";
        return Err(Unread::new(reason, advice));
    };
    let what = match agent.mode {
        Mode::On => return Ok(Vec::new()),
        Mode::Off => {
            "the member takes no part in the standard API (--multicluster=off): the checks of it are left out"
        }
        Mode::CleanUp => {
            "the member agent deletes what it made for the standard API (--multicluster=clean-up)"
        }
    };
    let advice = "to take part: value multicluster.mode=on of the chart member-agent";
    Ok(vec![Finding::information(what, advice)])
}

/// Objects of the agent that it no longer looks after.
pub(super) fn leftovers(member: &Subject<'_>) -> Outcome {
    let Some(agent) = known(&member.own.agent)? else { return Ok(Vec::new()) };
    if agent.mode != Mode::Off {
        return Ok(Vec::new());
    }
    let imports = member.marked()?;
    let properties = known(&member.own.properties)?.iter();
    let is_member = properties.filter(|it| it.is_ours).any(|it| it.name == CLUSTERSET_ID);
    let mut left = Vec::new();
    if !imports.is_empty() {
        let names = list(imports.iter().map(|(import, _)| &import.name));
        left.push(format!("{} ServiceImports ({names})", imports.len()));
    }
    if is_member {
        left.push(format!("the ClusterProperty {CLUSTERSET_ID}"));
    }
    let exported = exported_by(member);
    if !exported.is_empty() {
        left.push(format!(
            "{} Services that it still exports ({})",
            exported.len(),
            list(exported)
        ));
    }
    if left.is_empty() {
        return Ok(Vec::new());
    }
    let what = format!(
        "the agent runs with --multicluster=off and keeps no longer right what it made: {}",
        left.join(" and ")
    );
    let advice = "value multicluster.mode=clean-up of the chart member-agent deletes it, on deletes nothing and keeps it right again";
    Ok(vec![Finding::warning(what, advice)])
}

/// The Services that the member exports, as far as the hub shows it.
fn exported_by(member: &Subject<'_>) -> Vec<String> {
    let resolved = member.hub().and_then(|hub| known(&hub.resolved)).map(|it| &it[..]);
    let exported =
        resolved.unwrap_or_default().iter().filter(|it| it.exporters.contains(member.name));
    exported.map(|resolved| resolved.service.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::testing::{HUB, import, levels, sound, unread};

    #[test]
    fn imports_of_others_are_named_with_their_writers() {
        let mut world = sound();
        assert_eq!(world.examine(foreign_imports), []);
        let mut foreign = import("other/db", None);
        foreign.writers = BTreeSet::from(["cilium-operator-generic".to_owned()]);
        world.own().imports.as_mut().unwrap().push(foreign);
        let found = world.examine(foreign_imports);
        assert_eq!(levels(&found), ["warning"]);
        assert!(
            found[0].what.ends_with("other/db (written by cilium-operator-generic)"),
            "{found:?}"
        );
    }

    #[test]
    fn an_import_of_others_in_the_way_is_a_failure() {
        let mut world = sound();
        world.own().imports = Ok(vec![import("shop/web", None)]);
        let found = world.examine(foreign_imports);
        assert_eq!(levels(&found), ["failure"]);
        assert!(found[0].what.ends_with(": shop/web"), "{found:?}");
        world.hub().resolved.as_mut().unwrap()[0].exporters.clear();
        assert_eq!(levels(&world.examine(foreign_imports)), ["warning"], "no member exports it");
        world.hub().resolved = Err(unread());
        assert_eq!(world.try_examine(foreign_imports), Err(unread()));
        world.own().imports = Ok(Vec::new());
        assert_eq!(world.examine(foreign_imports), [], "the hub does not matter");
    }

    #[test]
    fn other_implementations_are_named() {
        let mut world = sound();
        assert_eq!(world.examine(implementations), []);
        world.own().has_cilium = Ok(true);
        world.own().groups.as_mut().unwrap().insert(SUBMARINER.to_owned());
        let found = world.examine(implementations);
        assert_eq!(levels(&found), ["warning", "warning"]);
        assert!(
            found[0].what.contains("cilium-config") && found[1].what.contains("Submariner"),
            "{found:?}"
        );
    }

    #[test]
    fn the_mode_is_reported_unless_it_is_on() {
        let mut world = sound();
        assert_eq!(world.examine(mode), []);
        for other in [Mode::Off, Mode::CleanUp] {
            world.agent().mode = other;
            let found = world.examine(mode);
            assert_eq!(levels(&found), ["information"]);
            assert!(found[0].what.contains(&format!("--multicluster={other}")), "{found:?}");
        }
        world.own().agent = Ok(None);
        assert!(world.try_examine(mode).unwrap_err().reason.contains("no Deployment"));
        assert!(world.own().takes_part());
        world.own().agent = Err(unread());
        assert_eq!(world.try_examine(mode), Err(unread()));
    }

    #[test]
    fn what_an_agent_has_left_is_counted() {
        let mut world = sound();
        assert_eq!(world.examine(leftovers), [], "it runs");
        world.agent().mode = Mode::CleanUp;
        assert_eq!(world.examine(leftovers), [], "it is at work");
        world.agent().mode = Mode::Off;
        let found = world.examine(leftovers);
        assert_eq!(levels(&found), ["warning"]);
        assert!(
            found[0]
                .what
                .ends_with("1 ServiceImports (shop/web) and the ClusterProperty clusterset.k8s.io"),
            "{found:?}"
        );
        world.own().imports = Ok(vec![import("shop/web", None)]);
        world.own().properties.as_mut().unwrap()[1].is_ours = false;
        assert_eq!(world.examine(leftovers), [], "they are not ours");
        world.own().imports = Ok(vec![import("shop/web", Some(HUB))]);
        assert!(world.examine(leftovers)[0].what.ends_with("(shop/web)"));
        world.own().imports = Ok(Vec::new());
        world.hub().resolved.as_mut().unwrap()[0].exporters.insert("west".to_owned());
        let found = world.examine(leftovers);
        assert!(
            found[0].what.ends_with("1 Services that it still exports (shop/web)"),
            "{found:?}"
        );
        world.seen.hub = Err(unread());
        assert_eq!(world.examine(leftovers), [], "the hub shows nothing");
    }
}
