use fleet_plan::SharedSpec;

use super::*;

#[tokio::test]
async fn create_posts_the_object_to_the_collection() {
    let mut bench = Bench::new();
    let object = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"namespace": "team", "name": "shop"}, "spec": {"ports": []},
    });
    let outcome = bench.start(vec![step(Action::Create(object.clone().into()))]);
    let request = bench.receive().await;
    assert_eq!(request.method, Method::POST);
    assert_eq!(request.uri, "/api/v1/namespaces/team/services?fieldManager=fleet");
    assert_eq!(request.media.as_deref(), Some("application/json"));
    assert_eq!(request.body, object);

    request.answer(201, &json!({"metadata": {"uid": UID, "resourceVersion": "8"}}));
    let outcome = outcome.await.unwrap();
    let until = Until::AtLeast { uid: Uid::from(UID), version: ResourceVersion::from("8") };
    assert_eq!(
        outcome.expectations,
        [Expectation { cluster: ClusterId::Hub, kind: kinds::SERVICE, name: name(), until }]
    );
    assert_eq!(outcome.acknowledged.len(), 1);
    assert_eq!(bench.counted("hub", "create", "Service", "201"), 1);
}

/// What no other party writes needs no record of who set which field.
#[tokio::test]
async fn replace_clears_the_managed_fields_of_copied_slices() {
    for kind in [kinds::ENDPOINT_SLICE_EXPORT, kinds::ENDPOINT_SLICE_IMPORT] {
        let mut bench = Bench::new();
        let action = Action::Replace { body: json!({"metadata": {}}).into(), at: at("7") };
        let outcome = bench.start(vec![Step::new(ClusterId::Hub, kind, name(), action)]);
        let request = bench.receive().await;
        assert_eq!(
            request.body["metadata"],
            json!({"uid": UID, "resourceVersion": "7", "managedFields": [{}]})
        );
        request.stored("8");
        outcome.await.unwrap();
    }
}

#[tokio::test]
async fn replace_puts_the_object_with_uid_and_version() {
    let mut bench = Bench::new();
    let body = json!({
        "kind": "EndpointSlice",
        "metadata": {"name": "shop", "namespace": "team", "labels": {"a": "b"}, "uid": "wrong"},
        "endpoints": [{"addresses": ["10.0.0.1"]}],
    });
    let action = Action::Replace { body: body.into(), at: at("7") };
    let outcome =
        bench.start(vec![Step::new(ClusterId::Hub, kinds::ENDPOINT_SLICE, name(), action)]);
    let request = bench.receive().await;
    assert_eq!(request.method, Method::PUT);
    assert_eq!(
        request.uri,
        "/apis/discovery.k8s.io/v1/namespaces/team/endpointslices/shop?fieldManager=fleet"
    );
    assert_eq!(
        request.body,
        json!({
            "kind": "EndpointSlice",
            "metadata": {
                "name": "shop", "namespace": "team", "labels": {"a": "b"},
                "uid": UID, "resourceVersion": "7",
            },
            "endpoints": [{"addresses": ["10.0.0.1"]}],
        })
    );
    request.stored("8");
    let until = outcome.await.unwrap().expectations.remove(0).until;
    assert_eq!(until, Until::NewerThan { uid: UID.into(), version: "7".into() });
}

#[tokio::test]
async fn objects_are_sent_with_the_spec_that_they_share() {
    let mut bench = Bench::new();
    let spec = SharedSpec::new(Arc::new(json!({"ports": [80]})));
    let body = || fleet_plan::Body::sharing(json!({"metadata": {"name": "shop"}}), spec.clone());
    let outcome = bench.start(vec![step(Action::Create(body()))]);
    let request = bench.receive().await;
    assert_eq!(request.body, json!({"metadata": {"name": "shop"}, "spec": {"ports": [80]}}));
    request.answer(201, &json!({"metadata": {"uid": UID, "resourceVersion": "8"}}));
    assert_eq!(outcome.await.unwrap().failures, []);

    let outcome = bench.start(vec![step(Action::Replace { body: body(), at: at("7") })]);
    let request = bench.receive().await;
    let metadata = json!({"name": "shop", "uid": UID, "resourceVersion": "7"});
    assert_eq!(request.body, json!({"metadata": metadata, "spec": {"ports": [80]}}));
    request.stored("8");
    assert_eq!(outcome.await.unwrap().failures, []);
}

#[tokio::test]
async fn patch_tests_uid_and_version_first() {
    let mut bench = Bench::new();
    let add = json!({"op": "add", "path": "/metadata/finalizers", "value": ["x"]});
    let action = Action::Patch { operations: vec![add.clone()], status: false, at: at("7") };
    let outcome = bench.start(vec![step(action)]);
    let request = bench.receive().await;
    assert_eq!(request.method, Method::PATCH);
    assert_eq!(request.uri, "/api/v1/namespaces/team/services/shop?fieldManager=fleet");
    assert_eq!(request.media.as_deref(), Some("application/json-patch+json"));
    assert_eq!(
        request.body,
        json!([
            {"op": "test", "path": "/metadata/uid", "value": UID},
            {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
            add,
        ])
    );
    request.stored("8");
    assert_eq!(outcome.await.unwrap().failures, []);
}

#[tokio::test]
async fn status_has_its_own_path_and_verb() {
    let mut bench = Bench::new();
    let action = Action::Patch { operations: vec![], status: true, at: at("7") };
    let outcome = bench.start(vec![step(action)]);
    let request = bench.receive().await;
    assert_eq!(request.uri, "/api/v1/namespaces/team/services/shop/status?fieldManager=fleet");
    request.stored("8");
    outcome.await.unwrap();
    assert_eq!(bench.counted("hub", "patch_status", "Service", "200"), 1);
}

#[tokio::test]
async fn delete_has_preconditions() {
    let mut bench = Bench::new();
    let outcome = bench.start(vec![delete()]);
    let request = bench.receive().await;
    assert_eq!(request.method, Method::DELETE);
    assert_eq!(request.uri, "/api/v1/namespaces/team/services/shop");
    assert_eq!(
        request.body,
        json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
            "preconditions": {"uid": UID, "resourceVersion": "7"},
        })
    );
    request.answer(200, &json!({"kind": "Status", "status": "Success"}));
    let until = outcome.await.unwrap().expectations.remove(0).until;
    assert_eq!(until, Until::Gone { uid: UID.into() });
}

#[tokio::test]
async fn confirm_absent_gets_the_object() {
    let mut bench = Bench::new();
    let outcome = bench.start(vec![confirm()]);
    let request = bench.receive().await;
    assert_eq!(request.method, Method::GET);
    assert_eq!(request.uri, "/api/v1/namespaces/team/services/shop");
    assert_eq!(request.media, None);
    request.answer(404, &failure(404, "NotFound", &json!({"name": "shop"})));
    let outcome = outcome.await.unwrap();
    assert_eq!((outcome.acknowledged.len(), outcome.expectations.len()), (1, 0));
}

#[tokio::test]
async fn confirm_absent_without_namespace_lists_all() {
    let mut bench = Bench::new();
    let everywhere = || Step { name: ObjectName::cluster("shop"), ..confirm() };
    let outcome = bench.start(vec![everywhere()]);
    let request = bench.receive().await;
    assert_eq!(request.method, Method::GET);
    assert_eq!(request.uri, "/api/v1/services?fieldSelector=metadata.name%3Dshop");
    request.answer(200, &json!({"kind": "ServiceList", "metadata": {}, "items": []}));
    assert_eq!(outcome.await.unwrap().acknowledged.len(), 1);

    let metadata = json!({
        "namespace": "team", "name": "shop", "uid": UID, "resourceVersion": "9",
    });
    let body = json!({"kind": "ServiceList", "metadata": {}, "items": [{"metadata": metadata}]});
    let mut outcome = bench.exchange(everywhere(), 200, body).await;
    assert_eq!(outcome.failures[0].class, Class::Conflict);
    let expected = outcome.expectations.remove(0);
    assert_eq!(expected.name, name());
    assert_eq!(expected.until, Until::AtLeast { uid: UID.into(), version: "9".into() });

    let gone = failure(404, "NotFound", &json!({"name": "shop"}));
    let outcome = bench.exchange(everywhere(), 404, gone).await;
    assert_eq!(outcome.failures[0].class, Class::KindMissing);
}

#[tokio::test]
async fn confirm_absent_without_name_looks_whether_the_namespace_holds_any() {
    let mut bench = Bench::new();
    let any = || Step { name: ObjectName::new("team", ""), ..confirm() };
    let outcome = bench.start(vec![any()]);
    let request = bench.receive().await;
    assert_eq!(request.method, Method::GET);
    assert_eq!(request.uri, "/api/v1/namespaces/team/services?limit=1");
    request.answer(200, &json!({"kind": "ServiceList", "metadata": {}, "items": []}));
    assert_eq!(outcome.await.unwrap().acknowledged.len(), 1);

    let metadata = json!({
        "namespace": "team", "name": "shop", "uid": UID, "resourceVersion": "9",
    });
    let body = json!({"kind": "ServiceList", "metadata": {}, "items": [{"metadata": metadata}]});
    let mut outcome = bench.exchange(any(), 200, body).await;
    assert_eq!(outcome.failures[0].class, Class::Conflict);
    assert_eq!(outcome.expectations.remove(0).name, name());

    for (status, class) in [(401, Class::Unauthorized), (403, Class::Forbidden)] {
        let refused = failure(status, "No", &json!({}));
        let outcome = bench.exchange(any(), status, refused).await;
        assert_eq!(outcome.failures[0].class, class);
    }
}

#[tokio::test]
async fn objects_of_a_cluster_have_no_namespace_in_their_path() {
    let mut bench = Bench::new();
    let name = ObjectName::cluster("member-1");
    let step = Step::new(ClusterId::Hub, kinds::MEMBER_CLUSTER, name, Action::ConfirmAbsent);
    let outcome = bench.start(vec![step]);
    let request = bench.receive().await;
    assert_eq!(request.uri, "/apis/cluster.kubernetes-fleet.io/v1beta1/memberclusters/member-1");
    request.answer(404, &failure(404, "NotFound", &json!({"name": "member-1"})));
    outcome.await.unwrap();
}

#[tokio::test]
async fn a_name_cannot_lead_to_another_object() {
    let mut bench = Bench::new();
    for bad in ["", "..", "../x", "a/b", "a?b", "a#b", "a%2fb", "a b", "ä"] {
        let everywhere = Step { name: ObjectName::cluster(bad), ..confirm() };
        let names = [ObjectName::new("team", bad), ObjectName::new(bad, "shop")];
        let deletions = names.map(|name| Step { name, ..delete() });
        for step in deletions.into_iter().chain([everywhere]) {
            let outcome = bench.writer.execute(&[step], &bench.cancel).await;
            assert_eq!(outcome.failures[0].class, Class::Invalid, "{bad}");
        }
    }
    assert!(bench.is_idle());
}

#[tokio::test]
async fn a_replacement_without_metadata_is_refused() {
    let bench = Bench::new();
    let step = step(Action::Replace { body: json!({}).into(), at: at("7") });
    let outcome = bench.writer.execute(&[step], &bench.cancel).await;
    assert_eq!(outcome.failures[0].message, "the object has no metadata");
}

#[tokio::test]
async fn a_cluster_without_client_is_refused() {
    let bench = Bench::new();
    let step = Step { cluster: ClusterId::Local, ..delete() };
    let outcome = bench.writer.execute(&[step], &bench.cancel).await;
    assert_eq!(outcome.failures[0].class, Class::Invalid);
}

#[tokio::test]
async fn get_says_what_is_there() {
    let mut bench = Bench::new();
    for (status, body, expected) in [
        (200, json!({"metadata": {"uid": UID, "resourceVersion": "9"}}), Ok(Some(at("9")))),
        (404, failure(404, "NotFound", &json!({"name": "shop"})), Ok(None)),
        (500, failure(500, "Oops", &json!({})), Err("Oops it is".to_owned())),
    ] {
        let writer = bench.writer.clone();
        let name = name();
        let get =
            tokio::spawn(async move { writer.get(ClusterId::Hub, &kinds::SERVICE, &name).await });
        bench.receive().await.answer(status, &body);
        assert_eq!(get.await.unwrap(), expected);
    }
}
