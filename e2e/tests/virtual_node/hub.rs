//! The hub in the middle: it goes back in time, and it keeps members apart.

use std::time::Duration;

use anyhow::{Result, ensure};
use fleet_api::names::member_namespace;
use fleet_api::{ResourceKind, kinds};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::objects::api;
use fleet_testbed::played_node::{PlayedNode, remote};
use fleet_testbed::virtual_node::{agree, decide, node_of, offer};
use fleet_testbed::wait::wait_until;
use fleet_testbed::{Testbed, apply::apply, client, rbac};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, ListParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::parts::{SHOP, begin, count, never_two, pod, ready_node, remote_uids, runs};

/// Longer than it takes until an older state is believed.
const DEADLINE: Duration = Duration::from_mins(3);
const KINDS: [ResourceKind; 4] =
    [kinds::POD_EXPORT, kinds::POD_IMPORT, kinds::VIRTUAL_NODE, kinds::OFFLOAD_OFFER];

pub(crate) async fn story(testbed: &Testbed) -> Result<()> {
    let agents = begin(testbed, None).await?;
    let (east, west) = (testbed.member(0), testbed.member(1));
    agree(east, west, offer(east, SHOP, &json!({}))).await?;
    ready_node(east, &node_of(west), None).await?;
    let node = PlayedNode::for_others(west.client());
    a_hub_that_goes_back_in_time_stops_nothing(testbed, east, west).await?;
    members_read_nothing_of_each_other(testbed, east, west).await?;
    nothing_is_left(testbed, east, west).await?;
    never_two(node.end().await?)?;
    drop(agents);
    Ok(())
}

async fn start(east: &Cluster, west: &Cluster, name: &str) -> Result<()> {
    apply(&east.client(), pod(&node_of(west), name, &json!({}))).await?;
    runs(east, name, DEADLINE).await
}

/// Test 22: what is newer than the backup is written again, and no Pod is stopped because of it.
async fn a_hub_that_goes_back_in_time_stops_nothing(
    testbed: &Testbed,
    east: &Cluster,
    west: &Cluster,
) -> Result<()> {
    let Some(control_plane) = testbed.hub().control_plane() else { return Ok(()) };
    start(east, west, "old").await?;
    let saved = control_plane.save_store().await?;
    runs(east, "old", DEADLINE).await?;
    start(east, west, "new").await?;
    let before = remote_uids(west).await?;
    ensure!(before.len() == 2, "{before:?}");
    control_plane.restore_store(&saved).await?;
    wait_until("the hub has both Pods again", DEADLINE, async || {
        let both = [kinds::POD_EXPORT, kinds::POD_IMPORT];
        Ok(count(testbed.hub(), both[0]).await? == 2 && count(testbed.hub(), both[1]).await? == 2)
    })
    .await?;
    for name in ["old", "new"] {
        runs(east, name, DEADLINE).await?;
    }
    ensure!(remote_uids(west).await? == before, "a Pod was stopped");
    Ok(())
}

/// Test 29: with all rights of its agent, a member sees nothing of what another one exports or runs.
async fn members_read_nothing_of_each_other(
    testbed: &Testbed,
    east: &Cluster,
    west: &Cluster,
) -> Result<()> {
    for (member, other) in [(east, west), (west, east)] {
        let mut config = testbed.hub().config().clone();
        config.auth_info.impersonate = Some(rbac::member_on_hub(member.name()).user());
        let agent = client::client(&config).await?;
        for kind in KINDS {
            for (place, allowed) in [
                (Some(member_namespace(member.name())), true),
                (Some(member_namespace(other.name())), false),
                (None, false),
            ] {
                let all = api(agent.clone(), kind, place.as_deref());
                let answer = all.list(&ListParams::default()).await;
                let forbidden =
                    matches!(&answer, Err(kube::Error::Api(status)) if status.code == 403);
                ensure!(
                    if allowed { answer.is_ok() } else { forbidden },
                    "{} in {place:?} for {}: {answer:?}",
                    kind.plural,
                    member.name()
                );
            }
        }
    }
    Ok(())
}

async fn nothing_is_left(testbed: &Testbed, east: &Cluster, west: &Cluster) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(east.client(), SHOP);
    for pod in pods.list(&ListParams::default()).await?.items {
        pods.delete(&pod.name_any(), &DeleteParams::default()).await?;
    }
    decide(west, Value::Object(serde_json::Map::new())).await?;
    wait_until("nothing is left on the hub and in the executor", DEADLINE, async || {
        let mut left = remote(&west.client()).await?.len();
        for kind in [kinds::POD_EXPORT, kinds::POD_IMPORT, kinds::OFFLOAD_OFFER] {
            left += count(testbed.hub(), kind).await?;
        }
        Ok(left == 0)
    })
    .await
}
