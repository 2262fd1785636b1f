//! The objects of a member on the hub, from the same files that users apply by hand. Pure.

use anyhow::{Context as _, Result, bail};
use fleet_api::{kinds, names};
use serde_json::{Value, json};

const RIGHTS: &str = include_str!("../../charts/hub-agent/member-rbac.yaml");
const QUOTA: &str = include_str!("../../charts/hub-agent/member-quota.yaml");
const STANDARD_RIGHTS: &str = include_str!("../../charts/hub-agent/multicluster-member-rbac.yaml");
const STANDARD_QUOTA: &str = include_str!("../../charts/hub-agent/multicluster-member-quota.yaml");
const LEASE_RIGHT: &str = include_str!("../../charts/hub-agent/lease-member-rbac.yaml");
const LEASE_QUOTA: &str = include_str!("../../charts/hub-agent/lease-member-quota.yaml");
/// Placeholder of the member's name in these files.
const MEMBER: &str = "${MEMBER}";
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
    documents(RIGHTS, member).context("member-rbac.yaml is not YAML")
}

/// The member's rights for the API of multicluster.x-k8s.io, in the order of making them.
///
/// # Errors
/// If the file is not YAML.
pub(crate) fn standard_rights(member: &str) -> Result<Vec<Value>> {
    documents(STANDARD_RIGHTS, member).context("multicluster-member-rbac.yaml is not YAML")
}

/// The member's right to renew its Lease.
///
/// # Errors
/// If the file is not YAML.
pub(crate) fn lease_right(member: &str) -> Result<Value> {
    document(LEASE_RIGHT, member).context("lease-member-rbac.yaml is not YAML")
}

/// How many Leases the member may create.
///
/// # Errors
/// If the file is not YAML.
pub(crate) fn lease_quota(member: &str) -> Result<Value> {
    document(LEASE_QUOTA, member).context("lease-member-quota.yaml is not YAML")
}

fn documents(text: &str, member: &str) -> Result<Vec<Value>> {
    text.split("\n---\n").map(|text| document(text, member)).collect()
}

fn document(text: &str, member: &str) -> Result<Value> {
    Ok(serde_saphyr::from_str(&text.replace(MEMBER, member))?)
}

/// How many objects the member may create.
///
/// # Errors
/// If the file is not YAML.
pub(crate) fn quota(member: &str) -> Result<Value> {
    document(QUOTA, member).context("member-quota.yaml is not YAML")
}

/// How many objects the member may create for the API of multicluster.x-k8s.io.
///
/// # Errors
/// If the file is not YAML.
pub(crate) fn standard_quota(member: &str) -> Result<Value> {
    document(STANDARD_QUOTA, member).context("multicluster-member-quota.yaml is not YAML")
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

    /// Outside of its namespace a member is bound to what all members read, and to nothing else.
    #[test]
    fn a_member_reads_what_all_members_read() {
        let rights = standard_rights("east").unwrap();
        let kinds: Vec<_> = rights.iter().map(title).collect();
        assert_eq!(
            kinds,
            [
                "Role fleet-multicluster",
                "RoleBinding fleet-multicluster",
                "RoleBinding fleet-multicluster-reader-east",
                "ClusterRoleBinding fleet-multicluster-reader-east"
            ]
        );
        for binding in rights.iter().filter(|object| object.get("subjects").is_some()) {
            let subjects = json!([{
                "kind": "ServiceAccount", "name": "member-agent", "namespace": "fleet-member-east",
            }]);
            assert_eq!(binding["subjects"], subjects, "{binding}");
        }
        for elsewhere in &rights[2..] {
            assert_eq!(elsewhere["roleRef"]["name"], "fleet-multicluster-reader");
        }
        for own in rights[..2].iter().chain([&standard_quota("east").unwrap()]) {
            assert_eq!(own["metadata"]["namespace"], "fleet-member-east", "{own}");
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
