//! When the next heartbeat is due.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use fleet_accumulator::Object;
use fleet_model::objects::{InternalMemberCluster, NETWORKING_AGENTS};
use jiff::Timestamp;

/// Heartbeats come this part of the period earlier or later, so that members that joined together
/// do not stay together.
const SPREAD: i64 = 20;

/// The older of the last heartbeats of our agent types; `None` while one of them never came.
pub(super) fn last(cluster: &InternalMemberCluster) -> Option<Timestamp> {
    let beat = |agent| Some(cluster.report(agent)?.status.last_received_heartbeat.as_ref()?.0);
    NETWORKING_AGENTS.iter().map(beat).collect::<Option<Vec<_>>>()?.into_iter().min()
}

/// How long to wait for the next one; zero if it is due.
///
/// Counted from the report on the hub: a restart does not beat early.
pub(super) fn rest(cluster: &Object<InternalMemberCluster>, now: Timestamp) -> Duration {
    let Some(last) = last(cluster) else { return Duration::ZERO };
    let period = period(cluster, last);
    let since = now.as_millisecond().saturating_sub(last.as_millisecond());
    // A clock that was set back, or that of another machine, must not silence the agent.
    let rest = period.saturating_sub(since).clamp(0, period);
    Duration::from_millis(rest.unsigned_abs())
}

/// The period after the heartbeat `last`, in milliseconds. Derived from what is known anyway, so
/// that every plan comes to the same end.
fn period(cluster: &Object<InternalMemberCluster>, last: Timestamp) -> i64 {
    let period = cluster.heartbeat_seconds * 1000;
    let spread = period / SPREAD;
    let mut hasher = DefaultHasher::new();
    (cluster.uid.to_string(), last.as_second()).hash(&mut hasher);
    let random = i64::try_from(hasher.finish() >> 1).unwrap_or_default();
    period - spread + random % (2 * spread + 1)
}
