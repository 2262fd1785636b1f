//! The hub agent, its Lease and the members have priority levels of their own on the hub.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use fleet_api::names::member_namespace;
use fleet_testbed::wait::wait_until;
use http::Request;
use k8s_openapi::api::flowcontrol::v1::{FlowSchema, PriorityLevelConfiguration};
use kube::api::ListParams;
use kube::client::Body;
use kube::{Api, Client};

use crate::Tests;
use crate::world::{EAST, World};

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/fleet-system/leases/hub-agent";
const EXPORTS: &str = "/apis/networking.fleet.azure.com/v1alpha1/internalserviceexports";

pub(crate) fn add(tests: &mut Tests) {
    tests.add("flows::the_hub_agent_and_members_are_told_apart", are_told_apart);
    tests.add("flows::the_hub_agent_comes_first", the_hub_agent_comes_first);
    tests.add("flows::each_member_is_a_flow_of_its_own", each_member_is_a_flow_of_its_own);
}

/// An API server names in each answer the flow schema that it has counted the request to.
async fn are_told_apart(world: &World) -> Result<()> {
    let schemas: Api<FlowSchema> = Api::all(world.admin.clone());
    let schemas = schemas.list(&ListParams::default()).await?;
    let names: BTreeMap<_, _> = schemas
        .into_iter()
        .filter_map(|schema| Some((schema.metadata.uid?, schema.metadata.name?)))
        .collect();
    let of_east =
        EXPORTS.replace("/internal", &format!("/namespaces/{}/internal", member_namespace(EAST)));
    for (who, client, path, wanted) in [
        ("the hub agent", &world.agent, LEASE, "hub-agent-lease"),
        ("the hub agent", &world.agent, EXPORTS, "hub-agent-hub"),
        ("the original", &world.original, EXPORTS, "hub-agent-hub"),
        ("a member", &world.east, &*of_east, "hub-agent-members"),
        ("a member without the right", &world.west, EXPORTS, "hub-agent-members"),
        ("a member that wants the Lease", &world.east, LEASE, "service-accounts"),
    ] {
        let what = format!("{path} of {who} belongs to {wanted}");
        wait_until(&what, crate::bounds::DEADLINE, async || {
            let uid = schema_of(client, path).await?;
            Ok(names.get(&uid).is_some_and(|name| name == wanted))
        })
        .await?;
    }
    Ok(())
}

async fn schema_of(client: &Client, path: &str) -> Result<String> {
    let answer = client.send(Request::get(path).body(Body::empty())?).await?;
    let header = answer.headers().get("x-kubernetes-pf-flowschema-uid");
    Ok(header.context("an answer without flow schema")?.to_str()?.to_owned())
}

async fn the_hub_agent_comes_first(world: &World) -> Result<()> {
    let levels: Api<PriorityLevelConfiguration> = Api::all(world.admin.clone());
    let shares = async |name: &str| -> Result<i32> {
        let limited = levels.get(name).await?.spec.context("a spec")?.limited;
        limited.and_then(|limited| limited.nominal_concurrency_shares).context("shares")
    };
    let (hub, members) = (shares("hub-agent-hub").await?, shares("hub-agent-members").await?);
    ensure!(hub > members, "{hub} shares of the hub agent, {members} of members");
    Ok(())
}

/// An API server shows no client which flow a request belongs to, so this is what it has taken for the schema: a request of another
/// user is another flow, also one that names no namespace, or that of another member.
async fn each_member_is_a_flow_of_its_own(world: &World) -> Result<()> {
    let schemas: Api<FlowSchema> = Api::all(world.admin.clone());
    let spec = schemas.get("hub-agent-members").await?.spec.context("a spec")?;
    let distinguisher = spec.distinguisher_method.map(|method| method.type_);
    ensure!(distinguisher.as_deref() == Some("ByUser"), "{distinguisher:?}");
    Ok(())
}
