//! The quotas of members: where they are made, and that they stay.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use fleet_api::kinds;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::helm::{Helm, Release, chart};
use fleet_testbed::objects::{api, remove};
use fleet_testbed::pod::NAMESPACE;
use fleet_testbed::{Bare, Options};
use k8s_openapi::api::core::v1::ResourceQuota;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};

use crate::{find, of_kind, with};

const EXPORT: fleet_api::ResourceKind = kinds::INTERNAL_SERVICE_EXPORT;
const QUOTA: &str = "fleet-member-objects";
/// How `helm template` learns that a hub serves the kinds, as Argo CD passes it on.
const SERVED: [&str; 2] =
    ["--api-versions", "networking.fleet.azure.com/v1alpha1/InternalServiceExport"];

fn members() -> Value {
    json!({ "memberTokens": "bound", "members": [{ "name": "east" }, { "name": "north" }] })
}

async fn rendered(more: &Value, arguments: &[&str]) -> Vec<Value> {
    let (helm, place) = (Helm::v4().await.unwrap(), (NAMESPACE, "hub-agent"));
    let values = with(members(), more);
    let text = helm.template_text(&chart("hub-agent"), place, &values, arguments).await.unwrap();
    fleet_testbed::helm::documents(&text).unwrap()
}

#[tokio::test]
async fn a_quota_counts_what_a_member_creates_itself() {
    let objects = rendered(&json!({}), &SERVED).await;
    assert_eq!(of_kind(&objects, "ResourceQuota").len(), 2);
    let quota = find(&objects, "ResourceQuota", QUOTA).unwrap();
    assert_eq!(quota["metadata"]["namespace"], "fleet-member-east");
    let key = |plural: &str| format!("count/{plural}.networking.fleet.azure.com");
    let hard = quota["spec"]["hard"].as_object().unwrap();
    assert_eq!((hard.len(), &hard[&key("internalserviceexports")]), (3, &json!("10000")));
    assert!(!hard.contains_key(&key("endpointsliceimports")), "the hub agent creates those");

    let limits = json!({ "memberQuotas": { "limits": { "internalserviceexports": 7 } } });
    let objects = rendered(&limits, &SERVED).await;
    let quota = find(&objects, "ResourceQuota", QUOTA).unwrap();
    assert_eq!(quota["spec"]["hard"][key("internalserviceexports")], "7");
    assert_eq!(quota["spec"]["hard"][key("internalserviceimports")], "10000");
}

/// Each limit is that of the quota which counts its kind, and 0 is one, too.
#[tokio::test]
async fn a_limit_of_zero_is_a_limit() {
    let counted = [
        "internalserviceexports.networking.fleet.azure.com",
        "internalserviceimports.networking.fleet.azure.com",
        "endpointsliceexports.networking.fleet.azure.com",
        "exportedservices.multicluster.networking.fleet.azure.com",
        "podexports.offload.networking.fleet.azure.com",
        "offloadoffers.offload.networking.fleet.azure.com",
    ];
    let limits: serde_json::Map<_, _> = counted
        .iter()
        .filter_map(|resource| Some((resource.split_once('.')?.0.to_owned(), json!(0))))
        .collect();
    let values = json!({
        "memberQuotas": { "limits": limits }, "multicluster": { "mode": "on" },
        "virtualNodes": { "enabled": true },
    });
    let served = [
        &SERVED[..],
        &["--api-versions", "multicluster.networking.fleet.azure.com/v1alpha1/ExportedService"],
        &["--api-versions", "offload.networking.fleet.azure.com/v1alpha1/PodExport"],
    ];
    let objects = rendered(&values, &served.concat()).await;
    let quotas = of_kind(&objects, "ResourceQuota");
    let east = quotas.iter().filter(|it| it["metadata"]["namespace"] == "fleet-member-east");
    let mut hard: BTreeMap<_, _> = east
        .filter_map(|quota| quota["spec"]["hard"].as_object())
        .flatten()
        .map(|(resource, limit)| (resource.clone(), limit.clone()))
        .collect();
    assert_eq!(hard.remove("count/leases.coordination.k8s.io"), Some(json!("10")));
    let wanted = counted.map(|resource| (format!("count/{resource}"), json!("0")));
    assert_eq!(hard, BTreeMap::from(wanted));
}

/// A hub that does not serve the kinds yet would reject what it cannot count.
#[tokio::test]
async fn without_the_kinds_or_the_wish_there_is_no_quota() {
    assert!(of_kind(&rendered(&json!({}), &[]).await, "ResourceQuota").is_empty());
    let off = json!({ "memberQuotas": { "enabled": false } });
    assert!(of_kind(&rendered(&off, &SERVED).await, "ResourceQuota").is_empty());
}

async fn has_quota(hub: &Cluster, member: &str) -> Result<bool> {
    let quotas: Api<ResourceQuota> =
        Api::namespaced(hub.client(), &format!("fleet-member-{member}"));
    Ok(quotas.get_opt(QUOTA).await?.is_some())
}

async fn export(hub: &Cluster, name: &str) -> Result<()> {
    let object = json!({
        "apiVersion": EXPORT.api_version(), "kind": EXPORT.kind, "metadata": { "name": name },
        "spec": { "ports": [{ "port": 80 }], "serviceReference": {
            "clusterId": "east", "kind": "Service", "namespace": "shop", "name": name,
            "namespacedName": format!("shop/{name}"), "resourceVersion": "1", "generation": 1,
            "uid": name,
        } },
    });
    let exports = api(hub.client(), EXPORT, Some("fleet-member-east"));
    exports.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
    Ok(())
}

#[tokio::test]
async fn an_upgrade_makes_quotas_where_half_is_free() {
    let bare = Bare::start(&["hub"], &Options::default().with_quotas()).await.unwrap();
    let (hub, helm) = (&bare.clusters()[0], Helm::v4().await.unwrap());
    let release = helm.release(hub.kubeconfig_path(), (NAMESPACE, "hub-agent"), chart("hub-agent"));
    where_half_is_free(hub, &release).await.unwrap();
}

async fn where_half_is_free(hub: &Cluster, release: &Release<'_>) -> Result<()> {
    let values = with(members(), &json!({ "policies": { "enabled": false } }));
    release.install(&values, &[]).await?;
    ensure!(!has_quota(hub, "north").await?, "the hub does not serve the kinds yet");
    for number in 0..6 {
        export(hub, &format!("web-{number}")).await?;
    }
    let limits = json!({ "memberQuotas": { "limits": { "internalserviceexports": 10 } } });
    let values = with(values, &limits);
    release.upgrade(&values, &[]).await?;
    ensure!(has_quota(hub, "north").await?, "nothing is in use");
    ensure!(!has_quota(hub, "east").await?, "6 of 10 are in use");
    remove(hub, EXPORT, ("fleet-member-east", "web-0")).await?;
    release.upgrade(&values, &[]).await?;
    ensure!(has_quota(hub, "east").await?, "5 of 10 are in use");
    let fewer = json!({ "memberQuotas": { "limits": { "internalserviceexports": 4 } } });
    release.upgrade(&with(values, &fewer), &[]).await?;
    ensure!(has_quota(hub, "east").await?, "what is there stays");
    Ok(())
}
