//! Links that are cut for longer than anything waits: of the origin, and of the executor.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fleet_api::kinds;
use fleet_api::names::member_namespace;
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::hub_ways::HubWays;
use fleet_testbed::objects::find;
use fleet_testbed::played_node::{NODE, PlayedNode, remote};
use fleet_testbed::virtual_node::{agree, decide, node_of, offer};
use fleet_testbed::wait::{wait_for, wait_until};
use fleet_testbed::{Testbed, apply::apply};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::DeleteParams;
use serde_json::json;

use crate::parts::{
    DEADLINE, SHOP, VIRTUAL, addresses, begin, count, deployment, is_ready, never_two, pod,
    pods_of, ready_node, remote_uids, runs, serve, uids,
};

/// Seconds after which Kubernetes takes Pods from a node that is not ready.
pub(crate) const TOLERATED: u32 = 10;
/// Longer than it takes until a cut is noticed everywhere, and what follows from it has happened.
const LONG: Duration = Duration::from_mins(4);
/// Pods that stay whatever becomes of their node.
const STAYING: &str = "staying";
/// Pods that Kubernetes replaces elsewhere.
const LEAVING: &str = "leaving";
const EACH: usize = 2;
/// Seconds after which the executor stops Pods that it has no sign for.
const STOP_AFTER: u64 = 60;
/// Metrics of the agents: states of sources, and Pods on virtual nodes.
const STATE: &str = "fleet_accumulator_source_state{";
const PODS: &str = "fleet_virtual_node_pods{";
/// A sign of life is no older than that when the link is cut, and is looked for every second.
const RENEWAL: Duration = Duration::from_secs(12);

pub(crate) async fn story(testbed: &Testbed) -> Result<()> {
    let ways = HubWays::of(testbed).await?;
    let mut agents = begin(testbed, Some(&ways)).await?;
    let (east, west) = (testbed.member(0), testbed.member(1));
    agree(east, west, offer(east, SHOP, &json!({}))).await?;
    ready_node(east, &node_of(west), None).await?;
    let far = PlayedNode::for_others(west.client());
    let near = PlayedNode::registered(east.client(), &format!("app={LEAVING}"));
    near.schedule_on(&node_of(west));
    a_pod_that_is_bound_in_a_short_cut_starts(testbed, &ways, &agents).await?;
    both_run(east, west).await?;
    the_origin_is_cut_off(testbed, &ways, &near).await?;
    scaled_to_none(testbed, west).await?;
    what_is_to_stop_ends_without_a_link(testbed, &ways).await?;
    an_agent_that_starts_without_the_hub_stops_what_is_to_stop(testbed, &ways, &mut agents).await?;
    never_two(far.end().await?)?;
    drop((agents, near));
    Ok(())
}

/// For so short that the virtual node does not notice, and long enough that what is known of exports is stale: nothing is decided
/// about the Pod while that is so, and nothing changes when it is known again.
async fn a_pod_that_is_bound_in_a_short_cut_starts(
    testbed: &Testbed,
    ways: &HubWays,
    agents: &Agents,
) -> Result<()> {
    let (east, west) = (testbed.member(0), testbed.member(1));
    ways.of_member(0).shut();
    wait_until("what the origin knows of exports is stale", DEADLINE, async || {
        let metrics = agents.metrics(Agent::Member(0)).await?;
        let mut states = metrics.lines().filter(|line| line.starts_with(STATE));
        let is_stale = |line: &str| line.contains("\"PodExport\"") && line.contains("\"stale\"");
        Ok(states.any(|line| is_stale(line) && line.ends_with(" 1")))
    })
    .await?;
    apply(&east.client(), pod(&node_of(west), "short", &json!({}))).await?;
    wait_until("the origin has seen the Pod", DEADLINE, async || {
        let metrics = agents.metrics(Agent::Member(0)).await?;
        let mut pods = metrics.lines().filter(|line| line.starts_with(PODS));
        Ok(pods.any(|line| line.ends_with(" 1")))
    })
    .await?;
    ways.of_member(0).open();
    runs(east, "short", DEADLINE).await?;
    let pods: Api<Pod> = Api::namespaced(east.client(), SHOP);
    pods.delete("short", &DeleteParams::default()).await?;
    wait_until("the Pod is gone", DEADLINE, async || Ok(pods.get_opt("short").await?.is_none()))
        .await
}

async fn both_run(east: &Cluster, west: &Cluster) -> Result<()> {
    let staying = json!({ "nodeName": node_of(west), "tolerations": [{ "operator": "Exists" }] });
    let leaving = json!({ "tolerations": [{ "key": VIRTUAL, "operator": "Exists" }] });
    serve(east, STAYING).await?;
    for (name, spec) in [(STAYING, staying), (LEAVING, leaving)] {
        apply(&east.client(), deployment(name, EACH, &spec)).await?;
        all_ready(east, name).await?;
    }
    Ok(())
}

async fn all_ready(east: &Cluster, deployment: &str) -> Result<()> {
    wait_until(&format!("the Pods of {deployment} are ready"), DEADLINE, async || {
        let pods = pods_of(east, deployment).await?;
        Ok(pods.iter().filter(|pod| is_ready(pod)).count() == EACH)
    })
    .await
}

/// Uids of remote Pods, with how often their containers have started.
async fn starts(west: &Cluster) -> Result<BTreeSet<(String, i32)>> {
    let pods = remote(&west.client()).await?;
    let of = |pod: Pod| {
        let statuses = pod.status.and_then(|status| status.container_statuses);
        let restarts = statuses.into_iter().flatten().map(|one| one.restart_count).sum();
        (pod.metadata.uid.unwrap_or_default(), restarts)
    };
    Ok(pods.into_iter().map(of).collect())
}

/// Tests 19 and 20: Pods are not ready and get no traffic, and nothing happens to the remote ones. Kubernetes replaces those that do
/// not tolerate it; their originals end when the link works again, and the others are ready as if nothing had been. A Pod that is bound
/// meanwhile starts then.
async fn the_origin_is_cut_off(testbed: &Testbed, ways: &HubWays, near: &PlayedNode) -> Result<()> {
    let (east, west) = (testbed.member(0), testbed.member(1));
    let (before, staying) = (starts(west).await?, uids(&pods_of(east, STAYING).await?));
    ensure!(before.len() == 2 * EACH, "{before:?}");
    near.schedule_on(NODE);
    let cut = Instant::now();
    ways.of_member(0).shut();
    wait_until("the Pods are not ready and get no traffic", LONG, async || {
        let pods = pods_of(east, STAYING).await?;
        Ok(!pods.iter().any(is_ready) && addresses(east, STAYING).await?.is_empty())
    })
    .await?;
    eprintln!("not ready {:?} after the cut", cut.elapsed());
    wait_until("Kubernetes has replaced those that do not tolerate it", LONG, async || {
        let pods = pods_of(east, LEAVING).await?;
        let is_here = |pod: &&Pod| {
            pod.spec.as_ref().is_some_and(|spec| spec.node_name.as_deref() == Some(NODE))
        };
        let ending = |pod: &&Pod| pod.metadata.deletion_timestamp.is_some();
        let here = pods.iter().filter(is_here).filter(|pod| is_ready(pod)).count();
        Ok(here == EACH && pods.iter().filter(ending).count() == EACH)
    })
    .await?;
    eprintln!("replaced {:?} after the cut", cut.elapsed());
    ensure!(starts(west).await? == before, "a remote Pod was stopped or started again");
    apply(&east.client(), pod(&node_of(west), "meanwhile", &json!({}))).await?;

    ways.of_member(0).open();
    let opened = Instant::now();
    all_ready(east, STAYING).await?;
    eprintln!("ready {:?} after the link works again", opened.elapsed());
    runs(east, "meanwhile", DEADLINE).await?;
    let pods: Api<Pod> = Api::namespaced(east.client(), SHOP);
    pods.delete("meanwhile", &DeleteParams::default()).await?;
    ensure!(uids(&pods_of(east, STAYING).await?) == staying, "other Pods than before");
    wait_until("the originals have ended everywhere", LONG, async || {
        let local = pods_of(east, LEAVING).await?.len();
        let exports = count(testbed.hub(), kinds::POD_EXPORT).await?;
        Ok(local == EACH && exports == EACH && remote_uids(west).await?.len() == EACH)
    })
    .await?;
    let after = starts(west).await?;
    ensure!(after.is_subset(&before), "{after:?} of {before:?}");
    Ok(())
}

/// Deployments would replace what ends.
async fn scaled_to_none(testbed: &Testbed, west: &Cluster) -> Result<()> {
    let east = testbed.member(0);
    for name in [STAYING, LEAVING] {
        apply(&east.client(), deployment(name, 0, &json!({}))).await?;
    }
    wait_until("their Pods are gone", DEADLINE, async || {
        let exports = count(testbed.hub(), kinds::POD_EXPORT).await?;
        Ok(exports == 0 && remote_uids(west).await?.is_empty())
    })
    .await
}

/// By the terms of the test before. A process that starts has listed nothing of the hub, and its origin counts on it all the same.
async fn an_agent_that_starts_without_the_hub_stops_what_is_to_stop(
    testbed: &Testbed,
    ways: &HubWays,
    agents: &mut Agents,
) -> Result<()> {
    let (east, west) = (testbed.member(0), testbed.member(1));
    apply(&east.client(), pod(&node_of(west), "orphan", &json!({}))).await?;
    runs(east, "orphan", DEADLINE).await?;
    ways.of_member(1).shut();
    agents.kill(Agent::Member(1))?;
    agents.launch(Agent::Member(1))?;
    let launched = Instant::now();
    wait_until("the new process has stopped the Pod", LONG, async || {
        Ok(remote_uids(west).await?.is_empty())
    })
    .await?;
    eprintln!("stopped {:?} after the start of a process without a link", launched.elapsed());
    ways.of_member(1).open();
    let pods: Api<Pod> = Api::namespaced(east.client(), SHOP);
    pods.delete("orphan", &DeleteParams::default()).await?;
    wait_until("nothing is left of it", LONG, async || {
        Ok(pods.get_opt("orphan").await?.is_none()
            && count(testbed.hub(), kinds::POD_EXPORT).await? == 0
            && count(testbed.hub(), kinds::POD_IMPORT).await? == 0)
    })
    .await
}

/// Test 27: the executor is cut off, and stops the Pod by itself. Its origin removes it when that is certain, and not before.
async fn what_is_to_stop_ends_without_a_link(testbed: &Testbed, ways: &HubWays) -> Result<()> {
    let (east, west) = (testbed.member(0), testbed.member(1));
    let disconnect = json!({ "mode": "StopAfter", "seconds": STOP_AFTER });
    decide(west, offer(east, SHOP, &json!({ "terms": { "disconnect": disconnect } }))).await?;
    let node = member_namespace(east.name());
    wait_until("the origin knows the terms", DEADLINE, async || {
        let node = find(testbed.hub(), kinds::VIRTUAL_NODE, (&node, west.name())).await?;
        Ok(node.context("a VirtualNode")?.data["spec"]["terms"]["disconnect"] == disconnect)
    })
    .await?;
    apply(&east.client(), pod(&node_of(west), "single", &json!({}))).await?;
    runs(east, "single", DEADLINE).await?;

    let cut = Instant::now();
    ways.of_member(1).shut();
    let pods: Api<Pod> = Api::namespaced(east.client(), SHOP);
    pods.delete("single", &DeleteParams::default()).await?;
    wait_until("the executor has stopped the Pod", LONG, async || {
        Ok(remote_uids(west).await?.is_empty())
    })
    .await?;
    let stopped = cut.elapsed();
    ensure!(pods.get_opt("single").await?.is_some(), "it was removed before it had ended");
    wait_for("the origin has removed the Pod", LONG, async || {
        Ok(pods.get_opt("single").await?.is_none().then_some(()))
    })
    .await?;
    let removed = cut.elapsed();
    eprintln!("stopped {stopped:?} after the cut, removed after {removed:?}");
    let (least, margin) = (Duration::from_secs(STOP_AFTER), Duration::from_mins(1));
    ensure!(stopped + RENEWAL >= least, "stopped after {stopped:?}");
    ensure!(removed + RENEWAL >= least + margin, "removed after {removed:?}");

    ways.of_member(1).open();
    wait_until("nothing is left of it", LONG, async || {
        Ok(count(testbed.hub(), kinds::POD_EXPORT).await? == 0
            && count(testbed.hub(), kinds::POD_IMPORT).await? == 0)
    })
    .await
}
