//! What `fleetctl doctor` finds of definitions that lack something which the standard API needs, on real API servers.

use anyhow::{Context, Result};
use fleet_testbed::Testbed;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::objects::{edit, find};
use serde_json::{Value, json};

use crate::doctor::{DEFINITION, finds, is_sound};
use crate::tool::Tool;

/// Each is mended.
pub(crate) async fn definitions_that_lack_something_are_found(
    testbed: &Testbed,
    tool: &Tool,
) -> Result<()> {
    let (hub, east) = (testbed.hub(), testbed.member(0));
    let older = Changed::by(east, "serviceimports.multicluster.x-k8s.io", |version| {
        let status = &mut version["schema"]["openAPIV3Schema"]["properties"]["status"];
        forget(&mut status["properties"], &["endpointSliceObjects"]);
    });
    let older = older.await?;
    let words =
        ["1 warnings", "member-1 slice-objects  the definition", "no status.endpointSliceObjects"];
    finds(tool, 0, &words).await?;
    older.mend().await?;
    is_sound(tool).await?;

    let original = Changed::by(hub, "endpointsliceexports.networking.fleet.azure.com", |version| {
        let spec = &mut version["schema"]["openAPIV3Schema"]["properties"]["spec"];
        let endpoint = &mut spec["properties"]["endpoints"]["items"]["properties"];
        forget(endpoint, &["hostname", "zone"]);
    });
    let original = original.await?;
    let words = ["hub endpoint-details", "without host names and zones", "hub hub-kinds"];
    finds(tool, 0, &words).await?;
    original.mend().await?;
    is_sound(tool).await
}

/// The agents wait for it meanwhile.
pub(crate) async fn a_kind_that_the_hub_does_not_serve_is_found(
    hub: &Cluster,
    tool: &Tool,
) -> Result<()> {
    let name = "resolvedservices.multicluster.networking.fleet.azure.com";
    let gone = Changed::by(hub, name, |version| version["served"] = json!(false)).await?;
    finds(tool, 1, &["hub hub-definitions  the hub does not serve ResolvedService:"]).await?;
    gone.mend().await?;
    is_sound(tool).await
}

fn forget(fields: &mut Value, names: &[&str]) {
    for name in names {
        fields.as_object_mut().and_then(|fields| fields.remove(*name));
    }
}

/// A definition that is another one for a while.
struct Changed<'a> {
    cluster: &'a Cluster,
    name: &'a str,
    versions: Value,
}

impl<'a> Changed<'a> {
    async fn by(cluster: &'a Cluster, name: &'a str, change: impl Fn(&mut Value)) -> Result<Self> {
        let found = find(cluster, DEFINITION, ("", name)).await?.context("the definition")?;
        let own = Self { cluster, name, versions: found.data["spec"]["versions"].clone() };
        let mut versions = own.versions.clone();
        versions.as_array_mut().into_iter().flatten().for_each(change);
        own.write(&versions).await?;
        Ok(own)
    }

    async fn mend(self) -> Result<()> {
        self.write(&self.versions).await
    }

    async fn write(&self, versions: &Value) -> Result<()> {
        let change = json!({ "spec": { "versions": versions } });
        edit(self.cluster, DEFINITION, ("", self.name), change).await.map(drop)
    }
}
