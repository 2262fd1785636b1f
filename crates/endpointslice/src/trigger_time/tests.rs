use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use super::TriggerTimes;
use crate::tests::fixture::{object, service, with};

fn time(minute: u32) -> Timestamp {
    format!("2024-01-02T00:{minute:02}:00Z").parse().unwrap()
}

fn pod(name: &str, ready_since: u32) -> Pod {
    object(json!({"metadata": {"name": name}, "status": {"conditions": [
        {"type": "Ready", "status": "True", "lastTransitionTime": time(ready_since).to_string()}]}}))
}

/// A tracker that has seen the Service with pods a and b.
struct Watched(TriggerTimes);

impl Watched {
    fn new() -> Self {
        let mut watched = Self(TriggerTimes::default());
        let created = "2024-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(watched.sync(&[pod("a", 1), pod("b", 2)]), Some(created), "a new Service");
        watched
    }

    fn sync(&mut self, pods: &[Pod]) -> Option<Timestamp> {
        let (time, seen) = self.0.look(&service(), pods);
        self.0.remember(&service(), seen);
        time
    }
}

/// EPS-73: the earliest of what is new or changed since the last look.
#[test]
fn the_earliest_change_counts() {
    let mut watched = Watched::new();
    assert_eq!(watched.sync(&[pod("a", 1), pod("b", 2)]), None, "nothing changed");
    assert_eq!(
        watched.sync(&[pod("a", 1), pod("b", 2), pod("c", 4), pod("d", 3)]),
        Some(time(3)),
        "added"
    );
    assert_eq!(
        watched.sync(&[pod("a", 6), pod("b", 5), pod("c", 4), pod("d", 3)]),
        Some(time(5)),
        "updated"
    );
    assert_eq!(watched.sync(&[pod("a", 6)]), None, "removed");
    assert_eq!(watched.sync(&[pod("a", 6), pod("b", 5)]), Some(time(5)), "there again");
}

/// EPS-73: a Service made again is new; one that changes is not.
#[test]
fn only_the_creation_of_a_service_is_a_trigger() {
    let mut watched = Watched::new();
    let pods = [pod("a", 1), pod("b", 2)];
    let changed = with(&service(), "/spec/ports/0/targetPort", json!(81));
    assert_eq!(watched.0.look(&changed, &pods).0, None);
    let again = with(&service(), "/metadata/creationTimestamp", json!(time(30).to_string()));
    assert_eq!(watched.0.look(&again, &pods).0, Some(time(30)), "not seen to be deleted");
    watched.0.delete_service("test", "foo");
    assert_eq!(watched.0.look(&again, &pods).0, Some(time(30)));
}

/// EPS-86: other Services stay known. The memory of one that failed does not advance.
#[test]
fn a_failed_reconcile_is_not_stored() {
    let mut watched = Watched::new();
    watched.0.delete_service("test", "other");
    let pods = [pod("a", 1), pod("b", 9)];
    assert_eq!(watched.0.look(&service(), &pods).0, Some(time(9)));
    assert_eq!(watched.sync(&pods), Some(time(9)));
    assert_eq!(watched.sync(&pods), None);
}
