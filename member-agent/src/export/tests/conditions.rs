//! What the user reads of the hub's verdict.

use std::time::Duration;

use fleet_accumulator::ClusterId;
use fleet_api::traffic::FLEET_TRAFFIC;
use fleet_api::{ObjectName, annotations, events, kinds};
use fleet_model_server::ModelServer;
use fleet_plan::affected_keys;
use serde_json::{Value, json};

use super::complete::is_there;
use super::world::{World, backing, on_hub, pair, shop};
use crate::export::{ExportController, Key};

/// MISE-2: no verdict yet. The user reads "unknown", and no sample is taken.
#[test]
fn without_a_verdict_the_user_reads_unknown() {
    let mut world = World::pending();
    let plan = world.plan();
    assert!(plan.steps.is_empty());
    assert_eq!(plan.debounced.len(), 1, "only if it stays so for a while");
    world.settle_patiently();
    assert_eq!(world.condition("Conflict"), pair("Unknown", "ServicePendingConflictResolution"));
    assert_eq!(world.samples, []);
}

/// MISE-3: no conflict.
#[test]
fn acceptance_is_copied_with_the_generation_of_the_export() {
    let mut world = World::pending();
    world.respec("ports", json!([{ "protocol": "TCP", "port": 81 }]));
    world.settle();
    world.judge("False");
    assert_eq!(
        world.internal().unwrap()["status"]["conditions"][0]["observedGeneration"],
        json!(2)
    );
    world.rest();
    world.settle();
    let conflict = world.whole_condition("Conflict");
    assert_eq!(world.condition("Conflict"), pair("False", "NoConflictFound"));
    assert_eq!(conflict["message"], "as decided");
    assert_eq!(conflict["observedGeneration"], json!(1), "that of the ServiceExport");
    assert_eq!(world.told(), ["Normal ValidServiceExport", "Normal NoServiceExportConflictFound"]);
}

/// A hub of which its agent has not decided that all members are back.
fn rebuilt() -> ModelServer {
    let mut hub = ModelServer::new(ClusterId::Hub);
    let fleet = ObjectName::cluster(FLEET_TRAFFIC);
    hub.create(kinds::FLEET_TRAFFIC, &fleet, json!({ "spec": {} })).unwrap();
    hub
}

/// A hub that is complete and lacks the export has lost it, as with the namespace of the member: users read that at once.
#[test]
fn a_decision_that_a_complete_hub_has_lost_is_none() {
    let mut world = World::exported();
    world.hub = rebuilt();
    let settled = |fleet: &mut Value| fleet["status"] = json!({ "phase": "Settled" });
    world.hub.edit(kinds::FLEET_TRAFFIC, &ObjectName::cluster(FLEET_TRAFFIC), settled).unwrap();
    world.settle_patiently();
    assert_eq!(world.condition("Conflict"), pair("Unknown", "ServicePendingConflictResolution"));
}

/// A hub that was rebuilt lacks the export, and learns from the status whether it was accepted: which of two exports with other ports
/// importers use. It stays until the hub has decided again, however often the export has to be sent.
#[test]
fn a_decision_stays_until_a_rebuilt_hub_has_decided_again() {
    for verdict in ["False", "True"] {
        let mut world = World::exported();
        world.judge(verdict);
        world.settle();
        let before = world.whole_condition("Conflict");
        for _ in 0..2 {
            world.hub = rebuilt();
            world.settle();
            let later: Vec<_> = world.plan().debounced.iter().map(|later| later.delay).collect();
            assert_eq!(later, [Duration::from_mins(5)], "a hub may refuse the export for good");
            assert_eq!(world.whole_condition("Conflict"), before);
            let remembered = &world.internal().unwrap()["metadata"]["annotations"];
            let accepted = (verdict == "False").to_string();
            assert_eq!(remembered[annotations::ACCEPTED_BEFORE], json!(accepted));
        }
    }
}

/// A backup has a conflict with an export that was withdrawn since: until the hub is complete importers keep what they have of this one.
#[test]
fn a_conflict_of_a_backup_takes_nothing_away() {
    let mut world = World::exported();
    let (accepted, copies) = (world.whole_condition("Conflict"), world.copies());
    let fleet = ObjectName::cluster(FLEET_TRAFFIC);
    world.hub.create(kinds::FLEET_TRAFFIC, &fleet, json!({ "spec": {} })).unwrap();
    world.judge("True");
    world.settle();
    assert_eq!(world.whole_condition("Conflict"), accepted);
    assert_eq!(world.copies(), copies);
    assert!(!is_there(&world), "importers may not forget it yet");
    let later: Vec<_> = world.plan().debounced.iter().map(|later| later.delay).collect();
    assert_eq!(later, [Duration::from_mins(5)], "the conflict may be a new one");

    let before = world.snapshot();
    let settled = |fleet: &mut Value| fleet["status"] = json!({ "phase": "Settled" });
    world.hub.edit(kinds::FLEET_TRAFFIC, &fleet, settled).unwrap();
    let controller = ExportController { settings: world.settings.clone() };
    let keys = affected_keys(&controller, &before, &world.snapshot());
    assert!(keys.contains(&Key::Service(shop())), "{keys:?}");
    world.settle();
    assert_eq!(world.condition("Conflict"), pair("True", "ConflictFound"));
    assert!(world.copies().is_empty());
    assert!(is_there(&world));
}

/// A decision that the hub has taken back is none.
#[test]
fn a_rejection_ends_what_was_decided_before() {
    let mut world = World::exported();
    world.hub = rebuilt();
    world.settle();
    world.judge("False");
    world.settle();
    let reject = |export: &mut Value| {
        export["status"] = json!({ "conditions": [{ "type": "Valid", "status": "False", "reason": "PolicyDenied",
            "message": "no", "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1 }] });
    };
    world.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &on_hub(), reject).unwrap();
    world.settle();
    assert_eq!(world.condition("Valid"), pair("False", "PolicyDenied"));
    assert_eq!(world.condition("Conflict"), pair("Unknown", "ServicePendingConflictResolution"));
}

/// MISE-4: a conflict.
#[test]
fn a_conflict_is_copied() {
    let mut world = World::exported();
    world.judge("True");
    world.settle();
    assert_eq!(world.condition("Conflict"), pair("True", "ConflictFound"));
    assert_eq!(world.told(), ["Warning ServiceExportConflictFound"]);
    assert!(world.is_on_hub(), "it may win later");
}

/// The hub has rejected the export as a whole: no words of the original exist for that.
#[test]
fn a_rejection_is_copied_at_once_and_taken_back() {
    let mut world = World::pending();
    let rejected = json!([{ "type": "Valid", "status": "False", "reason": "LimitExceeded",
        "message": "rejected: spec.ports has 101 entries", "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T00:00:00Z" }]);
    let set = |export: &mut Value| export["status"] = json!({ "conditions": rejected });
    world.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &on_hub(), set).unwrap();
    world.settle();
    assert_eq!(world.condition("Valid"), pair("False", "LimitExceeded"));
    let message = world.whole_condition("Valid")["message"].as_str().unwrap().to_owned();
    assert!(message.contains("rejected: spec.ports has 101 entries"), "{message}");
    assert_eq!(world.condition("Conflict").0, "Unknown");
    assert!(world.told().contains(&"Warning ExportRefused".to_owned()), "{:?}", world.told());
    assert!(world.plan().is_empty());
    assert!(world.copies().is_empty(), "no slice is exported");

    world.judge("False");
    world.settle();
    assert_eq!(world.condition("Valid"), pair("True", "ServiceIsValid"));
    assert_eq!(world.condition("Conflict"), pair("False", "NoConflictFound"));
}

/// MISE-5: the export on the hub is being deleted, with a verdict.
#[test]
fn the_verdict_on_a_terminating_export_is_not_copied() {
    let mut world = World::exported();
    world.judge("True");
    world.hub.delete(kinds::INTERNAL_SERVICE_EXPORT, &on_hub()).unwrap();
    world.settle();
    assert_eq!(world.condition("Conflict").0, "False");
}

/// MISE-6: the ServiceExport has the condition already. Nothing is left to report; the original writes again
/// once the export has a second generation.
#[test]
fn a_verdict_that_was_told_takes_no_write() {
    let mut world = World::exported();
    world.respec("ports", json!([{ "protocol": "TCP", "port": 81 }]));
    world.settle();
    world.judge("False");
    world.rest();
    assert!(world.plan().is_empty());
    assert_eq!(world.told(), Vec::<String>::new());
}

#[test]
fn what_the_hub_adds_to_its_verdict_reaches_the_user() {
    let mut world = World::exported();
    let reword = |export: &mut Value| {
        export["status"]["conditions"][0]["message"] = json!("port 80 differs from cluster b's");
    };
    world.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &on_hub(), reword).unwrap();
    world.settle();
    let told = world.whole_condition("Conflict")["message"].clone();
    assert_eq!(told, "port 80 differs from cluster b's");
}

/// After a decision, "Unknown" is written only if the hub reports it.
#[test]
fn a_verdict_once_told_does_not_become_unknown_by_a_change() {
    let mut world = World::exported();
    world.respec("ports", json!([{ "protocol": "TCP", "port": 81 }]));
    world.settle_patiently();
    assert_eq!(world.condition("Conflict").0, "False");
    world.judge("Unknown");
    world.settle_patiently();
    assert_eq!(world.condition("Conflict").0, "Unknown");
    assert_eq!(world.copies().len(), 1, "what travels goes on");
}

/// MSE-17: a ServiceExport that is new, had no Service, was ineligible: written. One that is valid
/// and pending, or valid and resolved: untouched. One with a message of another meaning: rewritten.
#[test]
fn validity_is_written_when_it_changes() {
    let now = "2026-01-01T00:00:00Z";
    let condition = |type_: &str, status: &str, reason: &str, message: &str| {
        json!({ "type": type_, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": now, "observedGeneration": 1 })
    };
    let valid =
        condition("Valid", "True", "ServiceIsValid", "service team/shop is valid for export");
    let pending = condition(
        "Conflict",
        "Unknown",
        "ServicePendingConflictResolution",
        "service team/shop is pending export conflict resolution",
    );
    let resolved = condition("Conflict", "False", "NoConflictFound", "as decided");
    let paused =
        condition("Valid", "True", "ServiceIsValid", "exported service team/shop with 0 weight");
    let gone = condition("Valid", "False", "ServiceNotFound", "service team/shop is not found");
    let headless = condition("Valid", "False", "ServiceIneligible", "not eligible for export");
    for (conditions, judged, written) in [
        (json!([]), false, true),
        (json!([gone]), false, true),
        (json!([headless]), false, true),
        (json!([valid, pending]), false, false),
        (json!([valid, resolved]), true, false),
        (json!([paused, resolved]), true, true),
    ] {
        let mut world = World::pending();
        if judged {
            world.judge("False");
        }
        let set = |export: &mut Value| export["status"]["conditions"] = conditions.clone();
        world.own.edit(kinds::SERVICE_EXPORT, &shop(), set).unwrap();
        world.rest();
        world.settle_patiently();
        let writes = world.own.take_writes();
        assert_eq!(writes.len(), usize::from(written), "{conditions}");
        assert_eq!(world.condition("Valid"), pair("True", "ServiceIsValid"));
    }
}

/// Users do not see the hub agent's Event on the hub, and a slice has no conditions. One Event is enough, whatever the number
/// of slices.
#[test]
fn why_the_hub_rejects_a_slice_is_reported_to_the_user() {
    let mut world = World::exported();
    let second = ObjectName::new("team", "shop-x2");
    world.add_slice(&second, &backing());
    world.settle();
    world.rest();
    let reject = |slice: &mut Value| {
        slice["metadata"]["annotations"] = json!({ annotations::REJECTED: "rejected: too long" });
    };
    let names = world.hub.names(kinds::ENDPOINT_SLICE_EXPORT);
    assert_eq!(names.len(), 2);
    for name in &names {
        world.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, name, reject).unwrap();
    }
    let plan = world.plan();
    assert_eq!(plan.steps.len(), 1, "the message of one condition: {plan:#?}");
    let [event] = plan.events.try_into().unwrap();
    assert_eq!((event.kind, &event.name), (kinds::SERVICE_EXPORT, &shop()));
    assert_eq!(event.reason, events::EXPORT_REFUSED);
    let why = format!(
        "service team/shop is valid for export; the hub does not accept EndpointSliceExport {}: rejected: too long",
        names[0]
    );
    assert_eq!(event.note, why);
}
