//! What is on the hub of a member.

use anyhow::{Context, Result};
use fleet_api::kinds;
use fleet_api::names::member_namespace;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::objects::{api, find};
use kube::api::ListParams;
use serde_json::Value;

/// The hub and a member.
pub(crate) struct HubSide<'a> {
    pub(crate) hub: &'a Cluster,
    pub(crate) member: &'a Cluster,
}

impl HubSide<'_> {
    fn namespace(&self) -> String {
        member_namespace(self.member.name())
    }

    /// The record of the member's cluster.
    pub(crate) async fn report(&self) -> Result<Value> {
        let key = (self.namespace(), self.member.name());
        let found = find(self.hub, kinds::CLUSTER_REPORT, (&key.0, key.1)).await?;
        Ok(found.context("the member has recorded its cluster")?.data)
    }

    /// The export of a Service on the hub.
    pub(crate) async fn exported(&self, service: &str) -> Result<Option<Value>> {
        let all = api(self.hub.client(), kinds::EXPORTED_SERVICE, Some(&self.namespace()));
        let all = all.list(&ListParams::default()).await?.items;
        let mut all = all.into_iter().map(|exported| exported.data);
        Ok(all.find(|exported| exported["spec"]["service"]["name"] == service))
    }
}
