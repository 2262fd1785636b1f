//! Pods that end without the hub.

use std::time::Duration;

use serde_json::{Map, Value};

use super::pod::STOP_AFTER;
use crate::life::CUT_OFF_GRACE_SECONDS;
use crate::provider::{Write, stop};

/// How long after the hub has fallen silent a remote Pod ends, as was agreed with its origin; `None` if it does not.
pub fn stop_after(pod: &Value) -> Option<Duration> {
    let seconds = pod["metadata"]["annotations"][STOP_AFTER].as_str()?;
    seconds.parse().ok().map(Duration::from_secs)
}

/// The write by which a remote Pod ends without the hub, which has been silent for so long; `None` if it does not end, or ends
/// already.
pub fn cut_off(pod: &Value, silent: Duration) -> Option<Write> {
    stop_after(pod).filter(|after| silent >= *after)?;
    stop(pod, grace(pod["spec"].as_object()))
}

/// Seconds that the containers of such a Pod get: its origin counts on it that they have ended by then.
pub(super) fn grace(spec: Option<&Map<String, Value>>) -> i64 {
    let own = spec.and_then(|spec| spec.get("terminationGracePeriodSeconds")?.as_i64());
    own.unwrap_or(CUT_OFF_GRACE_SECONDS).min(CUT_OFF_GRACE_SECONDS)
}
