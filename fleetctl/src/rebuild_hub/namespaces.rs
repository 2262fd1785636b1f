//! Namespaces on the new hub, as commands. Pure.
//!
//! Those of members are there before the chart of the hub agent is installed: its values have policies and rights for members that it
//! does not join itself, and Helm stops halfway where the namespace of one is missing. The chart makes those of the members that it joins.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace};
use serde_json::{Value, json};

use super::member::{Maker, Member};
use crate::member_objects::{MANAGED_BY, namespace};
use crate::shell::quoted;

/// The release of the hub agent, as the documentation names it.
pub(super) const RELEASE: &str = "hub-agent";
/// Where the makers are not known.
const ADOPTED: &str = "# Who made these is not known. They are marked as Helm marks what it has made, so that the release \
                       takes over those of its members.\n";

/// Those of members, but for the ones that the chart makes.
pub(super) fn before_the_chart(hub: &str, members: &BTreeMap<String, Member>, text: &mut String) {
    let wanted = members.iter().filter(|(_, member)| member.maker != Maker::Chart);
    let (unknown, known): (Vec<_>, Vec<_>) =
        wanted.partition(|(_, member)| member.maker == Maker::Unknown);
    for (name, member) in known {
        of_member(hub, name, member.maker, text);
    }
    if !unknown.is_empty() {
        text.push_str(ADOPTED);
    }
    for (name, member) in unknown {
        of_member(hub, name, member.maker, text);
    }
}

/// That of a member, unless it is there.
pub(super) fn of_member(hub: &str, name: &str, maker: Maker, text: &mut String) {
    let namespace = member_namespace(name);
    let command = marked(name, maker).map_or_else(
        || plain(hub, &namespace),
        |object| format!("printf '%s' {} | {hub} create -f -", quoted(&object.to_string())),
    );
    unless_there(hub, &namespace, &command, text);
}

/// One of users, unless it is there.
pub(super) fn of_users(hub: &str, name: &str, text: &mut String) {
    unless_there(hub, name, &plain(hub, name), text);
}

fn plain(hub: &str, namespace: &str) -> String {
    format!("{hub} create namespace {}", quoted(namespace))
}

fn unless_there(hub: &str, namespace: &str, command: &str, text: &mut String) {
    let name = quoted(namespace);
    let _ = writeln!(text, "{hub} get namespace {name} >/dev/null 2>&1 || {command}");
}

/// The namespace as its maker marks it, if it does. `fleetctl leave` deletes what `fleetctl join` has made.
fn marked(member: &str, maker: Maker) -> Option<Value> {
    match maker {
        Maker::Join => Some(namespace(member)),
        Maker::Other => None,
        Maker::Chart | Maker::Unknown => Some(adoptable(member)),
    }
}

/// Helm takes it for a part of the release: it is neither in the way where the chart makes it, nor missing where it does not.
fn adoptable(member: &str) -> Value {
    let (label, _) = MANAGED_BY;
    let mut object = namespace(member);
    object["metadata"]["labels"] = json!({ label: "Helm" });
    object["metadata"]["annotations"] = json!({
        "meta.helm.sh/release-name": RELEASE, "meta.helm.sh/release-namespace": SYSTEM_NAMESPACE,
    });
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(members: &[(&str, Maker)]) -> String {
        let member = |maker| Member { maker, ..Member::default() };
        let members = members.iter().map(|(name, maker)| ((*name).to_owned(), member(*maker)));
        let mut text = String::new();
        before_the_chart("kubectl", &members.collect(), &mut text);
        text
    }

    #[test]
    fn a_namespace_is_as_its_maker_makes_it() {
        let text = script(&[("east", Maker::Join), ("west", Maker::Other)]);
        let east = "kubectl get namespace fleet-member-east >/dev/null 2>&1 || printf '%s' '{\"apiVersion\":\"v1\",\
                    \"kind\":\"Namespace\",\"metadata\":{\"labels\":{\"app.kubernetes.io/managed-by\":\"fleetctl\"},\
                    \"name\":\"fleet-member-east\"}}' | kubectl create -f -\n";
        let west = "kubectl get namespace fleet-member-west >/dev/null 2>&1 || kubectl create namespace fleet-member-west\n";
        assert_eq!(text, format!("{east}{west}"));
    }

    /// Helm refuses to install what another program has made.
    #[test]
    fn the_chart_makes_its_own() {
        assert_eq!(script(&[("east", Maker::Chart)]), "");
    }

    /// By these Helm knows what it may take over: without one of them it stops.
    #[test]
    fn the_chart_takes_over_what_may_be_its_own() {
        let text = script(&[("east", Maker::Unknown)]);
        assert!(text.starts_with("# Who made these is not known."), "{text}");
        let metadata = &marked("east", Maker::Unknown).unwrap()["metadata"];
        assert!(text.contains(&metadata.to_string()), "{text}");
        let expected = json!({
            "name": "fleet-member-east",
            "labels": { "app.kubernetes.io/managed-by": "Helm" },
            "annotations": {
                "meta.helm.sh/release-name": "hub-agent",
                "meta.helm.sh/release-namespace": "fleet-system",
            },
        });
        assert_eq!(*metadata, expected);
    }
}
