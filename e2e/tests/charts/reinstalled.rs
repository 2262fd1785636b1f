//! Policies that were removed and installed again know members that have come since. An API server would know none of them,
//! until it is restarted, if nothing of the chart stayed (kubernetes/kubernetes#130887).

use anyhow::Result;
use fleet_api::names::member_namespace;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::helm::{Helm, Release, chart};
use fleet_testbed::pod::NAMESPACE;
use fleet_testbed::{Bare, Options, join, member_policy, policies, rbac};
use serde_json::json;

/// A member without a member policy.
const LACKING: &str = "lacking";

#[tokio::test]
async fn policies_come_back_with_all_they_need() {
    let bare = Bare::start(&["hub"], &Options::default()).await.unwrap();
    let hub = &bare.clusters()[0];
    let helm = Helm::v4().await.unwrap();
    let release = helm.release(hub.kubeconfig_path(), (NAMESPACE, "hub-agent"), chart("hub-agent"));
    removed_and_installed(hub, &release).await.unwrap();
    release.uninstall().await.unwrap();
}

async fn removed_and_installed(hub: &Cluster, release: &Release<'_>) -> Result<()> {
    let strict = json!({ "policies": { "enabled": true, "strict": true } });
    release.install(&strict, &[]).await?;
    has_place(hub, LACKING).await?;
    join(hub, "first").await?;
    release.upgrade(&json!({ "policies": { "enabled": false } }), &[]).await?;
    policies::wait_allowed(hub, LACKING).await?;
    release.upgrade(&strict, &[]).await?;
    join(hub, "second").await?;
    release.uninstall().await?;
    policies::wait_allowed(hub, LACKING).await?;
    release.install(&strict, &[]).await?;
    join(hub, "third").await
}

/// Makes a member with a member policy, and waits until it may export, on a hub that is strict.
async fn join(hub: &Cluster, member: &str) -> Result<()> {
    policies::wait_strict(hub, LACKING).await?;
    has_place(hub, member).await?;
    member_policy::allow_all(&hub.client(), &member_namespace(member)).await?;
    policies::wait_allowed(hub, member).await
}

/// Makes a member. Where its policies are in force, a strict hub accepts nothing of it.
async fn has_place(hub: &Cluster, member: &str) -> Result<()> {
    join::namespace(&hub.client(), &member_namespace(member)).await?;
    rbac::member_on_hub(member).apply(&hub.client()).await
}
