//! The Pod Security Standards, for what the table lets cross.
//!
//! The table itself refuses what no profile allows: access to the node, privileged containers, kinds of volumes. Here is what
//! depends on the profile, or on several fields. The namespace of the remote Pod enforces the same by Kubernetes' own admission.

use fleet_api::offload::{PolicyProfile, Refusal};
use serde_json::{Map, Value};

use super::rejection::Rejection;

/// Capabilities that the baseline allows to add.
const BASELINE: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];
/// The one that the restricted profile allows, and the most that crosses.
const NET_BIND_SERVICE: &str = "NET_BIND_SERVICE";

/// Whether the spec of a Pod that was translated meets a profile.
///
/// # Errors
/// Names the first field that does not.
pub(super) fn check(pod: &Map<String, Value>, profile: PolicyProfile) -> Result<(), Rejection> {
    let of_pod = pod.get("securityContext").unwrap_or(&Value::Null);
    for list in ["initContainers", "containers"] {
        let containers = pod.get(list).and_then(Value::as_array).into_iter().flatten();
        for (at, container) in containers.enumerate() {
            let path = format!("spec.{list}[{at}].securityContext");
            let context = &container["securityContext"];
            check_added(context, profile, &path)?;
            if profile == PolicyProfile::Restricted {
                check_restricted(context, of_pod, &path)?;
            }
        }
    }
    if profile == PolicyProfile::Restricted { check_pod(of_pod) } else { Ok(()) }
}

fn check_added(context: &Value, profile: PolicyProfile, path: &str) -> Result<(), Rejection> {
    let allowed = |name: &Value| match profile {
        PolicyProfile::Baseline => name.as_str().is_some_and(|name| BASELINE.contains(&name)),
        PolicyProfile::Restricted => *name == *NET_BIND_SERVICE,
    };
    let added = context["capabilities"]["add"].as_array();
    require(added.into_iter().flatten().all(allowed), path, "capabilities.add")
}

fn check_restricted(context: &Value, of_pod: &Value, path: &str) -> Result<(), Rejection> {
    let escalates = &context["allowPrivilegeEscalation"];
    require(*escalates == Value::Bool(false), path, "allowPrivilegeEscalation")?;
    let mut dropped = context["capabilities"]["drop"].as_array().into_iter().flatten();
    require(dropped.any(|name| *name == *"ALL"), path, "capabilities.drop")?;
    let non_root = inherited(context, of_pod, "runAsNonRoot");
    require(*non_root == Value::Bool(true), path, "runAsNonRoot")?;
    require(!is_root(context), path, "runAsUser")?;
    let seccomp = inherited(context, of_pod, "seccompProfile");
    let confined = ["RuntimeDefault", "Localhost"].iter().any(|kind| seccomp["type"] == **kind);
    require(confined, path, "seccompProfile.type")
}

fn check_pod(context: &Value) -> Result<(), Rejection> {
    let path = "spec.securityContext";
    require(context["runAsNonRoot"] != Value::Bool(false), path, "runAsNonRoot")?;
    require(!is_root(context), path, "runAsUser")
}

fn is_root(context: &Value) -> bool {
    context["runAsUser"].as_i64() == Some(0)
}

/// A setting of a container, or of its Pod.
fn inherited<'a>(context: &'a Value, of_pod: &'a Value, name: &str) -> &'a Value {
    let own = &context[name];
    if own.is_null() { &of_pod[name] } else { own }
}

fn require(met: bool, path: &str, field: &str) -> Result<(), Rejection> {
    if met { Ok(()) } else { Err(Rejection::new(Refusal::PodSecurity, format!("{path}.{field}"))) }
}
