use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::json;

use super::{Deletion, Tracker};
use crate::tests::fixture::object;

fn slice(namespace: &str, service: &str, uid: &str, generation: i64) -> EndpointSlice {
    object(
        json!({"addressType": "IPv4", "endpoints": [], "metadata": {"namespace": namespace, "uid": uid,
        "generation": generation, "labels": {"kubernetes.io/service-name": service}}}),
    )
}

fn service() -> Service {
    object(json!({"metadata": {"namespace": "ns", "name": "svc"}}))
}

/// EPS-69: what is known after an update.
#[test]
fn an_update_is_stored_by_service_and_generation() {
    let mut tracker = Tracker::default();
    tracker.update(&slice("ns", "svc", "a", 1));
    for (other, has, sync) in [
        (slice("ns", "svc", "a", 1), true, false),
        (slice("other", "svc", "a", 1), false, true),
        (slice("ns", "other", "a", 1), false, true),
        (slice("ns", "svc", "a", 2), true, true),
    ] {
        assert_eq!((tracker.has(&other), tracker.should_sync(&other)), (has, sync));
    }
}

/// EPS-70, EPS-100: a view is stale while responses to writes are newer.
#[test]
fn a_view_older_than_the_responses_is_stale() {
    let mut tracker = Tracker::default();
    let [one, two] = [slice("ns", "svc", "a", 1), slice("ns", "svc", "a", 2)];
    assert!(!tracker.is_stale(&service(), &[&one]), "nothing known");
    tracker.update(&two);
    assert!(tracker.is_stale(&service(), &[&one]), "recorded newer");
    assert!(!tracker.is_stale(&service(), &[&two]), "equal");
    assert!(!tracker.is_stale(&service(), &[&slice("ns", "svc", "a", 3)]), "given newer");
    assert!(tracker.is_stale(&service(), &[]), "recorded one missing");
    tracker.expect_deletion(&two);
    assert!(tracker.is_stale(&service(), &[&two]), "should be gone");
    assert!(!tracker.is_stale(&service(), &[]));
    assert_eq!(tracker.handle_deletion(&two), Deletion::Expected);
    assert!(!tracker.is_stale(&service(), &[&one]), "known but empty");
}

/// EPS-71: a deletion is expected if it was announced for this very slice.
#[test]
fn deletions_are_expected_by_slice() {
    let own = slice("ns", "svc", "a", 1);
    for (announced, expected) in [
        (slice("ns", "svc", "a", 1), Deletion::Expected),
        (slice("ns", "svc", "a", 5), Deletion::Expected),
        (slice("other", "svc", "a", 1), Deletion::Unexpected),
        (slice("ns", "other", "a", 1), Deletion::Unexpected),
    ] {
        let mut tracker = Tracker::default();
        tracker.update(&own);
        tracker.expect_deletion(&announced);
        assert_eq!(tracker.handle_deletion(&own), expected);
        assert!(!tracker.has(&own));
    }
}

/// EPS-72: only the Service of that name and namespace is forgotten.
#[test]
fn deleting_a_service_forgets_its_slices() {
    for (namespace, name, known) in
        [("ns", "svc", false), ("ns", "other", true), ("other", "svc", true)]
    {
        let mut tracker = Tracker::default();
        tracker.update(&slice("ns", "svc", "a", 1));
        tracker.delete_service(namespace, name);
        assert_eq!(tracker.has(&slice("ns", "svc", "a", 1)), known);
    }
}
