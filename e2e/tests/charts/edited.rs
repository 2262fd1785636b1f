//! What users of a chart change or make themselves, through upgrades and back.

use anyhow::{Result, ensure};
use fleet_api::kinds;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::helm::{Release, chart};
use fleet_testbed::objects::api;
use fleet_testbed::pod::NAMESPACE;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;

use crate::fleet::Fleet;

/// With Helm 4 on the hub, and with Helm 3 in a cluster that is made another one.
pub(crate) async fn what_others_make_stays(fleet: &Fleet) -> Result<()> {
    let hub = fleet.release(fleet.hub(), "hub-agent");
    edits_stay(fleet.hub(), &hub).await?;

    let (east, [helm3, _]) = (fleet.east(), fleet.helms());
    let name = (NAMESPACE, "hub-agent");
    let release = helm3.release(east.kubeconfig_path(), name, chart("hub-agent"));
    let members = json!({ "members": [{ "name": "south" }], "memberTokens": "bound" });
    release.install(&members, &[]).await?;
    edits_stay(east, &release).await?;
    tokens_of_others_stop_no_upgrade(east, &release).await?;
    release.uninstall().await
}

/// The object of the fleet, whose spec is its administrators'.
async fn edits_stay(cluster: &Cluster, release: &Release<'_>) -> Result<()> {
    const REUSE: &[&str] = &["--reuse-values"];
    let revision = async || release.revision_of(env!("CARGO_PKG_VERSION")).await;
    let first = revision().await?;
    let defaults = json!({ "preference": "LocalFirst" });
    let on = json!({ "traffic": { "enabled": true, "fleet": { "defaults": defaults } } });
    // The second one finds the definition.
    release.upgrade(&on, REUSE).await?;
    release.upgrade(&on, REUSE).await?;
    let made = revision().await?;
    let traffics = api(cluster.client(), kinds::FLEET_TRAFFIC, None);
    let edit = Patch::Merge(json!({ "spec": { "silentAfterSeconds": 300 } }));
    traffics.patch("fleet", &PatchParams::default(), &edit).await?;
    let stays = async |when: &str| -> Result<()> {
        let spec = traffics.get("fleet").await?.data["spec"].clone();
        let is_kept = spec["silentAfterSeconds"] == 300 && spec["defaults"] == defaults;
        ensure!(is_kept, "{} after {when}: {spec}", cluster.name());
        Ok(())
    };
    release.upgrade(&json!({ "logLevel": "debug" }), REUSE).await?;
    stays("an upgrade").await?;
    release.rollback(made).await?;
    stays("a rollback").await?;
    release.rollback(first).await?;
    stays("a rollback to before it was made").await?;
    release.upgrade(&on, REUSE).await?;
    stays("an upgrade after that").await
}

/// As `fleetctl join --long-lived-token` makes one, for a member of the chart.
async fn tokens_of_others_stop_no_upgrade(cluster: &Cluster, release: &Release<'_>) -> Result<()> {
    let secrets: Api<Secret> = Api::namespaced(cluster.client(), "fleet-member-south");
    let secret = json!({ "metadata": { "name": "member-agent-token" } });
    let secret = serde_json::from_value(secret)?;
    secrets.create(&PostParams::default(), &secret).await?;
    for tokens in ["", "long-lived"] {
        release.upgrade(&json!({ "memberTokens": tokens }), &["--reuse-values"]).await?;
    }
    secrets.get("member-agent-token").await?;
    Ok(())
}
