//! Members that wait for a confirmation that they may leave.

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, events, kinds};
use fleet_model_server::{ModelServer, snapshot};
use fleet_plan::{Controller, Event};
use serde_json::{Value, json};

use crate::member::{Member, MemberController};

fn internal() -> ObjectName {
    ObjectName::new("fleet-member-b", "b")
}

/// The hub with a member that waits as of this generation; its agent has written the message.
fn hub(generation: i64) -> ModelServer {
    let mut hub = ModelServer::new(ClusterId::Hub);
    let spec = json!({ "spec": { "state": "Leave", "heartbeatPeriodSeconds": 60 } });
    hub.create(kinds::INTERNAL_MEMBER_CLUSTER, &internal(), spec).unwrap();
    let waits = json!({ "type": "LeaveConfirmed", "status": "False", "reason": "ConfirmationRequired",
        "message": "run kubectl delete namespace kube-system", "observedGeneration": generation,
        "lastTransitionTime": "2026-01-01T00:00:00Z" });
    let report = |object: &mut Value| {
        object["status"] = json!({ "agentStatus": [{ "type": "ServiceExportImportAgent", "conditions": [waits] }] });
    };
    hub.edit(kinds::INTERNAL_MEMBER_CLUSTER, &internal(), report).unwrap();
    hub
}

fn told(hub: &ModelServer) -> Vec<Event> {
    let controller = MemberController::default();
    let events = controller.plan(&Member("b".into()), &snapshot(&[hub], None), hub.now()).events;
    events.into_iter().filter(|event| event.reason == events::LEAVE_NOT_CONFIRMED).collect()
}

/// They read the hub agent's words, whatever the member has written.
#[test]
fn administrators_are_told_how_to_confirm() {
    let mut hub = hub(1);
    let found = told(&hub);
    let [event] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((event.kind, &event.name), (kinds::INTERNAL_MEMBER_CLUSTER, &internal()));
    let expected = "the member waits for a confirmation that it may leave, which ends 0 exports and 0 imports; to confirm: \
                    kubectl -n fleet-member-b annotate --overwrite internalmembercluster b \
                    networking.fleet.azure.com/confirm-leave=1; to cancel, set spec.state to Join";
    assert_eq!(event.note, expected);

    hub.create(kinds::MEMBER_CLUSTER, &ObjectName::cluster("b"), json!({})).unwrap();
    let kinds: Vec<_> = told(&hub).iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [kinds::INTERNAL_MEMBER_CLUSTER, kinds::MEMBER_CLUSTER]);
}

#[test]
fn an_earlier_question_is_of_no_interest() {
    assert!(told(&hub(0)).is_empty());
}
