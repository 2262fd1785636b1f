//! The script. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::Result;
use fleet_api::kinds::INTERNAL_SERVICE_EXPORT;
use fleet_api::names::SYSTEM_NAMESPACE;
use serde_json::Value;

use super::drains::{Claims, Drains};
use super::joins;
use super::member::Member;
use super::namespaces::{self, RELEASE};
use crate::output::terminal::line;
use crate::shell::{kubectl, quoted};

/// How the script begins.
const HEAD: &str = "#!/bin/sh
# What a new hub needs before its members come back, as fleetctl rebuild-hub has read it. Read it before you run it. It ends where the
# hub agent is to be installed, and does the rest when it is run again after that. Importers keep what they have until each exporter has
# published to the new hub, so that the order of the steps costs no endpoint.
set -eu
";

/// How the namespaces of members begin.
const NAMESPACES: &str = "
# 1. Namespaces of members, but for those that the chart of the hub agent makes: it has policies and rights that lie in them.
";

/// What the script ends with where there is no hub agent.
const MISSING: &str = "Install the hub agent, as above, and run this again.";

/// What stands in place of policies that were not read.
const NO_POLICIES: &str = "# Not all was read, so that policies of members may be missing here. A member that joins without one may export and import
# everything: apply those of an earlier copy of this script before you go on.
";

/// How the members begin.
const MEMBERS: &str = "
# 5. Members, each by the context that it has here: check that these are its hub and its cluster. With KubeFleet, join them there instead.
";

/// How the drains begin.
const DRAINS: &str = "
# 6. Drains that importers apply, as the Leases of the members that are named here have it. They go on without these commands, which make
# them those of the new hub. Run those that you have decided on, once fleetctl status shows that the members have published.
";

/// What is known of the fleet.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The line that leads commands to the kubeconfig that was read.
    pub(super) exported: String,
    /// Context of the hub.
    pub(super) hub: String,
    /// Members, by name.
    pub(super) members: BTreeMap<String, Member>,
    /// Namespaces of users in which something crosses.
    pub(super) namespaces: BTreeSet<String>,
    /// Objects of administrators and owners on the hub.
    pub(super) decided: Vec<Value>,
    /// Drains that importers apply.
    pub(super) drains: Drains,
    /// What could not be read.
    pub(super) unread: Vec<String>,
}

impl Found {
    /// What the hub has; nothing, with a note of it, if that cannot be read.
    pub(super) fn unless_unread<T: Default>(&mut self, read: Result<T>) -> T {
        read.unwrap_or_else(|error| {
            self.unread.push(format!("the hub: {error:#}"));
            T::default()
        })
    }
}

pub(super) fn of(found: &Found) -> String {
    let mut text = format!("{HEAD}{}\n", found.exported);
    for unread in &found.unread {
        let _ = writeln!(text, "# Not read: {}", line(unread));
    }
    let hub = kubectl(&found.hub);
    text += NAMESPACES;
    namespaces::before_the_chart(&hub, &found.members, &mut text);
    hub_agent(&found.hub, &mut text);
    text += "\n# 3. Namespaces in which something crosses.\n";
    for namespace in &found.namespaces {
        namespaces::of_users(&hub, namespace, &mut text);
    }
    decided(found, &mut text);
    text += MEMBERS;
    for (name, member) in &found.members {
        joins::of_member(&found.hub, name, member, &mut text);
    }
    drains(found, &mut text);
    text += "\n# 7. fleetctl status shows who has published; fleetctl forget names a member that does not come back.\n";
    text
}

/// Where the values of the release are, and which names it has, only the administrator knows. What follows needs its definitions, and
/// objects that its values have for members would be in its way.
fn hub_agent(context: &str, text: &mut String) {
    text.push_str("\n# 2. The hub agent, with the values of its release.\n");
    let install = format!(
        "helm install {RELEASE} charts/hub-agent --kube-context {} -n {SYSTEM_NAMESPACE} --create-namespace -f hub.yaml",
        quoted(context)
    );
    let _ = writeln!(text, "# {}", line(&install));
    let kind = INTERNAL_SERVICE_EXPORT;
    let _ = writeln!(
        text,
        "{} get customresourcedefinition {}.{} >/dev/null || {{ echo '{MISSING}' >&2; exit 1; }}",
        kubectl(context),
        kind.plural,
        kind.group
    );
}

fn decided(found: &Found, text: &mut String) {
    let hub = kubectl(&found.hub);
    text.push_str("\n# 4. Policies of members, and what was decided about traffic.\n");
    if !found.unread.is_empty() {
        text.push_str(NO_POLICIES);
    }
    for (name, member) in &found.members {
        if let Some(policy) = &member.policy {
            namespaces::of_member(&hub, name, member.maker, text);
            apply(&hub, policy, text);
        }
    }
    for object in &found.decided {
        apply(&hub, object, text);
    }
}

/// Importers apply these whatever the new hub has, until an administrator decides anew. A hub without the MemberTraffic refuses drains,
/// so that the script would end there.
fn drains(found: &Found, text: &mut String) {
    text.push_str(DRAINS);
    for (member, claims, services) in found.drains.by_claims() {
        let (member, hub) = (quoted(member), quoted(&found.hub));
        let _ = writeln!(text, "# {member}: {}", claimed(claims));
        let of_services = services.iter().fold(String::new(), |mut all, service| {
            let _ = write!(all, " --service {}", quoted(service));
            all
        });
        let _ =
            writeln!(text, "#   fleetctl drain {member}{of_services} --hub-context {hub} --force");
    }
}

/// Who applies a drain, and how far. A drain cannot be asked to end at less than all.
fn claimed(claims: &Claims) -> String {
    let mut is_partial = false;
    let claims = claims.iter().map(|(importer, percent)| {
        if *percent == 100 {
            return line(importer).into_owned();
        }
        is_partial = true;
        format!("{} ({percent} %)", line(importer))
    });
    let claims = claims.collect::<Vec<_>>().join(", ");
    let then = if is_partial { "; the command drains 100 %" } else { "" };
    format!("drained in {claims}{then}")
}

/// One line of JSON in quotes: nothing in it is active.
fn apply(hub: &str, object: &Value, text: &mut String) {
    let object = object.to_string();
    let _ = writeln!(text, "printf '%s' {} | {hub} apply --server-side -f -", quoted(&object));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::credential::Place;
    use crate::rebuild_hub::member::Maker;

    fn found() -> Found {
        let policy = json!({ "kind": "ConfigMap", "data": { "cidrs": "it's" } });
        let mut drains = Drains::default();
        let [whole, one] = [("*", 100), ("shop/web", 30)]
            .map(|(service, percent)| json!({ "service": service, "percent": percent }));
        for (importer, entries) in [("west", json!([whole, one])), ("north", json!([whole]))] {
            let noted = json!({ "east": { "entries": entries } });
            drains.add(importer, &noted.to_string()).unwrap();
        }
        let context = Some("my east".to_owned());
        let place = Some(Place::of(None));
        let east = Member { policy: Some(policy), maker: Maker::Join, context, place };
        let west = Member { maker: Maker::Chart, ..Member::default() };
        Found {
            exported: "export KUBECONFIG=/prod".to_owned(),
            hub: "my hub".to_owned(),
            members: [("east".to_owned(), east), ("west".to_owned(), west)].into(),
            namespaces: ["shop".to_owned()].into(),
            decided: vec![json!({ "kind": "FleetTraffic", "spec": { "heartbeatSeconds": 10 } })],
            drains,
            unread: vec!["the hub\u{1b}[31m".to_owned()],
        }
    }

    #[test]
    fn everything_that_was_found_is_in_the_script() {
        let script = of(&found());
        assert!(script.starts_with(&format!("{HEAD}export KUBECONFIG=/prod\n")), "{script}");
        for expected in [
            " || kubectl --context 'my hub' create namespace shop\n",
            r#"printf '%s' '{"data":{"cidrs":"it'\''s"},"kind":"ConfigMap"}' |"#,
            r#"{"kind":"FleetTraffic","spec":{"heartbeatSeconds":10}}"#,
            "fleetctl join east --secret --print nothing --hub-context 'my hub' --member 'east=my east'\n",
            "# west: the kubeconfig has no context",
            "fleetctl join west --print nothing --hub-context 'my hub'\n",
            "# east: drained in north, west\n#   fleetctl drain east --hub-context 'my hub' --force\n",
            "# east: drained in west (30 %); the command drains 100 %\n",
            "#   fleetctl drain east --service shop/web --hub-context 'my hub' --force\n",
            "# Not read: the hub\\u{1b}[31m\n",
            "# Not all was read, so that policies of members may be missing here.",
        ] {
            assert!(script.contains(expected), "{expected} is not in {script}");
        }
        assert!(!script.contains("namespace fleet-member-west"), "the chart makes it");
        let drains = script.lines().filter(|line| line.contains("fleetctl drain"));
        assert!(
            drains.clone().count() == 2 && drains.into_iter().all(|line| line.starts_with('#'))
        );
    }

    /// What the chart has for a member lies in its namespace, and what lies on the hub after it needs its definitions.
    #[test]
    fn the_hub_agent_is_installed_between_namespaces_and_the_rest() {
        let script = of(&found());
        let at = |text: &str| script.find(text).unwrap_or_else(|| panic!("no {text} in {script}"));
        let order = [
            "create -f -",
            "helm install hub-agent",
            "get customresourcedefinition internalserviceexports.networking.fleet.azure.com",
            "get namespace shop",
            "apply --server-side",
            "fleetctl join",
        ];
        assert!(order.map(at).is_sorted(), "{script}");
        let (before, _) = script.split_once("# 2. The hub agent").unwrap();
        assert!(before.contains("get namespace fleet-member-east "), "{before}");
    }

    /// A shell runs it with programs that only write how they are called: without the hub agent, and with it.
    #[test]
    fn it_ends_before_the_hub_agent_and_does_the_rest_with_it() {
        let (ends, calls) = run(1);
        assert_eq!(ends, Some(1));
        assert!(calls.contains("create -f -") && calls.contains("get customres"), "{calls}");
        assert!(!calls.contains("apply") && joined(&calls).is_empty(), "{calls}");
        let (ends, calls) = run(0);
        assert_eq!(ends, Some(0));
        let east = "fleetctl join east --secret --print nothing --hub-context my hub --member east=my east";
        let west = "fleetctl join west --print nothing --hub-context my hub";
        assert_eq!(joined(&calls), [east, west]);
    }

    fn joined(calls: &str) -> Vec<&str> {
        calls.lines().filter(|line| line.starts_with("fleetctl ")).collect()
    }

    /// How the script ends and calls programs, on a hub without namespaces where the request for the definition ends so.
    fn run(definition: u8) -> (Option<i32>, String) {
        let programs = format!(
            "kubectl() {{
                echo \"kubectl $*\"
                case \"$*\" in *'get namespace'*) return 1;; *'get customres'*) return {definition};; esac
                case \"$*\" in *' -f -') cat; echo;; esac
            }}
            fleetctl() {{ echo \"fleetctl $*\"; }}\n"
        );
        // Calls whose output is of no interest to the script are calls, too.
        let script = of(&found()).replace(">/dev/null 2>&1", "").replace(">/dev/null", "");
        let mut shell = std::process::Command::new("sh");
        let ran = shell.args(["-c", &(programs + &script)]).output().unwrap();
        (ran.status.code(), String::from_utf8(ran.stdout).unwrap())
    }
}
