//! The Lease by which Kubernetes knows that a node lives.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::conditions::{NodeHealth, ready_reason};

/// For how long a renewal counts.
pub const LEASE_DURATION: Duration = Duration::from_secs(40);
/// Time between two renewals.
pub const LEASE_RENEWAL: Duration = Duration::from_secs(10);

/// The Lease of a Node with this uid, renewed now. It goes with the Node.
pub fn lease_document(node: &str, uid: &str, now: Timestamp) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "namespace": "kube-node-lease", "name": node,
            "ownerReferences": [{ "apiVersion": "v1", "kind": "Node", "name": node, "uid": uid }],
        },
        "spec": {
            "holderIdentity": node,
            "leaseDurationSeconds": LEASE_DURATION.as_secs(),
            "renewTime": format!("{now:.6}"),
        },
    })
}

/// What becomes of the Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// It is renewed now.
    Now,
    /// It is renewed after this time.
    After(Duration),
    /// It is not: then Kubernetes takes the node for dead, which it is for its Pods.
    Never,
}

/// Whether a Lease is renewed: only while the way to the executor works. It is renewed at once for another Node of the same name
/// (`owner_changed`): the old one's Lease is garbage.
pub fn renewal(health: NodeHealth, since_last: Option<Duration>, owner_changed: bool) -> Renewal {
    let (ready, _) = ready_reason(health);
    let rest = since_last.and_then(|since| LEASE_RENEWAL.checked_sub(since));
    match rest.filter(|rest| !rest.is_zero() && !owner_changed) {
        _ if !ready => Renewal::Never,
        Some(rest) => Renewal::After(rest),
        None => Renewal::Now,
    }
}
