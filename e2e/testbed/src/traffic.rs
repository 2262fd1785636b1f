//! Traffic of imported Services: what clusters need before their agents direct it, and what administrators and owners ask for.

use anyhow::{Context, Result};
use fleet_api::traffic::FLEET_TRAFFIC;
use fleet_api::{ResourceKind, kinds};
use futures::future::try_join_all;
use serde_json::{Value, json};

use crate::agents::AgentOptions;
use crate::apply::apply;
use crate::cluster::Cluster;
use crate::fleet::Fleet;
use crate::objects::api;
use crate::{crds, rbac};

/// Definitions and rights of a fleet whose agents direct traffic, as the charts bring them, and the object of the fleet with this
/// specification.
pub async fn prepare(fleet: &Fleet, spec: &Value) -> Result<()> {
    let hub = fleet.hub().client();
    crds::install(&hub, &crds::load(&crds::TRAFFIC)?).await?;
    rbac::hub_traffic().apply(&hub).await?;
    rbac::hub_leases().apply(&hub).await?;
    try_join_all(fleet.members().iter().map(async |member| {
        rbac::traffic_on_hub(member.name()).apply(&hub).await?;
        rbac::lease_on_hub(member.name()).apply(&hub).await?;
        let client = member.client();
        crds::install(&client, &crds::load(&crds::MEMBER_TRAFFIC)?).await?;
        rbac::member_traffic().apply(&client).await
    }))
    .await?;
    apply(&hub, object(kinds::FLEET_TRAFFIC, (None, FLEET_TRAFFIC), spec)).await
}

/// Switches it on in all agents.
pub fn options() -> AgentOptions {
    let on = |name: &str| (name.to_owned(), "true".to_owned());
    let environment = ["MEMBER_LEASE", "TRAFFIC", "DERIVED_SELECTORS"].map(on).into();
    AgentOptions { environment, ..AgentOptions::default() }
}

/// Lets the owner of a Service in a cluster, or on the hub, ask for this.
pub async fn ask(
    cluster: &Cluster,
    (namespace, service): (&str, &str),
    spec: &Value,
) -> Result<()> {
    let name = (Some(namespace), service);
    apply(&cluster.client(), object(kinds::SERVICE_TRAFFIC, name, spec)).await
}

/// What is in force for a Service in a cluster, as its status has it.
pub async fn in_force(cluster: &Cluster, (namespace, service): (&str, &str)) -> Result<Value> {
    let all = api(cluster.client(), kinds::SERVICE_TRAFFIC, Some(namespace));
    Ok(all.get(service).await?.data["status"].take())
}

/// Lets an administrator ask for drains of a member.
pub async fn drain(hub: &Cluster, member: &str, drains: &Value) -> Result<()> {
    let spec = json!({ "drains": drains });
    apply(&hub.client(), object(kinds::MEMBER_TRAFFIC, (None, member), &spec)).await
}

/// What the hub agent has decided about a member.
pub async fn decided(hub: &Cluster, member: &str) -> Result<Value> {
    let all = api(hub.client(), kinds::MEMBER_TRAFFIC, None);
    Ok(all.get(member).await.with_context(|| format!("read what is decided about {member}"))?.data
        ["status"]
        .take())
}

fn object(kind: ResourceKind, (namespace, name): (Option<&str>, &str), spec: &Value) -> Value {
    json!({
        "apiVersion": kind.api_version(), "kind": kind.kind,
        "metadata": { "name": name, "namespace": namespace },
        "spec": spec,
    })
}
