//! Kinds that are not served, appear, and are removed by accident.

use std::time::Duration;

use fleet_accumulator::{Config, SourceInfo, SourceSet, SourceSpec, SourceState, views};
use fleet_api::{ResourceKind, kinds};
use fleet_model::objects::{MultiClusterService, ServiceExport};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::objects::api;
use fleet_testbed::proxy::Proxy;
use fleet_testbed::wait::wait_until;
use fleet_testbed::{crds, join};
use futures::future::try_join_all;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams, PostParams};
use serde_json::json;

use crate::support::{Eyes, Follower, SOON, client, quick, until_counts, until_state};

views! {
    /// One kind that is needed and one that may be missing.
    pub(crate) struct Kinds {
        /// Needed.
        local exports: ServiceExport,
        /// May be missing.
        local optional wishes: MultiClusterService,
    }
}

/// Above the 20 objects that may always go.
const MANY: usize = 60;

fn missing(state: &SourceState) -> bool {
    matches!(state, SourceState::Missing { .. })
}

/// One story, because CRDs are there for the whole cluster: both kinds are missing, the needed one appears, then the
/// optional one; the needed one is removed while it has objects, and comes back empty.
pub(crate) async fn kinds_come_and_go(cluster: &Cluster) {
    remove(cluster, kinds::SERVICE_EXPORT).await;
    remove(cluster, kinds::MULTI_CLUSTER_SERVICE).await;
    join::namespace(&cluster.client(), "kinds").await.unwrap();
    let proxy = Proxy::to(&cluster.server_url()).await.unwrap();
    let spec = SourceSpec::new(client(cluster, &proxy, None).await);
    // Long enough for some objects to be there when the optional kind is found.
    let config = Config { recheck_optional: Duration::from_secs(2), ..quick() };
    let both = SourceSet::from([Kinds::exports(), Kinds::wishes()]);
    let eyes = Eyes::<Kinds>::open(&config, both, &|_: &SourceInfo| spec.clone());
    let mut gate = eyes.accumulator.cursor(both);

    until_state(&eyes, Kinds::exports(), "missing", missing).await;
    until_state(&eyes, Kinds::wishes(), "missing", missing).await;
    let wanted = ["serviceexports of the local cluster: the kind is not served"];
    assert_eq!(eyes.accumulator.blocking(both), wanted, "an optional kind does not block");
    assert!(gate.try_next().is_none(), "the gate is closed");

    install(cluster, kinds::SERVICE_EXPORT).await;
    until_state(&eyes, Kinds::exports(), "live", SourceState::is_live).await;
    let step = gate.next().await.unwrap();
    assert!(missing(step.new.wishes.state()), "open without the optional kind");
    assert_eq!(eyes.accumulator.blocking(both), [""; 0]);
    gate.commit(step);

    let wishes = Follower::new(eyes.accumulator.cursor(both), |kinds| &kinds.wishes);
    install(cluster, kinds::MULTI_CLUSTER_SERVICE).await;
    let spec = json!({ "serviceImport": { "name": "web" } });
    create(cluster, kinds::MULTI_CLUSTER_SERVICE, 0..3, Some(spec)).await;
    until_counts(&wishes, [3, 0, 0, 0]).await;
    until_state(&eyes, Kinds::wishes(), "live", SourceState::is_live).await;

    let exports = Follower::new(eyes.accumulator.cursor(both), |kinds| &kinds.exports);
    create(cluster, kinds::SERVICE_EXPORT, 0..MANY, None).await;
    until_counts(&exports, [MANY, 0, 0, 0]).await;
    removed_by_accident(cluster, &eyes, &exports).await;
    assert_eq!(wishes.counts(), [3, 0, 0, 0], "the other kind has nothing to do with it");
    install(cluster, kinds::MULTI_CLUSTER_SERVICE).await;
    eyes.close().await;
}

/// The server sends deletions of all objects before the kind goes. All but the first few are not believed.
async fn removed_by_accident(
    cluster: &Cluster,
    eyes: &Eyes<Kinds>,
    exports: &Follower<ServiceExport>,
) {
    let needed = SourceSet::from([Kinds::exports()]);
    remove(cluster, kinds::SERVICE_EXPORT).await;
    until_state(eyes, Kinds::exports(), "missing", missing).await;
    let kept = eyes.snapshot().exports.len();
    assert!((MANY - 20..=MANY).contains(&kept), "{kept} of {MANY} are left");
    eprintln!("{kept} of {MANY} objects are left when their kind is removed");
    until_counts(exports, [MANY, 0, 0, MANY - kept]).await;
    let wanted = ["serviceexports of the local cluster: the kind is not served"];
    assert_eq!(eyes.accumulator.blocking(needed), wanted);

    // It comes back empty, which is believed when two lists agree.
    let lists = eyes.lists("exports");
    install(cluster, kinds::SERVICE_EXPORT).await;
    until_state(eyes, Kinds::exports(), "live", SourceState::is_live).await;
    assert_eq!(eyes.lists("exports"), lists + 2, "a second list was asked for");
    exports.until_equal(|| eyes.snapshot().exports.clone()).await;
    assert!(eyes.snapshot().exports.is_empty());
    assert_eq!(exports.counts(), [MANY, 0, 0, MANY]);
    create(cluster, kinds::SERVICE_EXPORT, 0..3, None).await;
    until_counts(exports, [MANY + 3, 0, 0, MANY]).await;
}

fn crd_name(kind: ResourceKind) -> String {
    format!("{}.{}", kind.plural, kind.group)
}

async fn install(cluster: &Cluster, kind: ResourceKind) {
    let mut definitions = crds::load(&crds::MEMBER).unwrap();
    definitions.retain(|definition| definition.metadata.name == Some(crd_name(kind)));
    crds::install(&cluster.client(), &definitions).await.unwrap();
}

async fn remove(cluster: &Cluster, kind: ResourceKind) {
    let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client());
    definitions.delete(&crd_name(kind), &DeleteParams::default()).await.unwrap();
    wait_until("the CRD is gone", SOON, async || {
        Ok(definitions.get_opt(&crd_name(kind)).await?.is_none())
    })
    .await
    .unwrap();
}

async fn create(
    cluster: &Cluster,
    kind: ResourceKind,
    numbers: std::ops::Range<usize>,
    spec: Option<serde_json::Value>,
) {
    let objects = api(cluster.client(), kind, Some("kinds"));
    // A kind that was made a moment ago may not be served yet.
    wait_until("the kind is served", SOON, async || {
        Ok(objects.list(&ListParams::default()).await.is_ok())
    })
    .await
    .unwrap();
    let make = async |number| {
        let mut object = json!({
            "apiVersion": kind.api_version(), "kind": kind.kind,
            "metadata": { "name": format!("object-{number}"), "namespace": "kinds" },
        });
        if let Some(spec) = &spec {
            object["spec"] = spec.clone();
        }
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        objects.create(&PostParams::default(), &object).await
    };
    try_join_all(numbers.map(make)).await.unwrap();
}
