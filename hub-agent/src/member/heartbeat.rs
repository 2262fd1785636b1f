//! Members without heartbeats. They are reported, and their endpoints stay: while the agents of a member are
//! down, its workloads may run.

use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::membership::AgentStatus;
use fleet_api::{conditions, events};
use fleet_model::objects::InternalMemberCluster;
use fleet_model::steps::HUB;
use fleet_plan::conditions::is;
use fleet_plan::{Event, Plan};
use jiff::{SignedDuration, Timestamp};

use super::keys::Member;
use crate::Settings;
use crate::snapshot::HubSnapshot;

/// Default number of heartbeats that a member can miss.
const MISSED_HEARTBEATS: i64 = 5;
/// Minimum of the default timeout, in seconds.
const MIN_TIMEOUT: i64 = 60;

/// Reports a member whose last heartbeat is too old. Returns the time that is left until then.
pub(super) fn plan(
    settings: &Settings,
    member: &Member,
    snapshot: &HubSnapshot,
    now: Timestamp,
    plan: &mut Plan,
) -> Option<Duration> {
    let object = snapshot.internal_members.get(&member.internal())?;
    let last = last_heartbeat(object)?;
    let timeout = heartbeat_timeout(settings, object);
    let age = now.duration_since(last);
    if age < timeout {
        return (timeout - age).try_into().ok();
    }
    plan.events.push(report(object, last));
    None
}

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

fn report(object: &Object<InternalMemberCluster>, last: Timestamp) -> Event {
    let note =
        format!("no heartbeat of its networking agents since {last}; its endpoints are kept");
    HUB.warning(object, events::MEMBER_SILENT, note)
}
