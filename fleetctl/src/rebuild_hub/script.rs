//! The script. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::Result;
use fleet_api::names::member_namespace;
use serde_json::Value;

use super::drains::{Claims, Drains};
use crate::output::terminal::line;
use crate::shell::{kubectl, quoted};

/// How the script begins.
const HEAD: &str = "#!/bin/sh
# What a new hub needs before its members come back, as fleetctl rebuild-hub has read it. Read it before you run it. Importers keep
# what they have until each exporter has published to the new hub, so that the order of the steps costs no endpoint.
set -eu
";

/// How the drains begin.
const DRAINS: &str = "
# 5. Drains that importers apply, as the Leases of the members that are named here have it. They go on without these commands, which make
# them those of the new hub. Run those that you have decided on, once fleetctl status shows that the members have published.
";

/// What is known of the fleet.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Context of the hub.
    pub(super) hub: String,
    /// Members, with the policy that the hub has for them.
    pub(super) members: BTreeMap<String, Option<Value>>,
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
    let mut text = HEAD.to_owned();
    for unread in &found.unread {
        let _ = writeln!(text, "# Not read: {}", line(unread));
    }
    let hub = kubectl(&found.hub);
    text += "\n# 1. The hub agent, with the values of its release.\n";
    let _ = writeln!(
        text,
        "# helm install hub-agent charts/hub-agent --kube-context {} -n fleet-system --create-namespace -f hub.yaml",
        quoted(&found.hub)
    );
    text += "\n# 2. Namespaces in which something crosses.\n";
    for namespace in &found.namespaces {
        create_namespace(&hub, namespace, &mut text);
    }
    text += "\n# 3. Policies of members, and what was decided about traffic.\n";
    for (member, policy) in &found.members {
        if let Some(policy) = policy {
            create_namespace(&hub, &member_namespace(member), &mut text);
            apply(&hub, policy, &mut text);
        }
    }
    for object in &found.decided {
        apply(&hub, object, &mut text);
    }
    text += "\n# 4. Members. With the provider projected, without --secret; with KubeFleet, join them there instead.\n";
    for member in found.members.keys() {
        let _ = writeln!(
            text,
            "fleetctl join {} --secret --print nothing --hub-context {}",
            quoted(member),
            quoted(&found.hub)
        );
    }
    drains(found, &mut text);
    text += "\n# 6. fleetctl status shows who has published; fleetctl forget names a member that does not come back.\n";
    text
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

fn create_namespace(hub: &str, namespace: &str, text: &mut String) {
    let name = quoted(namespace);
    let _ = writeln!(
        text,
        "{hub} get namespace {name} >/dev/null 2>&1 || {hub} create namespace {name}"
    );
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

    fn found() -> Found {
        let policy = json!({ "kind": "ConfigMap", "data": { "cidrs": "it's" } });
        let mut drains = Drains::default();
        let [whole, one] = [("*", 100), ("shop/web", 30)]
            .map(|(service, percent)| json!({ "service": service, "percent": percent }));
        for (importer, entries) in [("west", json!([whole, one])), ("north", json!([whole]))] {
            let noted = json!({ "east": { "entries": entries } });
            drains.add(importer, &noted.to_string()).unwrap();
        }
        Found {
            hub: "my hub".to_owned(),
            members: [("east".to_owned(), Some(policy)), ("west".to_owned(), None)].into(),
            namespaces: ["shop".to_owned()].into(),
            decided: vec![json!({ "kind": "FleetTraffic", "spec": { "heartbeatSeconds": 10 } })],
            drains,
            unread: vec!["the hub\u{1b}[31m".to_owned()],
        }
    }

    #[test]
    fn everything_that_was_found_is_in_the_script() {
        let script = of(&found());
        for expected in [
            "kubectl --context 'my hub' create namespace shop\n",
            "kubectl --context 'my hub' create namespace fleet-member-east\n",
            r#"printf '%s' '{"data":{"cidrs":"it'\''s"},"kind":"ConfigMap"}' |"#,
            r#"{"kind":"FleetTraffic","spec":{"heartbeatSeconds":10}}"#,
            "fleetctl join east --secret --print nothing --hub-context 'my hub'\n",
            "fleetctl join west --secret",
            "# east: drained in north, west\n#   fleetctl drain east --hub-context 'my hub' --force\n",
            "# east: drained in west (30 %); the command drains 100 %\n",
            "#   fleetctl drain east --service shop/web --hub-context 'my hub' --force\n",
            "# Not read: the hub\\u{1b}[31m\n",
        ] {
            assert!(script.contains(expected), "{expected} is not in {script}");
        }
        assert!(!script.contains("create namespace fleet-member-west"), "joining makes it");
        let drains = script.lines().filter(|line| line.contains("fleetctl drain"));
        assert!(
            drains.clone().count() == 2 && drains.into_iter().all(|line| line.starts_with('#'))
        );
    }

    /// A shell reads it.
    #[test]
    fn the_script_is_one() {
        use std::io::Write as _;
        use std::process::{Command, Stdio};
        let mut shell = Command::new("sh").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
        shell.stdin.take().unwrap().write_all(of(&found()).as_bytes()).unwrap();
        assert!(shell.wait().unwrap().success());
    }
}
