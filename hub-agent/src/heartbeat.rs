//! When a member's last heartbeat was, and when it is too old.

use fleet_api::conditions;
use fleet_model::objects::{InternalMemberCluster, Report};
use fleet_plan::conditions::is;
use jiff::{SignedDuration, Timestamp};

use crate::Settings;

/// Default number of heartbeats that a member can miss.
const MISSED_HEARTBEATS: i64 = 5;
/// Minimum of the default timeout, in seconds.
const MIN_TIMEOUT: i64 = 60;

/// Time of a member's last heartbeat by the member's own clock: the older one, if it has several agents. `None` for a
/// member that has not joined or has left.
pub fn last_heartbeat(object: &InternalMemberCluster) -> Option<Timestamp> {
    heartbeats(object).map(|(_, time)| time).min()
}

/// When this process observed a member's last heartbeat, by its own clock: the older one, if the member has several agents.
/// `None` for a member that has not joined or has left.
///
/// The clocks of member and hub need not agree. A process that starts counts from then on.
pub fn last_observed(object: &InternalMemberCluster) -> Option<Timestamp> {
    heartbeats(object).filter_map(|(report, _)| report.observed).min()
}

/// The reports of agents that have joined and sent a heartbeat, with its time.
fn heartbeats(object: &InternalMemberCluster) -> impl Iterator<Item = (&Report, Timestamp)> {
    let joined =
        |report: &&Report| is(&report.status.conditions, conditions::JOINED, conditions::TRUE);
    let reports = object.reports.iter().filter(joined);
    reports.filter_map(|report| Some((report, report.status.last_received_heartbeat.as_ref()?.0)))
}

/// Time after which a heartbeat is too old.
pub fn heartbeat_timeout(settings: &Settings, object: &InternalMemberCluster) -> SignedDuration {
    let default =
        SignedDuration::from_secs((MISSED_HEARTBEATS * object.heartbeat_seconds).max(MIN_TIMEOUT));
    let flag = settings.heartbeat_ttl.and_then(|ttl| SignedDuration::try_from(ttl).ok());
    flag.unwrap_or(default)
}
