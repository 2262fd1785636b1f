//! When the next heartbeat is due.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use fleet_accumulator::Object;
use fleet_model::objects::{InternalMemberCluster, NETWORKING_AGENTS};
use jiff::Timestamp;

/// Heartbeats come up to one part in this many of the period earlier or later, so that members that joined at
/// the same time do not report at the same time for ever.
const SPREAD: i64 = 20;

/// The older of the last heartbeats of both networking agents; `None` until both have reported.
pub(super) fn last(cluster: &InternalMemberCluster) -> Option<Timestamp> {
    let beat = |agent| Some(cluster.report(agent)?.status.last_received_heartbeat.as_ref()?.0);
    NETWORKING_AGENTS.iter().map(beat).collect::<Option<Vec<_>>>()?.into_iter().min()
}

/// Time until the next heartbeat; zero if it is due.
///
/// It counts from the report on the hub, so a restart causes no extra heartbeat.
pub(super) fn rest(cluster: &Object<InternalMemberCluster>, now: Timestamp) -> Duration {
    let Some(last) = last(cluster) else { return Duration::ZERO };
    let period = period(cluster, last);
    let since = now.as_millisecond().saturating_sub(last.as_millisecond());
    // A clock that was set back, or differs from another machine's, must not stop the heartbeats.
    let rest = period.saturating_sub(since).clamp(0, period);
    Duration::from_millis(rest.unsigned_abs())
}

/// The period after the heartbeat `last`, in milliseconds. The spread is derived from the object, so that every
/// plan computes the same time.
fn period(cluster: &Object<InternalMemberCluster>, last: Timestamp) -> i64 {
    let period = cluster.heartbeat_seconds * 1000;
    let spread = period / SPREAD;
    let mut hasher = DefaultHasher::new();
    (cluster.uid.to_string(), last.as_second()).hash(&mut hasher);
    let random = i64::try_from(hasher.finish() >> 1).unwrap_or_default();
    period - spread + random % (2 * spread + 1)
}
