//! Pods that are being deleted.

use fleet_api::{ResourceKind, kinds};
use serde_json::Value;

/// What the containers of a Pod get by default.
const GRACE_SECONDS: i64 = 30;

/// How many seconds the containers of a Pod have that is deleted. It can only be shortened. One that is on no node has none.
pub(super) fn grace_of(pod: &Value, asked: Option<i64>) -> i64 {
    if pod["spec"]["nodeName"].as_str().is_none_or(str::is_empty) {
        return 0;
    }
    let own = pod["spec"]["terminationGracePeriodSeconds"].as_i64();
    let asked = asked.or(own).unwrap_or(GRACE_SECONDS).max(0);
    let before = pod["metadata"]["deletionGracePeriodSeconds"].as_i64();
    before.map_or(asked, |before| before.min(asked))
}

/// Whether a Pod stays although it is being deleted, for the kubelet to end its containers.
pub(super) fn has_time_left(kind: ResourceKind, object: &Value) -> bool {
    let left = object["metadata"]["deletionGracePeriodSeconds"].as_i64();
    kind == kinds::POD && left.is_some_and(|left| left > 0)
}
