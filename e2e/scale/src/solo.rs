//! One member agent in a cluster of its own: among many slices of which few are exported, and at rest.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fleet_api::{ResourceKind, kinds};
use fleet_runtime::clients::dynamic;
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::wait::wait_for;
use fleet_testbed::{Options, Testbed};
use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{DynamicObject, ListParams, PostParams};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::account::metrics;
use crate::member::NAMESPACE;

/// Slices of the cluster, each of a Service of its own, and how many of those are exported.
const SLICES: usize = 5000;
const EXPORTED: usize = 50;
const ENDPOINTS: usize = 10;
const IN_FLIGHT: usize = 16;
const REST: Duration = Duration::from_mins(1);
const PATIENCE: Duration = Duration::from_mins(3);

/// What was seen of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Solo {
    pub(crate) slices: usize,
    pub(crate) exported: usize,
    pub(crate) peak_rss: u64,
    pub(crate) rss: u64,
    /// Bytes of each program, hub agent first.
    pub(crate) program_bytes: [u64; 2],
    /// Bytes of its image, compressed, where `make image` has left one.
    pub(crate) image_bytes: [Option<u64>; 2],
    /// From the start of the process to the first 200 of its probe, hub agent first.
    pub(crate) ready_seconds: [f64; 2],
    /// Of a core, at rest, in percent; hub agent first.
    pub(crate) rest_percent: [f64; 2],
    /// Requests of both agents to both API servers in a minute at rest, watches included.
    pub(crate) requests_per_minute: f64,
}

/// Starts a hub and a member of its own.
pub(crate) async fn measure() -> Result<Solo> {
    let testbed = Testbed::start(Options::members(1).without_audit()).await?;
    let result = with(&testbed).await;
    testbed.explain(result).await
}

async fn with(testbed: &Testbed) -> Result<Solo> {
    testbed.user_namespace(NAMESPACE).await?;
    create(testbed, kinds::SERVICE, 0..EXPORTED, service).await?;
    create(testbed, kinds::ENDPOINT_SLICE, 0..SLICES, slice).await?;
    create(testbed, kinds::SERVICE_EXPORT, 0..EXPORTED, |_| json!({})).await?;
    let mut agents = Agents::start(testbed, &AgentOptions::default()).await?;
    let exports = dynamic(testbed.hub().client(), kinds::ENDPOINT_SLICE_EXPORT, None);
    wait_for("everything is exported", PATIENCE, async || {
        let found = exports.list(&ListParams::default()).await?.items.len();
        Ok((found == EXPORTED).then_some(()))
    })
    .await?;
    let mut ready_seconds = [0.0; 2];
    let both = [Agent::Hub, Agent::Member(0)];
    for (agent, seconds) in both.into_iter().zip(&mut ready_seconds) {
        let begin = Instant::now();
        agents.restart(agent).await?;
        *seconds = begin.elapsed().as_secs_f64();
    }
    sleep(REST / 4).await;
    let begin = (used(&agents)?, requests(testbed).await?);
    sleep(REST).await;
    let end = (used(&agents)?, requests(testbed).await?);
    let usage = agents.usage(Agent::Member(0))?;
    Ok(Solo {
        slices: SLICES,
        exported: EXPORTED,
        peak_rss: usage.peak_rss_bytes,
        rss: usage.rss_bytes,
        program_bytes: [program_bytes(&agents, both[0])?, program_bytes(&agents, both[1])?],
        image_bytes: both.map(image_bytes),
        ready_seconds,
        rest_percent: [0, 1].map(|at| (end.0[at] - begin.0[at]) / REST.as_secs_f64() * 100.0),
        requests_per_minute: end.1 - begin.1,
    })
}

fn program_bytes(agents: &Agents, agent: Agent) -> Result<u64> {
    Ok(std::fs::metadata(agents.program(agent)?)?.len())
}

/// Of the image beside this program's profile, in `target/image`.
fn image_bytes(agent: Agent) -> Option<u64> {
    let here = std::env::current_exe().ok()?;
    let images = here.parent()?.parent()?.join("image");
    Some(std::fs::metadata(images.join(agent.program()).with_extension("tar")).ok()?.len())
}

fn used(agents: &Agents) -> Result<[f64; 2]> {
    let used = |agent| anyhow::Ok(agents.usage(agent)?.cpu.as_secs_f64());
    Ok([used(Agent::Hub)?, used(Agent::Member(0))?])
}

/// Requests for kinds of the fleet and what it is made of: those of the agents, and none of Kubernetes' own components.
async fn requests(testbed: &Testbed) -> Result<f64> {
    let mut sum = 0.0;
    for cluster in testbed.clusters() {
        let metrics = metrics(cluster).await?;
        for group in ["networking.fleet.azure.com", "cluster.kubernetes-fleet.io"] {
            sum += metrics.sum("apiserver_request_total", &[("group", group)]);
        }
    }
    Ok(sum)
}

async fn create(
    testbed: &Testbed,
    kind: ResourceKind,
    numbers: std::ops::Range<usize>,
    body: fn(usize) -> Value,
) -> Result<()> {
    let api = dynamic(testbed.member(0).client(), kind, Some(NAMESPACE));
    let create = async |number: usize| {
        let mut object = body(number);
        object["apiVersion"] = kind.api_version().into();
        object["kind"] = kind.kind.into();
        object["metadata"]["name"] = format!("solo-{number}").into();
        let object: DynamicObject = serde_json::from_value(object)?;
        api.create(&PostParams::default(), &object).await.context(kind.kind)?;
        anyhow::Ok(())
    };
    stream::iter(numbers).map(create).buffer_unordered(IN_FLIGHT).try_collect::<Vec<()>>().await?;
    Ok(())
}

fn service(_: usize) -> Value {
    json!({ "spec": { "ports": [{ "name": "web", "port": 80, "targetPort": 8080 }] } })
}

fn slice(number: usize) -> Value {
    let ready = |last: usize| {
        let address = format!("10.{}.{}.{last}", number / 250, number % 250);
        json!({ "addresses": [address], "conditions": { "ready": true }, "nodeName": "node-1", "zone": "a" })
    };
    json!({
        "metadata": { "labels": { "kubernetes.io/service-name": format!("solo-{number}") } },
        "addressType": "IPv4",
        "endpoints": (1..=ENDPOINTS).map(ready).collect::<Vec<_>>(),
        "ports": [{ "name": "web", "protocol": "TCP", "port": 8080 }],
    })
}
