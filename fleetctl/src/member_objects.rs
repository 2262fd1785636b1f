//! The objects of a member on the hub, from the same files that users apply by hand. Pure.

use anyhow::{Context as _, Result, bail};
use fleet_api::{kinds, names};
use serde_json::{Value, json};

/// A file of the chart of the hub agent, with documents of one member.
#[derive(Clone, Copy)]
pub(crate) struct File {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

/// The file of this name.
macro_rules! chart_file {
    ($name:literal) => {
        $crate::member_objects::File {
            name: $name,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../charts/hub-agent/", $name)),
        }
    };
}
pub(crate) use chart_file;

const RIGHTS: File = chart_file!("member-rbac.yaml");
pub(crate) const QUOTA: File = chart_file!("member-quota.yaml");
/// Placeholder of the member's name in these files.
pub(crate) const MEMBER: &str = "${MEMBER}";
/// Label of the namespaces that `fleetctl leave` may delete.
pub(crate) const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "fleetctl");
/// KubeFleet's default heartbeat period, in seconds.
const HEARTBEAT_SECONDS: i32 = 60;

/// Checks that objects and namespaces can be named after a member.
///
/// # Errors
/// If the name is invalid; the message describes a valid one.
pub(crate) fn check_name(name: &str) -> Result<()> {
    if !names::is_dns1123_label(name) || !names::is_dns1123_label(&names::member_namespace(name)) {
        bail!(
            "{name:?} is not a valid member name: use at most 50 lower-case letters, digits and dashes, with a letter or \
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
/// If the file is not YAML.
pub(crate) fn rights(member: &str) -> Result<Vec<Value>> {
    documents(RIGHTS, member)
}

/// How many objects the member may create.
///
/// # Errors
/// If the file is not YAML.
pub(crate) fn quota(member: &str) -> Result<Value> {
    document(QUOTA, member)
}

/// What a file has for the member, in the order of making it.
///
/// # Errors
/// If the file is not YAML.
pub(crate) fn documents(file: File, member: &str) -> Result<Vec<Value>> {
    file.text.split("\n---\n").map(|text| document(File { text, ..file }, member)).collect()
}

/// The one document of a file.
///
/// # Errors
/// If the file is not YAML.
pub(crate) fn document(file: File, member: &str) -> Result<Value> {
    serde_saphyr::from_str(&file.text.replace(MEMBER, member))
        .with_context(|| format!("{} is not YAML", file.name))
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
        for object in rights.iter().chain([&membership("east"), &quota("east").unwrap()]) {
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
            assert!(error.contains("is not a valid member name"), "{error}");
        }
    }
}
