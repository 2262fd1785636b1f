//! The charts in all clusters, as releases of Helm.

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fleet_testbed::admission::wait_seen;
use fleet_testbed::agents::Agent;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::edition::Edition;
use fleet_testbed::fleet::Fleet;
use fleet_testbed::helm::{Helm, Release};
use fleet_testbed::pod::NAMESPACE;
use fleet_testbed::released::VERSION;
use futures::future::try_join_all;
use serde_json::{Value, json};

use crate::additions;
use crate::members::{MEMBERS, NORTH};

/// The error of Helm where `policies.strict` was never set.
const STOPS: &str = "policies.strict is not set, and this release is older than the choice";

/// Installs, upgrades and rolls back the charts of the hub and of all members.
#[derive(Debug)]
pub(crate) struct Charts {
    helm: Helm,
}

impl Charts {
    pub(crate) async fn new() -> Result<Self> {
        Ok(Self { helm: Helm::v4().await? })
    }

    pub(crate) async fn install(&self, fleet: &Fleet, edition: &Edition) -> Result<()> {
        let releases = self.releases(fleet, edition)?;
        try_join_all(
            releases.iter().map(async |(release, values)| release.install(values, &[]).await),
        )
        .await?;
        Ok(())
    }

    /// Upgrades all, after Helm has stopped because the values of the release do not have `policies.strict`.
    pub(crate) async fn upgrade(&self, fleet: &Fleet, edition: &Edition) -> Result<()> {
        let mut releases = self.releases(fleet, edition)?;
        let (hub, values) = releases.first_mut().context("the hub has a release")?;
        let stopped = hub.upgrade(values, &[]).await;
        let stopped = stopped.err().context("Helm did not stop without policies.strict")?;
        ensure!(format!("{stopped:#}").contains(STOPS), "Helm stopped otherwise: {stopped:#}");
        values["policies"] = json!({ "strict": false });
        try_join_all(
            releases.iter().map(async |(release, values)| release.upgrade(values, &[]).await),
        )
        .await?;
        try_join_all(fleet.clusters().map(wait_seen)).await?;
        Ok(())
    }

    /// Upgrades the chart of one cluster to other values.
    pub(crate) async fn switch(
        &self,
        fleet: &Fleet,
        edition: &Edition,
        agent: Agent,
        on: bool,
    ) -> Result<()> {
        let (release, mut values) = self.release(fleet, edition, agent)?;
        let more = additions::values(agent, on);
        for (name, value) in more.as_object().into_iter().flatten() {
            values[name] = value.clone();
        }
        release.upgrade(&values, &[]).await?;
        wait_seen(fleet.cluster_of(agent)).await
    }

    /// Rolls the chart of one cluster back to the newest revision of the last release.
    pub(crate) async fn roll_back(
        &self,
        fleet: &Fleet,
        edition: &Edition,
        agent: Agent,
    ) -> Result<()> {
        let (release, _) = self.release(fleet, edition, agent)?;
        release.rollback(release.revision_of(VERSION).await?).await?;
        wait_seen(fleet.cluster_of(agent)).await
    }

    fn release<'a>(
        &'a self,
        fleet: &'a Fleet,
        edition: &Edition,
        agent: Agent,
    ) -> Result<(Release<'a>, Value)> {
        let position = match agent {
            Agent::Hub => 0,
            Agent::Member(member) => member + 1,
        };
        self.releases(fleet, edition)?.into_iter().nth(position).context("a release")
    }

    fn releases<'a>(
        &'a self,
        fleet: &'a Fleet,
        edition: &Edition,
    ) -> Result<Vec<(Release<'a>, Value)>> {
        let release = |cluster: &'a Cluster, name: &'static str| {
            let chart = edition.charts.join(name);
            self.helm.release(cluster.kubeconfig_path(), (NAMESPACE, name), chart)
        };
        let members = fleet.members().iter().map(|member| {
            anyhow::Ok((release(member, "member-agent"), member_values(fleet.hub(), member)?))
        });
        let hub = Ok((release(fleet.hub(), "hub-agent"), hub_values()));
        std::iter::once(hub).chain(members).collect()
    }
}

fn hub_values() -> Value {
    let members = MEMBERS.iter().chain([&NORTH]).map(|name| json!({ "name": name }));
    json!({
        "members": members.collect::<Value>(),
        "crds": { "membership": true },
        "extraArgs": election(),
    })
}

fn member_values(hub: &Cluster, member: &Cluster) -> Result<Value> {
    let authority = hub.ca_pem().context("the hub has an authority of its own")?;
    Ok(json!({
        "config": {
            "memberClusterName": member.name(),
            "hubURL": hub.server_url(),
            "hubCA": STANDARD.encode(authority),
        },
        // A derived Service that loses its exporters is deleted at once, and thus seen.
        "derivedServiceGracePeriod": "0s",
        "extraArgs": election(),
    }))
}

/// A Pod that waits for the Lease looks often.
fn election() -> Value {
    json!([
        "--leader-election-lease-duration=10s",
        "--leader-election-renew-deadline=8s",
        "--leader-election-retry-period=250ms",
        "--write-timeout=1s",
    ])
}
