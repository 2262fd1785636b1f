//! Members without heartbeats. They are reported, and their endpoints stay: while the agents of a member are
//! down, its workloads may run.

use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::events;
use fleet_model::objects::InternalMemberCluster;
use fleet_model::steps::HUB;
use fleet_plan::conditions::whole_seconds;
use fleet_plan::{Event, Plan};
use jiff::Timestamp;

use super::keys::Member;
use crate::Settings;
use crate::heartbeat::{heartbeat_timeout, last_observed};
use crate::snapshot::HubSnapshot;

/// Reports a member of which no heartbeat was observed for too long. Returns the time that is left until then.
pub(super) fn plan(
    settings: &Settings,
    member: &Member,
    snapshot: &HubSnapshot,
    now: Timestamp,
    plan: &mut Plan,
) -> Option<Duration> {
    let object = snapshot.internal_members.get(&member.internal())?;
    let left = remaining(settings, object, now);
    if left.is_none() {
        plan.events.extend(last_observed(object).map(|last| report(object, last)));
    }
    left
}

/// For how long a member counts as alive if no further heartbeat comes; `None` if it does not.
pub(super) fn remaining(
    settings: &Settings,
    object: &InternalMemberCluster,
    now: Timestamp,
) -> Option<Duration> {
    let age = now.duration_since(last_observed(object)?);
    let left = heartbeat_timeout(settings, object) - age;
    left.is_positive().then(|| left.try_into().ok())?
}

fn report(object: &Object<InternalMemberCluster>, last: Timestamp) -> Event {
    let last = whole_seconds(last).0;
    let note =
        format!("no heartbeat of its networking agents since {last}; its endpoints are kept");
    HUB.warning(object, events::MEMBER_SILENT, note)
}
