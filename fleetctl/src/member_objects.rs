//! What the hub keeps for a member: the manifests of joining, from the file that users apply by hand. Pure.

use anyhow::{Context as _, Result, bail};
use fleet_api::{kinds, names};
use serde_json::{Value, json};

const RIGHTS: &str = include_str!("../../charts/hub-agent/member-rbac.yaml");
/// What stands for the member's name in the file.
const MEMBER: &str = "${MEMBER}";
/// A label of the namespaces that are ours to delete.
pub(crate) const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "fleetctl");
/// How often KubeFleet asks members for a heartbeat by default, in seconds.
const HEARTBEAT_SECONDS: i32 = 60;

/// Checks that objects and namespaces can be named after a member.
///
/// # Errors
/// Says what a name has to look like.
pub(crate) fn check_name(name: &str) -> Result<()> {
    if !names::is_dns1123_label(name) || !names::is_dns1123_label(&names::member_namespace(name)) {
        bail!(
            "{name:?} cannot be a member's name: use at most 50 lower-case letters, digits and dashes, a letter or \
             digit at both ends"
        );
    }
    Ok(())
}

/// The member's namespace on the hub.
pub(crate) fn namespace(member: &str) -> Value {
    let (label, ours) = MANAGED_BY;
    json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": { "name": names::member_namespace(member), "labels": { label: ours } },
    })
}

/// The account of the member's agent and its rights, in the order of making them.
///
/// # Errors
/// If the file is no YAML.
pub(crate) fn rights(member: &str) -> Result<Vec<Value>> {
    let text = RIGHTS.replace(MEMBER, member);
    let read = |document| serde_saphyr::from_str(document);
    text.split("\n---\n")
        .map(read)
        .collect::<Result<_, _>>()
        .context("the file of rights is not YAML")
}

/// Asks the member to join.
pub(crate) fn membership(member: &str) -> Value {
    json!({
        "apiVersion": kinds::INTERNAL_MEMBER_CLUSTER.api_version(),
        "kind": kinds::INTERNAL_MEMBER_CLUSTER.kind,
        "metadata": { "name": member, "namespace": names::member_namespace(member) },
        "spec": { "state": "Join", "heartbeatPeriodSeconds": HEARTBEAT_SECONDS },
    })
}

/// What an object is called in a message.
pub(crate) fn title(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_of_a_member_lies_in_its_namespace() {
        let rights = rights("east").unwrap();
        let kinds: Vec<_> = rights.iter().map(title).collect();
        assert_eq!(
            kinds,
            [
                "ServiceAccount member-agent",
                "Role fleet-role-east",
                "RoleBinding fleet-rolebinding-east"
            ]
        );
        for object in rights.iter().chain([&membership("east")]) {
            assert_eq!(object["metadata"]["namespace"], "fleet-member-east", "{object}");
        }
    }

    #[test]
    fn a_name_has_to_fit_a_namespace() {
        let long = "x".repeat(50);
        for name in ["east", "a-1", &long] {
            check_name(name).unwrap();
        }
        let longer = "x".repeat(51);
        for name in ["", "East", "a.b", "-a", "a-", "a/b", &longer] {
            let error = check_name(name).unwrap_err().to_string();
            assert!(error.contains("cannot be a member's name"), "{error}");
        }
    }
}
