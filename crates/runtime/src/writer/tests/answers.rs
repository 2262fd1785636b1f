use super::*;

async fn only_failure(step: Step, status: u16, body: Value) -> (Class, Option<Until>) {
    let mut bench = Bench::new();
    let mut outcome = bench.exchange(step, status, body).await;
    assert_eq!(outcome.acknowledged, []);
    let until = outcome.expectations.pop().map(|expectation| expectation.until);
    assert_eq!(outcome.expectations, []);
    (outcome.failures[0].class, until)
}

async fn only_expectation(step: Step, status: u16, body: Value) -> Option<Until> {
    let mut bench = Bench::new();
    let mut outcome = bench.exchange(step, status, body).await;
    assert_eq!(outcome.failures, []);
    outcome.expectations.pop().map(|expectation| expectation.until)
}

fn newer() -> Until {
    Until::NewerThan { uid: UID.into(), version: "7".into() }
}

fn gone() -> Until {
    Until::Gone { uid: UID.into() }
}

fn about_it() -> Value {
    json!({"name": "shop", "kind": "services"})
}

#[tokio::test]
async fn a_conflict_waits_for_a_newer_version() {
    for step in [replace(), patch(), delete()] {
        let body = failure(409, "Conflict", &about_it());
        assert_eq!(only_failure(step, 409, body).await, (Class::Conflict, Some(newer())));
    }
}

#[tokio::test]
async fn a_failed_test_of_a_patch_is_a_conflict() {
    // What kube-apiserver 1.36 answers.
    let body = failure(422, "Invalid", &json!({}));
    assert_eq!(only_failure(patch(), 422, body).await, (Class::Conflict, Some(newer())));
}

#[tokio::test]
async fn a_refused_value_is_invalid() {
    let causes = json!([{"reason": "FieldValueInvalid", "field": "spec", "message": "no"}]);
    let details = json!({"name": "shop", "kind": "Service", "causes": causes});
    for step in [create(), replace(), patch()] {
        let body = failure(422, "Invalid", &details);
        assert_eq!(only_failure(step, 422, body).await, (Class::Invalid, None));
    }
}

#[tokio::test]
async fn an_address_that_is_still_allocated_is_free_soon() {
    // What kube-apiserver 1.36 answers.
    let message = "failed to allocate IP 10.96.0.9: provided IP is already allocated";
    let causes =
        json!([{"reason": "FieldValueInvalid", "field": "spec.clusterIPs", "message": message}]);
    let details = json!({"name": "shop", "kind": "Service", "causes": causes});
    let mut body = failure(422, "Invalid", &details);
    body["message"] = json!(message);
    assert_eq!(only_failure(create(), 422, body).await, (Class::Occupied, None));
}

#[tokio::test]
async fn a_put_that_is_invalid_without_details_is_no_conflict() {
    let body = failure(422, "Invalid", &json!({}));
    assert_eq!(only_failure(replace(), 422, body).await, (Class::Invalid, None));
}

#[tokio::test]
async fn an_existing_object_is_waited_for() {
    let body = failure(409, "AlreadyExists", &about_it());
    let expected = (Class::AlreadyExists, Some(Until::Present));
    assert_eq!(only_failure(create(), 409, body).await, expected);
}

#[tokio::test]
async fn an_update_of_an_object_that_is_gone_waits_for_its_removal() {
    for step in [replace(), patch()] {
        let body = failure(404, "NotFound", &about_it());
        assert_eq!(only_failure(step, 404, body).await, (Class::NotFound, Some(gone())));
    }
}

#[tokio::test]
async fn a_deletion_of_an_object_that_is_gone_is_done() {
    let body = failure(404, "NotFound", &about_it());
    assert_eq!(only_expectation(delete(), 404, body).await, Some(gone()));
}

#[tokio::test]
async fn a_missing_kind_is_not_a_missing_object() {
    for step in [create(), replace(), delete(), confirm()] {
        let mut bench = Bench::new();
        let outcome = bench.start(vec![step]);
        let text = Body::from(b"404 page not found\n".to_vec());
        let response = Response::builder().status(404).body(text).unwrap();
        bench.receive().await.reply.send_response(response);
        let failure = outcome.await.unwrap().failures.remove(0);
        assert_eq!(failure.class, Class::KindMissing);
        assert_eq!(failure.message, "404 Not Found: 404 page not found");
    }
}

#[tokio::test]
async fn a_missing_namespace_has_its_own_class() {
    let body = failure(404, "NotFound", &json!({"name": "team", "kind": "namespaces"}));
    assert_eq!(only_failure(create(), 404, body).await, (Class::NamespaceMissing, None));
}

#[tokio::test]
async fn a_namespace_named_like_the_object_is_still_a_missing_namespace() {
    let body = failure(404, "NotFound", &json!({"name": "shop", "kind": "namespaces"}));
    assert_eq!(only_failure(create(), 404, body).await, (Class::NamespaceMissing, None));
}

#[tokio::test]
async fn an_ending_namespace_has_its_own_class() {
    let causes = json!([{"reason": "NamespaceTerminating", "message": "ends"}]);
    let body = failure(403, "Forbidden", &json!({"name": "shop", "causes": causes}));
    assert_eq!(only_failure(create(), 403, body).await, (Class::NamespaceTerminating, None));
}

/// Both answer 403 with the same reason (kube-apiserver 1.36).
#[tokio::test]
async fn what_admission_forbids_is_no_missing_right() {
    for (said, class) in [
        (
            "ValidatingAdmissionPolicy 'imports.x' with binding 'imports.x' denied request: P9: only the hub",
            Class::Denied,
        ),
        (
            "exceeded quota: few, requested: count/y=1, used: count/y=2, limited: count/y=2",
            Class::Denied,
        ),
        ("violates PodSecurity \"restricted:latest\": runAsNonRoot != true", Class::Denied),
        (
            "User \"u\" cannot create resource \"y\" in API group \"x\" in the namespace \"n\"",
            Class::Forbidden,
        ),
        ("not yet ready to handle request", Class::Forbidden),
    ] {
        let mut body = failure(403, "Forbidden", &json!({"name": "a", "kind": "y"}));
        body["message"] = json!(format!("y.x \"a\" is forbidden: {said}"));
        assert_eq!(only_failure(create(), 403, body).await, (class, None), "{said}");
    }
    let mut body = failure(403, "Forbidden", &json!({}));
    body["message"] = json!("admission webhook \"guard.x\" denied the request: no");
    assert_eq!(only_failure(create(), 403, body).await, (Class::Denied, None));
}

#[tokio::test]
async fn statuses_have_classes() {
    for (code, class) in [
        (400, Class::Invalid),
        (401, Class::Unauthorized),
        (403, Class::Forbidden),
        (405, Class::Invalid),
        (408, Class::Transient),
        (413, Class::Invalid),
        (429, Class::Throttled),
        (500, Class::Transient),
        (502, Class::Transient),
        (503, Class::Transient),
        (504, Class::Transient),
    ] {
        let body = failure(code, "Oops", &json!({}));
        assert_eq!(only_failure(create(), code, body).await, (class, None), "{code}");
    }
}

#[tokio::test]
async fn the_server_says_how_long_to_stay_away() {
    let details = json!({"retryAfterSeconds": 3});
    for (code, header, details, expected) in [
        (429, Some("7"), &details, Some(Duration::from_secs(7))),
        (429, None, &details, Some(Duration::from_secs(3))),
        (429, None, &json!({}), Some(Duration::from_secs(1))),
        (503, Some("2"), &json!({}), Some(Duration::from_secs(2))),
        (429, Some("86400"), &json!({}), Some(Duration::from_secs(10))),
    ] {
        let mut bench = Bench::new();
        let outcome = bench.start(vec![create()]);
        let mut response = response(code, &failure(code, "TooManyRequests", details));
        if let Some(header) = header {
            response.headers_mut().insert("retry-after", header.parse().unwrap());
        }
        bench.receive().await.reply.send_response(response);
        let failure = outcome.await.unwrap().failures.remove(0);
        assert_eq!((failure.class, failure.retry_after), (Class::Throttled, expected));
    }
}

#[tokio::test]
async fn a_deletion_that_a_finalizer_holds_waits_for_the_deletion_timestamp() {
    let metadata = json!({
        "uid": UID, "resourceVersion": "8",
        "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x"],
    });
    let body = json!({"kind": "Service", "metadata": metadata});
    assert_eq!(only_expectation(delete(), 200, body).await, Some(newer()));
}

#[tokio::test]
async fn a_second_deletion_of_a_held_object_waits_for_nothing() {
    let metadata = json!({
        "uid": UID, "resourceVersion": "7",
        "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x"],
    });
    let body = json!({"kind": "Service", "metadata": metadata});
    assert_eq!(only_expectation(delete(), 200, body).await, None);
}

#[tokio::test]
async fn a_deletion_that_answers_with_the_last_state_waits_for_the_end() {
    // Services do, where other kinds answer with a Status.
    let metadata = json!({"uid": UID, "resourceVersion": "8"});
    let body = json!({"kind": "Service", "metadata": metadata});
    assert_eq!(only_expectation(delete(), 200, body).await, Some(gone()));
}

#[tokio::test]
async fn releasing_the_last_finalizer_waits_for_the_end() {
    let metadata = json!({
        "uid": UID, "resourceVersion": "7", "deletionTimestamp": "2026-01-01T00:00:00Z",
    });
    for step in [patch(), replace()] {
        let body = json!({"kind": "Service", "metadata": metadata});
        assert_eq!(only_expectation(step, 200, body).await, Some(gone()));
    }
}

#[tokio::test]
async fn a_write_that_changed_nothing_waits_for_nothing() {
    let body = json!({"kind": "Service", "metadata": {"uid": UID, "resourceVersion": "7"}});
    assert_eq!(only_expectation(replace(), 200, body).await, None);
}

#[tokio::test]
async fn an_object_that_should_be_absent_is_a_conflict() {
    let body = json!({"kind": "Service", "metadata": {"uid": UID, "resourceVersion": "9"}});
    let until = Until::AtLeast { uid: UID.into(), version: "9".into() };
    assert_eq!(only_failure(confirm(), 200, body).await, (Class::Conflict, Some(until)));
}

#[tokio::test]
async fn a_success_that_cannot_be_read_is_no_success() {
    let mut bench = Bench::new();
    let outcome = bench.start(vec![create()]);
    let login = Body::from(b"<html>Please log in</html>".to_vec());
    bench.receive().await.reply.send_response(Response::new(login));
    assert_eq!(outcome.await.unwrap().failures[0].class, Class::Transient);
}

#[tokio::test]
async fn a_broken_connection_is_transient() {
    let mut bench = Bench::new();
    let outcome = bench.start(vec![create()]);
    bench.receive().await.reply.send_error("connection reset");
    let failure = outcome.await.unwrap().failures.remove(0);
    assert_eq!(failure.class, Class::Transient);
    assert!(failure.message.contains("connection reset"), "{}", failure.message);
    assert_eq!(bench.counted("hub", "create", "Service", "connection"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_is_given_up() {
    let mut bench = Bench::new();
    let outcome = bench.start(vec![create()]);
    let request = bench.receive().await;
    let started = tokio::time::Instant::now();
    let failure = outcome.await.unwrap().failures.remove(0);
    assert_eq!(started.elapsed(), Duration::from_secs(10));
    assert_eq!(
        (failure.class, failure.message.as_str()),
        (Class::Transient, "no answer within 10 s")
    );
    assert_eq!(bench.counted("hub", "create", "Service", "timeout"), 1);
    drop(request);
}
