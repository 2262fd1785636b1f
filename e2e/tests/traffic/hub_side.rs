//! What administrators of the hub do, and see there.

use std::time::Duration;

use anyhow::{Context, Result};
use fleet_api::names::member_namespace;
use fleet_api::traffic::{FLEET_TRAFFIC, FleetTrafficPhase};
use fleet_api::{ResourceKind, kinds};
use fleet_testbed::apply::apply;
use fleet_testbed::fleet::Fleet;
use fleet_testbed::objects::api;
use fleet_testbed::wait::wait_until;
use fleet_testbed::{join, multicluster, traffic};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::SHOP;

/// The hub of a fleet.
pub(crate) struct HubSide<'a> {
    pub(crate) fleet: &'a Fleet,
    /// Whether agents of members end with it.
    pub(crate) restarts: bool,
    /// Whether members take part in the standard API.
    pub(crate) standard: bool,
}

impl HubSide<'_> {
    /// Definitions, rights, the object of the fleet, users' namespaces, and the members with new tokens: what a new hub needs.
    pub(crate) async fn prepare(&self) -> Result<()> {
        let (hub, folder) = (self.fleet.hub(), self.fleet.run().folder("agents")?);
        let client = hub.client();
        join::install_hub_crds(hub).await?;
        join::prepare_hub(hub, &folder).await?;
        join::namespace(&client, SHOP).await?;
        for member in self.fleet.members() {
            join::join_hub(hub, member.name(), &folder).await?;
        }
        if self.standard {
            multicluster::prepare(self.fleet).await?;
        }
        traffic::prepare(self.fleet, &json!({})).await
    }

    /// What members need beside the usual.
    pub(crate) async fn prepare_members(&self) -> Result<()> {
        for member in self.fleet.members() {
            join::namespace(&member.client(), SHOP).await?;
        }
        Ok(())
    }

    /// The incarnation of the hub.
    pub(crate) async fn incarnation(&self) -> Result<String> {
        let namespaces = Api::<Namespace>::all(self.fleet.hub().client());
        let uid = namespaces.get("kube-system").await?.metadata.uid.context("a uid")?;
        let fleet = self.cluster_wide(kinds::FLEET_TRAFFIC, FLEET_TRAFFIC).await?;
        let epoch = fleet.map_or(0, |fleet| fleet["status"]["epoch"].as_i64().unwrap_or_default());
        Ok(format!("{uid}/{epoch}"))
    }

    /// Waits until a member has published to the present hub all that it exports.
    pub(crate) async fn wait_published(&self, member: usize, deadline: Duration) -> Result<()> {
        let name = self.fleet.member(member).name();
        wait_until(&format!("{name} has published"), deadline, async || {
            let traffic = self.cluster_wide(kinds::MEMBER_TRAFFIC, name).await?;
            let complete =
                traffic.and_then(|it| it["status"]["complete"].as_str().map(str::to_owned));
            Ok(complete == Some(self.incarnation().await?))
        })
        .await
    }

    /// Waits until the hub has so many slices for an importer.
    pub(crate) async fn wait_distributed(
        &self,
        member: usize,
        count: usize,
        deadline: Duration,
    ) -> Result<()> {
        let namespace = member_namespace(self.fleet.member(member).name());
        wait_until(&format!("{count} slices for {namespace}"), deadline, async || {
            let all =
                api(self.fleet.hub().client(), kinds::ENDPOINT_SLICE_IMPORT, Some(&namespace));
            Ok(all.list(&ListParams::default()).await?.items.len() == count)
        })
        .await
    }

    /// What `fleetctl forget` writes.
    pub(crate) async fn forget(&self, member: usize) -> Result<()> {
        let (kind, name) = (kinds::MEMBER_TRAFFIC, self.fleet.member(member).name());
        let spec = json!({ "forgottenIn": self.incarnation().await? });
        let object = json!({
            "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": { "name": name }, "spec": spec,
        });
        apply(&self.fleet.hub().client(), object).await
    }

    /// Writes what the hub agent writes five minutes after a loss: it waits for members no longer. That agent must not run.
    pub(crate) async fn end_wait(&self) -> Result<()> {
        let fleets = api(self.fleet.hub().client(), kinds::FLEET_TRAFFIC, None);
        let settled = Patch::Merge(json!({ "status": { "phase": FleetTrafficPhase::Settled } }));
        fleets.patch_status(FLEET_TRAFFIC, &PatchParams::default(), &settled).await?;
        Ok(())
    }

    async fn cluster_wide(&self, kind: ResourceKind, name: &str) -> Result<Option<Value>> {
        let found = api(self.fleet.hub().client(), kind, None).get_opt(name).await?;
        Ok(found.map(|found| found.data))
    }
}
