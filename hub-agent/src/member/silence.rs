//! Members without heartbeats. They are reported, and their endpoints stay: while the agents of a member are
//! down, its workloads may run.

use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::events;
use fleet_model::objects::InternalMemberCluster;
use fleet_model::steps::HUB;
use fleet_plan::{Event, Plan};
use jiff::Timestamp;

use super::keys::Member;
use crate::Settings;
use crate::heartbeat::{heartbeat_timeout, last_heartbeat};
use crate::snapshot::HubSnapshot;

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

fn report(object: &Object<InternalMemberCluster>, last: Timestamp) -> Event {
    let note =
        format!("no heartbeat of its networking agents since {last}; its endpoints are kept");
    HUB.warning(object, events::MEMBER_SILENT, note)
}
