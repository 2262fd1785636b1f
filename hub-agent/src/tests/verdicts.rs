//! Verdicts of silence, as a hub has them and as the process that judges hands them over.

use fleet_accumulator::Tracked as _;
use fleet_api::traffic::{FLEET_TRAFFIC, MemberTrafficStatus, SilenceState, SilenceStatus};
use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_model::objects::traffic::{FleetDecision, MemberDecision};
use fleet_model::steps::to_json;
use fleet_model_server::ModelServer;
use serde_json::{Value, json};

/// A process that has judged for long enough.
pub(crate) fn judging() -> FleetDecision {
    FleetDecision { judges: true, ..FleetDecision::default() }
}

/// What raises a doubt about a member on a hub, and its name.
type Doubt = (&'static str, fn(&mut ModelServer, &str));

/// What makes the verdict of [`found`] uncertain, one thing each: nothing may move for it.
pub(crate) fn doubts() -> Vec<Doubt> {
    vec![
        ("mass silence", |hub, _| {
            judge(hub, &FleetDecision { mass_silence: vec!["d".to_owned()], ..judging() });
        }),
        ("a process that has just begun", |hub, _| judge(hub, &FleetDecision::default())),
        ("a process that decides nothing", |hub, _| {
            hub.delete(FleetDecision::KIND, &ObjectName::cluster(FLEET_TRAFFIC)).unwrap();
        }),
        ("a verdict of another process", |hub, member| {
            decide(hub, member, &silence(SilenceState::Heard));
        }),
        ("a verdict for the domain alone", |hub, member| {
            let status = SilenceStatus { by_domain: true, ..silence(SilenceState::Silent) };
            store(hub, member, &status);
            decide(hub, member, &status);
        }),
        ("a fleet without removal", |hub, _| {
            hub.edit(kinds::FLEET_TRAFFIC, &ObjectName::cluster(FLEET_TRAFFIC), |fleet| {
                fleet["spec"]["allowRemove"] = json!(false);
            })
            .unwrap();
        }),
    ]
}

/// A member is silent by verdict, or as it is now.
pub(crate) fn found(hub: &mut ModelServer, member: &str, state: SilenceState) {
    judge(hub, &judging());
    let status = silence(state);
    store(hub, member, &status);
    decide(hub, member, &status);
}

/// An administrator declares a member never silent.
pub(crate) fn never(hub: &mut ModelServer, member: &str) {
    hub.edit(kinds::MEMBER_TRAFFIC, &ObjectName::cluster(member), |object| {
        object["spec"]["silence"] = json!("Never");
    })
    .unwrap();
}

/// A member returns: so much of its endpoints is last resort still.
pub(crate) fn returns(hub: &mut ModelServer, member: &str, percent: i64) {
    let status = SilenceStatus { percent, ..silence(SilenceState::Heard) };
    store(hub, member, &status);
    decide(hub, member, &status);
}

fn silence(state: SilenceState) -> SilenceStatus {
    let percent = if state == SilenceState::Silent { 100 } else { 0 };
    SilenceStatus { state, percent, ..SilenceStatus::default() }
}

/// What the process has decided about the fleet.
pub(crate) fn judge(hub: &mut ModelServer, decision: &FleetDecision) {
    let fleet = ObjectName::cluster(FLEET_TRAFFIC);
    if hub.get(kinds::FLEET_TRAFFIC, &fleet).is_none() {
        let settled = json!({ "epoch": 0, "phase": "Settled" });
        hub.create(kinds::FLEET_TRAFFIC, &fleet, json!({ "spec": {} })).unwrap();
        hub.edit(kinds::FLEET_TRAFFIC, &fleet, |fleet| fleet["status"] = settled).unwrap();
    }
    put(hub, FleetDecision::KIND, FLEET_TRAFFIC, &to_json(decision));
}

fn store(hub: &mut ModelServer, member: &str, silence: &SilenceStatus) {
    let status =
        MemberTrafficStatus { silence: Some(silence.clone()), ..MemberTrafficStatus::default() };
    let name = ObjectName::cluster(member);
    if hub.get(kinds::MEMBER_TRAFFIC, &name).is_none() {
        hub.create(kinds::MEMBER_TRAFFIC, &name, json!({ "spec": {} })).unwrap();
    }
    hub.edit(kinds::MEMBER_TRAFFIC, &name, |object| object["status"] = json!(status)).unwrap();
}

fn decide(hub: &mut ModelServer, member: &str, silence: &SilenceStatus) {
    let status =
        MemberTrafficStatus { silence: Some(silence.clone()), ..MemberTrafficStatus::default() };
    let decision = MemberDecision { status, ..MemberDecision::default() };
    put(hub, MemberDecision::KIND, member, &to_json(&decision));
}

fn put(hub: &mut ModelServer, kind: ResourceKind, name: &str, document: &Value) {
    let name = ObjectName::cluster(name);
    if hub.get(kind, &name).is_none() {
        hub.create(kind, &name, json!({ "document": document })).unwrap();
    } else {
        hub.edit(kind, &name, |object| object["document"] = document.clone()).unwrap();
    }
}
