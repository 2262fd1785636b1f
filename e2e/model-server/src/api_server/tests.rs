use fleet_accumulator::ClusterId;
use fleet_api::kinds;
use fleet_runtime::clients::dynamic;
use futures::StreamExt;
use kube::api::{DeleteParams, DynamicObject, PostParams, WatchEvent, WatchParams};

use super::*;

fn object(kind: ResourceKind, name: &str) -> DynamicObject {
    let object = json!({
        "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": { "name": name },
        "spec": { "serviceImport": { "name": "web" } },
    });
    serde_json::from_value(object).unwrap()
}

fn code(error: &kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn objects_are_listed_watched_replaced_and_deleted() {
    let server = ApiServer::new(ModelServer::new(ClusterId::Local));
    let kind = kinds::MULTI_CLUSTER_SERVICE;
    let api = dynamic(server.client("member-agent"), kind, Some("team"));
    let made = api.create(&PostParams::default(), &object(kind, "web")).await.unwrap();
    let again = api.create(&PostParams::default(), &object(kind, "web")).await.unwrap_err();
    assert_eq!(code(&again), 409);

    let list = api.list(&kube::api::ListParams::default()).await.unwrap();
    assert_eq!((list.items.len(), &list.items[0].metadata.uid), (1, &made.metadata.uid));
    let elsewhere = dynamic(server.client("member-agent"), kind, Some("other"));
    assert!(elsewhere.list(&kube::api::ListParams::default()).await.unwrap().items.is_empty());

    let version = list.metadata.resource_version.unwrap();
    let watch = api.watch(&WatchParams::default(), &version).await.unwrap();
    let mut watch = std::pin::pin!(watch);
    let mut changed = made.clone();
    changed.data["spec"]["serviceImport"]["name"] = json!("other");
    let replaced = api.replace("web", &PostParams::default(), &changed).await.unwrap();
    let stale = api.replace("web", &PostParams::default(), &changed).await.unwrap_err();
    assert_eq!(code(&stale), 409);
    let Some(Ok(WatchEvent::Modified(seen))) = watch.next().await else { panic!("no change") };
    assert_eq!(seen.metadata.resource_version, replaced.metadata.resource_version);

    let at = kube::api::Preconditions {
        uid: replaced.metadata.uid.clone(),
        resource_version: replaced.metadata.resource_version.clone(),
    };
    let params = DeleteParams { preconditions: Some(at), ..DeleteParams::default() };
    api.delete("web", &params).await.unwrap();
    let Some(Ok(WatchEvent::Deleted(_))) = watch.next().await else { panic!("no deletion") };
    assert_eq!(code(&api.get("web").await.unwrap_err()), 404);
}

#[tokio::test]
async fn a_patch_changes_the_version_it_was_made_for_only() {
    let server = ApiServer::new(ModelServer::new(ClusterId::Local));
    let kind = kinds::MULTI_CLUSTER_SERVICE;
    let api = dynamic(server.client("member-agent"), kind, Some("team"));
    let made = api.create(&PostParams::default(), &object(kind, "web")).await.unwrap();
    let patch = |version: &str| {
        let operations = json!([
            { "op": "test", "path": "/metadata/uid", "value": made.metadata.uid },
            { "op": "test", "path": "/metadata/resourceVersion", "value": version },
            { "op": "add", "path": "/metadata/finalizers", "value": ["a/b"] },
        ]);
        Request::patch(
            "/apis/networking.fleet.azure.com/v1alpha1/namespaces/team/multiclusterservices/web",
        )
        .body(operations.to_string().into_bytes())
        .unwrap()
    };
    let stale =
        server.client("member-agent").request::<DynamicObject>(patch("1")).await.unwrap_err();
    assert_eq!(code(&stale), 422);
    let version = made.metadata.resource_version.clone().unwrap();
    let patched: DynamicObject =
        server.client("member-agent").request(patch(&version)).await.unwrap();
    assert_eq!(patched.metadata.finalizers, Some(vec!["a/b".to_owned()]));
}
