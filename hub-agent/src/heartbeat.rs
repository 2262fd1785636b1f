//! When a member's last heartbeat was, and when it is too old.

use fleet_api::conditions;
use fleet_api::membership::AgentStatus;
use fleet_model::objects::InternalMemberCluster;
use fleet_plan::conditions::is;
use jiff::{SignedDuration, Timestamp};

use crate::Settings;

/// Default number of heartbeats that a member can miss.
const MISSED_HEARTBEATS: i64 = 5;
/// Minimum of the default timeout, in seconds.
const MIN_TIMEOUT: i64 = 60;

/// Time of a member's last heartbeat: the older one, if it has several agents. `None` for a member that has not
/// joined or has left.
pub fn last_heartbeat(object: &InternalMemberCluster) -> Option<Timestamp> {
    let joined =
        |status: &&AgentStatus| is(&status.conditions, conditions::JOINED, conditions::TRUE);
    let reports = object.reports.iter().map(|report| &report.status).filter(joined);
    reports.filter_map(|status| status.last_received_heartbeat.as_ref()).map(|time| time.0).min()
}

/// Time after which a heartbeat is too old.
pub fn heartbeat_timeout(settings: &Settings, object: &InternalMemberCluster) -> SignedDuration {
    let default =
        SignedDuration::from_secs((MISSED_HEARTBEATS * object.heartbeat_seconds).max(MIN_TIMEOUT));
    let flag = settings.heartbeat_ttl.and_then(|ttl| SignedDuration::try_from(ttl).ok());
    flag.unwrap_or(default)
}
