//! The object of one member.

use std::sync::Arc;

use fleet_accumulator::Object;
use fleet_api::conditions::{FALSE, TRUE};
use fleet_api::names::member_namespace;
use fleet_api::traffic::{
    DRAIN_REFUSED, MemberTrafficSpec, MemberTrafficStatus, SilenceState, SilenceStatus,
};
use fleet_api::{ObjectName, events};
use fleet_model::objects::Namespace;
use fleet_model::objects::traffic::{MemberDecision, MemberTraffic};
use fleet_model::steps::HUB;
use fleet_plan::conditions::{Wanted, apply, find};
use fleet_plan::{Event, Plan};
use jiff::Timestamp;
use serde_json::json;

use crate::snapshot::HubSnapshot;

/// Makes the object of a member with a Lease, keeps its status, and deletes it once the member has left.
pub(super) fn plan(name: &Arc<str>, snapshot: &HubSnapshot, now: Timestamp, plan: &mut Plan) {
    let object_name = ObjectName::cluster(Arc::clone(name));
    let decision = snapshot.member_decisions.get(&object_name);
    let object = snapshot.member_traffics.get(&object_name);
    match (object, decision) {
        (None, Some(_)) => {
            plan.push(HUB.create::<MemberTraffic>(object_name, json!({ "spec": {} })));
        }
        (Some(object), Some(decision)) => write(object, decision, now, plan),
        (Some(object), None) => remove(object, snapshot, plan),
        (None, None) => {}
    }
}

/// Writes the status. A decision of a process that another one has replaced, or from before its own last write, is not written.
fn write(
    object: &Object<MemberTraffic>,
    decision: &MemberDecision,
    now: Timestamp,
    plan: &mut Plan,
) {
    if object.meta.is_terminating() || decision.status.serial < object.status.serial {
        return;
    }
    let conditions = conditions(object, decision.refused.as_deref(), now);
    let status = MemberTrafficStatus { conditions, ..decision.status.clone() };
    if !is_the_same(&status, &object.status) {
        plan.push(HUB.status(object, &status));
        plan.events.extend(event(object, &status));
    }
    if let Some(refused) = &decision.refused {
        plan.events.push(HUB.warning(object, events::DRAIN_REFUSED, refused.as_str()));
    }
}

/// That an ejection is an hour ago is written with the next change.
fn is_the_same(new: &MemberTrafficStatus, present: &MemberTrafficStatus) -> bool {
    let Some(silence) = &present.silence else { return new == present };
    let mut new = new.clone();
    if let Some(of_new) = new.silence.as_mut().filter(|it| it.ejections < silence.ejections) {
        of_new.ejections = silence.ejections;
    }
    new == *present
}

/// The condition about drains is there from the first refusal on.
fn conditions(
    object: &Object<MemberTraffic>,
    refused: Option<&str>,
    now: Timestamp,
) -> Vec<k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition> {
    let present = &object.status.conditions;
    if refused.is_none() && find(present, DRAIN_REFUSED).is_none() {
        return present.clone();
    }
    let wanted = Wanted {
        type_: DRAIN_REFUSED,
        status: if refused.is_some() { TRUE } else { FALSE }.to_owned(),
        reason: if refused.is_some() { "NoOtherExporter" } else { "Allowed" }.to_owned(),
        message: refused.unwrap_or("no drain is refused").to_owned(),
        generation: object.generation,
    };
    apply(present, [wanted], now).unwrap_or_else(|| present.clone())
}

/// What users are to know of a new status.
fn event(object: &Object<MemberTraffic>, status: &MemberTrafficStatus) -> Option<Event> {
    let state = |status: &MemberTrafficStatus| {
        let silence = status.silence.as_ref();
        silence.map_or(SilenceState::Unmanaged, |silence: &SilenceStatus| silence.state)
    };
    let (before, after) = (state(&object.status), state(status));
    if after == SilenceState::Silent && before != after {
        let note = "it does not renew its Lease: its endpoints are last resort, unless the policy of a Service keeps them";
        Some(HUB.warning(object, events::MEMBER_SILENT, note))
    } else if before == SilenceState::Silent && before != after {
        let note = "it renews its Lease again: its endpoints return in steps";
        Some(HUB.normal(object, events::MEMBER_RETURNS, note))
    } else {
        None
    }
}

/// Deletes the object of a member that has left, as the API server confirms. One in which administrators have decided anything is
/// theirs: a hub that was restored may have lost the namespaces, and not for long.
fn remove(object: &Object<MemberTraffic>, snapshot: &HubSnapshot, plan: &mut Plan) {
    let namespace = ObjectName::cluster(member_namespace(&object.name.name));
    let namespaces = &snapshot.namespaces;
    let is_gone = namespaces.state().is_live() && namespaces.get(&namespace).is_none();
    if is_gone && !is_decided(&object.spec) && !object.meta.is_terminating() {
        let absent = plan.push(HUB.confirm_absent::<Namespace>(namespace));
        plan.push(HUB.delete(object).after([absent]));
    }
}

/// Whether anything is asked for. The end of a drain that does not go on is nothing.
fn is_decided(spec: &MemberTrafficSpec) -> bool {
    let drains = spec.drains.iter().filter(|drain| drain.percent > 0).cloned().collect();
    MemberTrafficSpec { drains, ..spec.clone() } != MemberTrafficSpec::default()
}
