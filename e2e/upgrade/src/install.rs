//! A fleet that has the charts of the release and no agents yet.

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fleet_api::names::member_namespace;
use fleet_testbed::apply::apply;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::edition::Edition;
use fleet_testbed::fleet::Fleet;
use fleet_testbed::join::namespace;
use fleet_testbed::pod::NAMESPACE;
use fleet_testbed::wait::wait_for;
use fleet_testbed::{Bare, Options};
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use serde_json::json;

use crate::charts::Charts;
use crate::members::{DEADLINE, MEMBERS};

/// Starts the clusters, installs the charts, and joins the members.
pub(crate) async fn install(charts: &Charts, edition: &Edition) -> Result<Fleet> {
    let names = [&["hub"], &MEMBERS[..]].concat();
    let bare = Bare::start(&names, &Options::default().with_quotas()).await?;
    let fleet = bare.into_fleet()?;
    try_join_all(
        fleet.clusters().map(async |cluster| namespace(&cluster.client(), NAMESPACE).await),
    )
    .await?;
    charts.install(&fleet, edition).await?;
    for member in fleet.members() {
        join(fleet.hub(), member).await?;
    }
    Ok(fleet)
}

/// Carries the member's token over, as the chart's notes ask, and asks the member to join, as KubeFleet does.
async fn join(hub: &Cluster, member: &Cluster) -> Result<()> {
    let on_hub = member_namespace(member.name());
    let secrets: Api<Secret> = Api::namespaced(hub.client(), &on_hub);
    let token = wait_for("a token", DEADLINE, async || {
        let data = secrets.get("member-agent-token").await?.data.unwrap_or_default();
        Ok(data.get("token").cloned())
    });
    let token = STANDARD.encode(token.await?.0);
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": "hub-kubeconfig-secret", "namespace": NAMESPACE },
        "data": { "token": token },
    });
    apply(&member.client(), secret).await?;
    let membership = json!({
        "apiVersion": "cluster.kubernetes-fleet.io/v1beta1", "kind": "InternalMemberCluster",
        "metadata": { "name": member.name(), "namespace": on_hub },
        "spec": { "state": "Join", "heartbeatPeriodSeconds": 60 },
    });
    apply(&hub.client(), membership).await
}
