//! Which members take part in the standard API.

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, kinds};
use fleet_model::multicluster::mode::Mode;
use fleet_model_server::{ModelServer, execute, snapshot};
use fleet_plan::{Controller, affected_keys};
use serde_json::{Value, json};

use crate::Settings;
use crate::member::{Member, MemberController};
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

/// Reasons and notes of the Events about a member.
fn told(hub: &ModelServer, member: &str) -> Vec<(&'static str, String)> {
    let settings = Settings { multicluster: Mode::On, ..Settings::default() };
    let seen: HubSnapshot = snapshot(&[hub], None);
    let plan = MemberController { settings }.plan(&Member(member.into()), &seen, hub.now());
    let events = plan.events.into_iter();
    events.map(|event| (event.reason, event.note)).collect()
}

/// Anyone can state the uid of another cluster, also before that one has: it takes nothing from any member, and both read it.
#[test]
fn a_forged_uid_takes_nothing_from_a_member() {
    for order in [["a", "b"], ["b", "a"]] {
        let [first, second] = order;
        let mut hub = hub(&[(first, first, "one"), ("c", "c", "other"), (second, second, "one")]);
        assert_eq!(act(&mut hub, Mode::On), 3);
        assert_eq!(answer(&hub, "a", "a"), json!(["True", "DuplicateCluster"]));
        assert_eq!(answer(&hub, "b", "b"), json!(["True", "DuplicateCluster"]));
        assert_eq!(answer(&hub, "c", "c"), json!(["True", "Accepted"]));
        assert_eq!(act(&mut hub, Mode::On), 0);
        let note = "the member b states to be the same cluster".to_owned();
        assert_eq!(told(&hub, "a"), [("DuplicateCluster", note)]);
        assert!(told(&hub, "c").is_empty());
        hub.delete(kinds::CLUSTER_REPORT, &report("b", "b")).unwrap();
        assert_eq!(act(&mut hub, Mode::On), 1);
        assert_eq!(answer(&hub, "a", "a"), json!(["True", "Accepted"]));
        assert!(told(&hub, "a").is_empty());
    }
}

/// However many do so, the text names one, so that a new one changes nothing about the others.
#[test]
fn further_twins_are_no_writes() {
    let mut hub = hub(&[("a", "a", "one"), ("b", "b", "one")]);
    act(&mut hub, Mode::On);
    let spec = json!({ "spec": { "clusterUid": "one" } });
    hub.create(kinds::CLUSTER_REPORT, &report("c", "c"), spec).unwrap();
    assert_eq!(act(&mut hub, Mode::On), 1, "that of the new one alone");
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
    assert_eq!(answer(&hub, "a", "a"), json!(["True", "Accepted"]), "it is nobody's twin");
}

#[test]
fn without_the_standard_api_nothing_is_answered_about_it() {
    let mut hub = hub(&[("a", "a", "one"), ("b", "b", "one")]);
    assert_eq!(act(&mut hub, Mode::Off), 2);
    let status = hub.get(kinds::CLUSTER_REPORT, &report("a", "a")).unwrap()["status"].clone();
    assert_eq!(status.as_object().unwrap().keys().collect::<Vec<_>>(), ["incarnation"]);
    act(&mut hub, Mode::On);
    assert_eq!(act(&mut hub, Mode::Off), 0, "what was once written stays");
    assert_ne!(hub.get(kinds::CLUSTER_REPORT, &report("a", "a")).unwrap()["status"], status);
}

/// Members believe what is withdrawn only on a hub that has accepted them, those that are new to it included.
#[test]
fn a_clean_up_answers_as_before() {
    let mut hub = hub(&[("a", "a", "one")]);
    act(&mut hub, Mode::On);
    assert_eq!(act(&mut hub, Mode::CleanUp), 0);
    let spec = json!({ "spec": { "clusterUid": "other" } });
    hub.create(kinds::CLUSTER_REPORT, &report("b", "b"), spec).unwrap();
    assert_eq!(act(&mut hub, Mode::CleanUp), 1);
    assert_eq!(answer(&hub, "b", "b"), json!(["True", "Accepted"]));
}
