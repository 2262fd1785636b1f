//! A member that is gone for good does not keep its namespace on the hub.

use anyhow::{Result, ensure};
use fleet_api::names::member_namespace;
use fleet_api::{events, finalizers, kinds};
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::join;
use fleet_testbed::objects::api;
use fleet_testbed::wait::wait_until;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::stage::{DEADLINE, IMPORTER, Stage};
use crate::tests::Tests;

pub(crate) fn add(tests: &mut Tests) {
    if std::env::var_os(fleet_testbed::fleet::HUB_KUBECONFIG).is_some() {
        return; // It makes a member of its own, which is not for us to do in the fleets of others.
    }
    tests.alone("vanished::its_namespace_empties", its_namespace_empties);
}

/// F42: a member that imports, and whose agent never runs. Its `MemberCluster`, which a finalizer holds, and its
/// namespace are deleted: the namespace goes after the time that the flag gives, others are not disturbed.
async fn its_namespace_empties(stage: &Stage, agents: &mut Agents) -> Result<()> {
    agents.restart_with(Agent::Hub, &["--force-delete-wait-time=2s"]).await?;
    let mut crossing = stage.crossing("vanished", &[IMPORTER]).await?;
    let ghost = format!("ghost-{}", crossing.namespace);
    let own = member_namespace(&ghost);
    let namespaces: Api<Namespace> = Api::all(stage.hub().client());
    join::member_home(&stage.hub().client(), &own).await?;

    let clusters = api(stage.hub().client(), kinds::MEMBER_CLUSTER, None);
    let held = json!({ "name": ghost, "finalizers": ["example.com/hold"] });
    let cluster = made(&kinds::MEMBER_CLUSTER.api_version(), "MemberCluster", &held, &json!({}))?;
    clusters.create(&PostParams::default(), &cluster).await?;
    request(stage, &crossing.namespace, &crossing.name, &ghost).await?;
    let copies = api(stage.hub().client(), kinds::ENDPOINT_SLICE_IMPORT, Some(&own));
    let one = async || Ok(copies.list(&ListParams::default()).await?.items.len() == 1);
    wait_until("the ghost has a copy", DEADLINE, one).await?;

    clusters.delete(&ghost, &DeleteParams::default()).await?;
    namespaces.delete(&own, &DeleteParams::default()).await?;
    // The namespace controller looks again after some seconds.
    let gone = async || Ok(namespaces.get_opt(&own).await?.is_none());
    wait_until("the namespace of the ghost is gone", 2 * DEADLINE, gone).await?;
    let left = clusters.get(&ghost).await?;
    ensure!(left.metadata.finalizers == Some(vec!["example.com/hold".to_owned()]));
    let metrics = agents.metrics(Agent::Hub).await?;
    let counted = format!(
        r#"fleet_runtime_events_total{{reason="{}",type="Warning"}} 1"#,
        events::MEMBER_FORCE_DELETED
    );
    ensure!(metrics.contains(&counted), "{counted} is missing in\n{metrics}");

    crossing.change(2).await?;
    crossing.arrived().await?;
    let free = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    clusters.patch(&ghost, &PatchParams::default(), &free).await?;
    agents.restart(Agent::Hub).await?;
    crossing.withdraw().await
}

/// What the ghost's agent did before it was gone for good.
async fn request(stage: &Stage, namespace: &str, name: &str, ghost: &str) -> Result<()> {
    let own = member_namespace(ghost);
    let requests = api(stage.hub().client(), kinds::INTERNAL_SERVICE_IMPORT, Some(&own));
    let metadata = json!({
        "name": format!("{namespace}-{name}"), "namespace": own,
        "finalizers": [finalizers::INTERNAL_SERVICE_IMPORT],
    });
    let spec = json!({ "serviceImportReference": {
        "clusterId": ghost, "kind": "ServiceImport", "namespace": namespace, "name": name,
        "namespacedName": format!("{namespace}/{name}"), "resourceVersion": "1", "generation": 1,
        "uid": "gone",
    } });
    let version = kinds::INTERNAL_SERVICE_IMPORT.api_version();
    let object = made(&version, "InternalServiceImport", &metadata, &spec)?;
    requests.create(&PostParams::default(), &object).await?;
    Ok(())
}

fn made(version: &str, kind: &str, metadata: &Value, spec: &Value) -> Result<DynamicObject> {
    Ok(serde_json::from_value(
        json!({ "apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec }),
    )?)
}
