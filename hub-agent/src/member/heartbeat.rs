//! Members that have fallen silent. Their endpoints stay: a member whose agents are down may well
//! serve. But whoever looks can see it.

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

/// Heartbeats that may be missing where no flag says otherwise.
const MISSING_BEATS: i64 = 5;
/// Shortest silence that counts, in seconds, where no flag says otherwise.
const SHORTEST: i64 = 60;

/// Reports a member that has been silent for too long. Returns when to look again.
pub(super) fn plan(
    settings: &Settings,
    member: &Member,
    snapshot: &HubSnapshot,
    now: Timestamp,
    plan: &mut Plan,
) -> Option<Duration> {
    let object = snapshot.internal_members.get(&member.internal())?;
    let heard = last_heard(object)?;
    let patience = patience(settings, object);
    let silent = now.duration_since(heard);
    if silent < patience {
        return (patience - silent).try_into().ok();
    }
    plan.events.push(report(object, heard));
    None
}

/// When the member was heard of last: the older report, if it has several agents. `None` for one that
/// has not joined or has left.
pub fn last_heard(object: &InternalMemberCluster) -> Option<Timestamp> {
    let joined =
        |status: &&AgentStatus| is(&status.conditions, conditions::JOINED, conditions::TRUE);
    let reports = object.reports.iter().map(|report| &report.status).filter(joined);
    reports.filter_map(|status| status.last_received_heartbeat.as_ref()).map(|time| time.0).min()
}

/// How long a member may be silent.
pub fn patience(settings: &Settings, object: &InternalMemberCluster) -> SignedDuration {
    let usual = SignedDuration::from_secs((MISSING_BEATS * object.heartbeat_seconds).max(SHORTEST));
    let asked = settings.heartbeat_ttl.and_then(|ttl| SignedDuration::try_from(ttl).ok());
    asked.unwrap_or(usual)
}

fn report(object: &Object<InternalMemberCluster>, heard: Timestamp) -> Event {
    let note =
        format!("its networking agents were heard of last at {heard}; its endpoints are kept");
    HUB.warning(object, events::MEMBER_SILENT, note)
}
