//! Events while the agent cannot reconcile.

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, events, kinds};
use fleet_model_server::ModelServer;
use fleet_plan::{Controller, Event, EventType};
use serde_json::json;

use crate::Settings;
use crate::export::ExportController;
use crate::import::ImportController;
use crate::snapshot::MemberSnapshot;

const REASON: &str = "endpointsliceexports of the hub cluster: the kind is not served";

/// The Events of both controllers in a member that exports "shop" and imports "web".
fn told(
    by_export: impl FnOnce(&ExportController, &MemberSnapshot) -> Vec<Event>,
    by_import: impl FnOnce(&ImportController, &MemberSnapshot) -> Vec<Event>,
) -> [Vec<Event>; 2] {
    let settings = Settings::new("a");
    let (mut own, hub) = (ModelServer::new(ClusterId::Local), ModelServer::new(ClusterId::Hub));
    own.create(kinds::SERVICE_EXPORT, &ObjectName::new("team", "shop"), json!({})).unwrap();
    let wish = json!({ "spec": { "serviceImport": { "name": "web" } } });
    own.create(kinds::MULTI_CLUSTER_SERVICE, &ObjectName::new("team", "web"), wish).unwrap();
    let snapshot = crate::tests::snapshot(&settings.identity, &own, &hub);
    let export = ExportController { settings: settings.clone() };
    let import = ImportController::new(settings);
    [by_export(&export, &snapshot), by_import(&import, &snapshot)]
}

fn check(told: &[Vec<Event>; 2], reason: &str) {
    let expected = [(kinds::SERVICE_EXPORT, "shop"), (kinds::MULTI_CLUSTER_SERVICE, "web")];
    for (events, (kind, name)) in told.iter().zip(expected) {
        let [event] = events.as_slice() else { panic!("{events:?}") };
        assert_eq!((event.kind, &*event.name.name), (kind, name));
        assert_eq!((event.event_type, event.reason), (EventType::Warning, reason));
        assert!(event.note.ends_with(REASON), "{}", event.note);
    }
}

#[test]
fn users_are_told_on_their_own_objects() {
    let told = told(
        |export, snapshot| export.blocked(snapshot, REASON),
        |import, snapshot| import.blocked(snapshot, REASON),
    );
    check(&told, events::BLOCKED);
}

#[test]
fn only_whose_write_is_refused_is_told() {
    use crate::{export, import};
    let service = |name| ObjectName::new("team", name);
    let of = |name| {
        told(
            |controller, snapshot| {
                controller.rejected(&export::Key::Service(service(name)), snapshot, REASON)
            },
            |controller, snapshot| {
                controller.rejected(&import::Key::Service(service(name)), snapshot, REASON)
            },
        )
    };
    let [shop, _] = of("shop");
    let [_, web] = of("web");
    check(&[shop, web], events::WRITE_REFUSED);
    assert_eq!(of("other").map(|events| events.len()), [0, 0]);
}
