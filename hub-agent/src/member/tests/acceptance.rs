//! Which members take part in the standard API.

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, kinds};
use fleet_model::multicluster::mode::Mode;
use fleet_model_server::{ModelServer, execute, snapshot};
use fleet_plan::{Controller, affected_keys};
use serde_json::{Value, json};

use crate::Settings;
use crate::member::MemberController;
use crate::snapshot::HubSnapshot;

fn report(member: &str, name: &str) -> ObjectName {
    ObjectName::new(format!("fleet-member-{member}"), name)
}

/// A hub on which these clusters have these names.
fn hub(reports: &[(&str, &str, &str)]) -> ModelServer {
    let mut hub = ModelServer::new(ClusterId::Hub);
    hub.create(kinds::NAMESPACE, &ObjectName::cluster("kube-system"), json!({})).unwrap();
    for (member, name, uid) in reports {
        hub.advance(1);
        let spec = json!({ "spec": { "clusterUid": uid } });
        hub.create(kinds::CLUSTER_REPORT, &report(member, name), spec).unwrap();
    }
    hub
}

/// Acts in a mode until there is nothing left to do; returns the number of writes.
fn act(hub: &mut ModelServer, multicluster: Mode) -> usize {
    let controller =
        MemberController { settings: Settings { multicluster, ..Settings::default() } };
    hub.take_writes();
    for _ in 0..5 {
        let seen: HubSnapshot = snapshot(&[&*hub], None);
        for key in affected_keys(&controller, &HubSnapshot::default(), &seen) {
            execute(&controller.plan(&key, &seen, hub.now()), &mut [&mut *hub]);
        }
    }
    hub.take_writes().len()
}

fn answer(hub: &ModelServer, member: &str, name: &str) -> Value {
    let status = &hub.get(kinds::CLUSTER_REPORT, &report(member, name)).unwrap()["status"];
    let accepted = &status["conditions"][0];
    assert_eq!((&accepted["type"], &status["clustersetId"]), (&json!("Accepted"), &json!("fleet")));
    json!([accepted["status"], accepted["reason"]])
}

#[test]
fn a_cluster_takes_part_once() {
    let mut hub = hub(&[("b", "b", "one"), ("a", "a", "one"), ("c", "c", "other")]);
    assert_eq!(act(&mut hub, Mode::On), 3);
    assert_eq!(answer(&hub, "b", "b"), json!(["True", "Accepted"]));
    assert_eq!(answer(&hub, "a", "a"), json!(["False", "DuplicateCluster"]));
    assert_eq!(answer(&hub, "c", "c"), json!(["True", "Accepted"]));
    assert_eq!(act(&mut hub, Mode::On), 0);
    hub.delete(kinds::CLUSTER_REPORT, &report("b", "b")).unwrap();
    assert_eq!(act(&mut hub, Mode::On), 1);
    assert_eq!(answer(&hub, "a", "a"), json!(["True", "Accepted"]));
}

/// The other member of the same cluster is looked at when one of them changes.
#[test]
fn a_report_concerns_all_that_name_its_cluster() {
    let mut hub = hub(&[("b", "b", "one"), ("a", "a", "one")]);
    let before: HubSnapshot = snapshot(&[&hub], None);
    hub.delete(kinds::CLUSTER_REPORT, &report("b", "b")).unwrap();
    let after: HubSnapshot = snapshot(&[&hub], None);
    let keys = affected_keys(&MemberController::default(), &before, &after);
    assert_eq!(keys.iter().map(ToString::to_string).collect::<Vec<_>>(), ["a", "b"]);
}

/// A report of another name than the member's proves nothing about a member, and does not push one out either.
#[test]
fn a_report_under_another_name_is_refused() {
    let mut hub = hub(&[("b", "x", "one"), ("a", "a", "one")]);
    act(&mut hub, Mode::On);
    assert_eq!(answer(&hub, "b", "x"), json!(["False", "NamespaceMismatch"]));
    assert_eq!(answer(&hub, "a", "a"), json!(["True", "Accepted"]));
}

#[test]
fn without_the_standard_api_nothing_is_answered_about_it() {
    let mut hub = hub(&[("a", "a", "one"), ("b", "b", "one")]);
    assert_eq!(act(&mut hub, Mode::Off), 2);
    let status = hub.get(kinds::CLUSTER_REPORT, &report("a", "a")).unwrap()["status"].clone();
    assert_eq!(status.as_object().unwrap().keys().collect::<Vec<_>>(), ["incarnation"]);
    act(&mut hub, Mode::On);
    assert_eq!(act(&mut hub, Mode::Off), 0, "what was once written stays");
    assert_eq!(act(&mut hub, Mode::CleanUp), 2);
    assert_eq!(hub.get(kinds::CLUSTER_REPORT, &report("a", "a")).unwrap()["status"], status);
}
