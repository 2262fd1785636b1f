//! A fleet of three clusters that has nothing but the charts in it: a hub, east and west.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fleet_testbed::agents::find_program;
use fleet_testbed::apply::apply;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::helm::{Helm, Release, chart};
use fleet_testbed::pod::NAMESPACE;
use fleet_testbed::wait::wait_for;
use fleet_testbed::{Bare, Options};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::admission::restricted_namespace;

pub(crate) const DEADLINE: Duration = Duration::from_mins(2);

/// The clusters, and the Helm of each: hub and west have Helm 4, east has Helm 3.
pub(crate) struct Fleet {
    bare: Bare,
    helm3: Helm,
    helm4: Helm,
}

impl Fleet {
    pub(crate) async fn start() -> Result<Self> {
        let bare = Bare::start(&["hub", "east", "west"], &Options::default().with_quotas()).await?;
        for cluster in bare.clusters() {
            apply(&cluster.client(), restricted_namespace()).await?;
        }
        Ok(Self { bare, helm3: Helm::v3().await?, helm4: Helm::v4().await? })
    }

    /// Runs a story in a fleet of its own, and keeps the logs of one that fails.
    pub(crate) async fn with(story: impl AsyncFnOnce(&Self) -> Result<()>) {
        let fleet = Self::start().await.unwrap();
        let result = story(&fleet).await;
        if result.is_err() {
            eprintln!("logs are kept in {}", fleet.bare().run().keep_logs().display());
        }
        result.unwrap();
    }

    pub(crate) fn bare(&self) -> &Bare {
        &self.bare
    }

    /// That of east, and that of the other clusters.
    pub(crate) fn helms(&self) -> [&Helm; 2] {
        [&self.helm3, &self.helm4]
    }

    pub(crate) fn hub(&self) -> &Cluster {
        &self.bare.clusters()[0]
    }

    pub(crate) fn east(&self) -> &Cluster {
        &self.bare.clusters()[1]
    }

    pub(crate) fn west(&self) -> &Cluster {
        &self.bare.clusters()[2]
    }

    /// The release of a chart, named like it.
    pub(crate) fn release<'a>(&'a self, cluster: &'a Cluster, name: &'a str) -> Release<'a> {
        let helm = if cluster.name() == "east" { &self.helm3 } else { &self.helm4 };
        helm.release(cluster.kubeconfig_path(), (NAMESPACE, name), chart(name))
    }

    /// Values of the member's chart.
    pub(crate) fn member_values(&self, member: &Cluster) -> Result<Value> {
        let authority = self.hub().ca_pem().context("the hub has an authority of its own")?;
        Ok(json!({
            "config": {
                "memberClusterName": member.name(),
                "hubURL": self.hub().server_url(),
                "hubCA": STANDARD.encode(authority),
            },
            "derivedServiceGracePeriod": "0s",
        }))
    }

    /// Carries the token that the hub's chart has made over to the member, as in its notes.
    pub(crate) async fn hand_token_over(&self, member: &Cluster) -> Result<()> {
        let home = format!("fleet-member-{}", member.name());
        let api: Api<Secret> = Api::namespaced(self.hub().client(), &home);
        let token = wait_for("a token", DEADLINE, async || {
            let data = api.get("member-agent-token").await?.data.unwrap_or_default();
            Ok(data.get("token").cloned())
        });
        self.hand_over(member, std::str::from_utf8(&token.await?.0)?).await
    }

    /// Puts a token into the Secret that the member's chart mounts.
    pub(crate) async fn hand_over(&self, member: &Cluster, token: &str) -> Result<()> {
        apply(
            &member.client(),
            json!({
                "apiVersion": "v1", "kind": "Secret",
                "metadata": { "name": "hub-kubeconfig-secret", "namespace": NAMESPACE },
                "data": { "token": STANDARD.encode(token) },
            }),
        )
        .await
    }

    /// The token in the Secret that the member's chart mounts.
    pub(crate) async fn token_of(&self, member: &Cluster) -> Result<String> {
        let api: Api<Secret> = Api::namespaced(member.client(), NAMESPACE);
        let data = api.get("hub-kubeconfig-secret").await?.data.unwrap_or_default();
        Ok(String::from_utf8(data.get("token").context("a token")?.0.clone())?)
    }

    /// Lets a member join with `fleetctl`, which keeps the token in a Secret there; the values for the member's chart.
    pub(crate) async fn join(&self, member: &Cluster) -> Result<Value> {
        let kubeconfigs = [self.hub(), member].map(Cluster::kubeconfig_path);
        let output = Command::new(find_program("fleetctl")?)
            .args(["join", member.name(), "--secret"])
            .env("KUBECONFIG", std::env::join_paths(kubeconfigs)?)
            .kill_on_drop(true)
            .output()
            .await?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "fleetctl join: {said}");
        Ok(serde_saphyr::from_str(std::str::from_utf8(&output.stdout)?)?)
    }

    /// The API servers have refused the agents nothing: the charts' rights suffice.
    pub(crate) fn nothing_was_refused(&self) -> Result<()> {
        let mut asked = 0;
        for cluster in self.bare.clusters() {
            let log = cluster.audit_log_path().context("an audit log")?;
            for line in std::fs::read_to_string(log)?.lines() {
                // The last line may be half written.
                let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
                let user = event["user"]["username"].as_str().unwrap_or_default();
                if !user.starts_with("system:serviceaccount:fleet-") {
                    continue;
                }
                asked += 1;
                ensure!(event["responseStatus"]["code"] != 403, "{}: {event}", cluster.name());
            }
        }
        ensure!(asked > 0, "the agents asked for nothing");
        Ok(())
    }
}
