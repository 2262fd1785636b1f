//! Member policies that cannot be read.

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, kinds};
use fleet_model_server::{ModelServer, snapshot};
use fleet_plan::{Controller, affected_keys};
use serde_json::json;

use crate::member::{Member, MemberController};
use crate::snapshot::HubSnapshot;

/// A snapshot of a hub on which "b" has a policy with this list of exports.
fn with_exports(exports: &str) -> HubSnapshot {
    let mut hub = ModelServer::new(ClusterId::Hub);
    let name = ObjectName::new("fleet-member-b", "member-policy");
    let data = json!({ "cidrs": "", "exports": exports, "imports": "" });
    hub.create(kinds::CONFIG_MAP, &name, json!({ "data": data })).unwrap();
    snapshot(&[&hub], None)
}

#[test]
fn a_policy_that_cannot_be_read_is_reported() {
    let (fine, wrong) = (with_exports("team/*"), with_exports(&"team".repeat(1000)));
    let controller = MemberController::default();
    let member = Member("b".into());
    assert!(affected_keys(&controller, &fine, &wrong).contains(&member));
    let now = jiff::Timestamp::UNIX_EPOCH;
    assert!(controller.plan(&member, &fine, now).events.is_empty());
    let events = controller.plan(&member, &wrong, now).events;
    let [event] = &events[..] else { panic!("{events:?}") };
    assert_eq!((event.reason, event.kind), ("MemberPolicyUnreadable", kinds::CONFIG_MAP));
    assert!(event.note.contains("nothing is withdrawn") && event.note.len() < 400, "{event:?}");
}
