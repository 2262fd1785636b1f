//! Pods of one member in another: what clusters need before their agents can do that, and what their administrators decide.

use anyhow::Result;
use fleet_api::kinds;
use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace};
use fleet_api::offload::CONSENT;
use futures::future::try_join_all;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::agents::AgentOptions;
use crate::apply::apply;
use crate::cluster::Cluster;
use crate::fleet::Fleet;
use crate::objects::edit;
use crate::{crds, member_policy, policies, rbac};

/// Ranges of the Pods of executors.
pub const RANGE: &str = "10.200.0.0/16";

/// Ranges of the Pods of origins.
const RANGE_OF_ORIGIN: &str = "10.100.0.0/16";

/// Definitions, rights and policies of a fleet whose first member lets its Pods run in the second one, as the charts bring them.
pub async fn prepare(fleet: &Fleet) -> Result<()> {
    prepare_with(fleet, RANGE_OF_ORIGIN, RANGE).await
}

/// The same where the Pods of origin and executor have addresses in these ranges, separated by commas.
pub async fn prepare_with(fleet: &Fleet, of_origin: &str, of_executor: &str) -> Result<()> {
    let hub = fleet.hub();
    crds::install(&hub.client(), &crds::load(&crds::OFFLOAD)?).await?;
    rbac::hub_offload().apply(&hub.client()).await?;
    rbac::hub_leases().apply(&hub.client()).await?;
    try_join_all(fleet.members().iter().map(async |member| {
        rbac::offload_on_hub(member.name()).apply(&hub.client()).await?;
        rbac::lease_on_hub(member.name()).apply(&hub.client()).await
    }))
    .await?;
    let (origin, executor) = (fleet.member(0), fleet.member(1));
    rbac::origin().apply(&origin.client()).await?;
    rbac::executor().apply(&executor.client()).await?;
    for (member, ranges) in [(origin, of_origin), (executor, of_executor)] {
        let namespace = member_namespace(member.name());
        member_policy::allow(&hub.client(), &namespace, ranges, ("*", "*")).await?;
    }
    // As `fleetctl offload accept` does: what the origin exports has addresses of its executor.
    let policy = (&*member_namespace(origin.name()), member_policy::NAME);
    let ranges = json!({ "data": { "offload-cidrs": of_executor } });
    edit(hub, kinds::CONFIG_MAP, policy, ranges).await?;
    guard(origin, "origin").await?;
    guard(executor, "executor").await
}

/// The policies that hold an agent to Pods of virtual nodes.
async fn guard(member: &Cluster, role: &str) -> Result<()> {
    let values =
        json!({ "memberLease": { "enabled": true }, "virtualNode": { role: { "enabled": true } } });
    let client = member.client();
    for policy in policies::render_member(&values).await? {
        apply(&client, policy).await?;
    }
    Ok(())
}

/// Switches it on in all agents.
pub fn options() -> AgentOptions {
    let on = |name: &str| (name.to_owned(), "true".to_owned());
    AgentOptions {
        environment: vec![on("MEMBER_LEASE")],
        of_agents: [
            (Agent::Hub, vec![on("VIRTUAL_NODES")]),
            (Agent::Member(0), vec![on("VIRTUAL_NODE_ORIGIN")]),
            (Agent::Member(1), vec![on("VIRTUAL_NODE_EXECUTOR")]),
        ]
        .into(),
        ..AgentOptions::default()
    }
}

/// Name of the virtual node that stands for a member.
pub fn node_of(executor: &Cluster) -> String {
    format!("fleet-{}", executor.name())
}

/// What an executor offers an origin for Pods in a namespace, with changes of the offer's fields.
pub fn offer(origin: &Cluster, namespace: &str, changes: &Value) -> Value {
    let mut offer = json!({
        "originSelector": { "clusters": [origin.name()] },
        "capacity": { "cpu": "20", "memory": "20Gi", "pods": 20 },
        "terms": { "namespaces": [namespace], "policyProfile": "Baseline" },
    });
    for (field, change) in changes.as_object().into_iter().flatten() {
        for (name, value) in change.as_object().into_iter().flatten() {
            offer[field.as_str()][name.as_str()] = value.clone();
        }
    }
    json!({ "offer": offer.to_string() })
}

/// Lets the administrators of both members agree on this offer.
pub async fn agree(origin: &Cluster, executor: &Cluster, offer: Value) -> Result<()> {
    decide(executor, offer).await?;
    decide(origin, json!({ format!("accept.{}", executor.name()): "" })).await
}

/// Lets the administrators of a member decide.
pub async fn decide(member: &Cluster, data: Value) -> Result<()> {
    let config = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": CONSENT, "namespace": SYSTEM_NAMESPACE }, "data": data,
    });
    apply(&member.client(), config).await
}
