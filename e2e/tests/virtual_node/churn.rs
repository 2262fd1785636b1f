//! Pods come and go at random while links are cut and agents are killed. In the end each Pod has one remote Pod, and there is no other.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fleet_api::kinds;
use fleet_api::labels::OFFLOAD_ORIGIN_UID;
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::hub_ways::HubWays;
use fleet_testbed::objects::api;
use fleet_testbed::played_node::{PlayedNode, remote};
use fleet_testbed::random::Random;
use fleet_testbed::virtual_node::{agree, node_of, offer};
use fleet_testbed::wait::wait_until;
use fleet_testbed::{Testbed, apply::apply};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, ListParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;

use crate::parts::{SHOP, begin, is_ready, never_two, pod, ready_node};

/// For how many seconds Pods come and go.
const SECONDS: &str = "FLEET_CHURN_SECONDS";
const USUAL_SECONDS: u64 = 120;
/// How many there are at most.
const PODS: &str = "FLEET_CHURN_PODS";
const USUAL_PODS: usize = 60;
/// Pods that are deleted without waiting: as many as are believed to be left over at once.
const FORCED: usize = 5;
/// Longer than what is left over is kept for.
const DEADLINE: Duration = Duration::from_mins(15);
const AGENTS: [Agent; 3] = [Agent::Hub, Agent::Member(0), Agent::Member(1)];
/// Longest time that a link is cut for, in milliseconds.
const LONGEST_CUT: usize = 5000;

fn number<T: std::str::FromStr>(variable: &str, usual: T) -> T {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

pub(crate) async fn story(testbed: &Testbed) -> Result<()> {
    let (mut random, seed) = Random::from_env();
    eprintln!("seed {seed}");
    let ways = HubWays::of(testbed).await?;
    let mut agents = begin(testbed, Some(&ways)).await?;
    let (east, west) = (testbed.member(0), testbed.member(1));
    let capacity = json!({ "cpu": "2000", "memory": "2000Gi", "pods": 500 });
    agree(east, west, offer(east, SHOP, &json!({ "capacity": capacity }))).await?;
    ready_node(east, &node_of(west), None).await?;
    let node = PlayedNode::for_others(west.client());
    let mut churn = Churn { east, west, ways: &ways, made: 0, forced: 0, cut: Vec::new() };
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(number(SECONDS, USUAL_SECONDS)) {
        churn.step(&mut random, &mut agents).await?;
    }
    ways.iter().for_each(fleet_testbed::proxy::Proxy::open);
    for agent in AGENTS {
        agents.launch(agent)?;
    }
    agents.wait_ready().await?;
    let ended = Instant::now();
    eprintln!("{} Pods were made", churn.made);
    comes_to_rest(testbed, &churn).await?;
    eprintln!("at rest after {:?}", ended.elapsed());
    never_two(node.end().await?)?;
    drop(agents);
    Ok(())
}

struct Churn<'a> {
    east: &'a Cluster,
    west: &'a Cluster,
    ways: &'a HubWays,
    made: usize,
    forced: usize,
    /// Members whose links are cut, and until when.
    cut: Vec<(usize, Instant)>,
}

impl Churn<'_> {
    async fn step(&mut self, random: &mut Random, agents: &mut Agents) -> Result<()> {
        let now = Instant::now();
        self.cut.retain(|(member, until)| {
            let is_over = *until <= now;
            if is_over {
                self.ways.of_member(*member).open();
            }
            !is_over
        });
        match random.below(100) {
            0..60 => self.create(random).await?,
            60..90 => self.delete(random).await?,
            90..95 => {
                let member = random.below(2);
                let pause = Duration::from_millis(u64::try_from(random.below(LONGEST_CUT))?);
                match random.below(3) {
                    0 => self.ways.of_member(member).cut(),
                    1 => self.ways.of_member(member).freeze(),
                    _ => self.ways.of_member(member).shut(),
                }
                self.cut.push((member, now + pause));
            }
            95..97 => {
                let agent = AGENTS[random.below(AGENTS.len())];
                // It may have been killed before.
                let _ = agents.kill(agent);
            }
            _ => agents.launch(AGENTS[random.below(AGENTS.len())])?,
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        Ok(())
    }

    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.east.client(), SHOP)
    }

    /// Some have a name that another one had before.
    async fn create(&mut self, random: &mut Random) -> Result<()> {
        let most = number(PODS, USUAL_PODS);
        let names = self.pods().list_metadata(&ListParams::default()).await?;
        let name = format!("pod-{}", random.below(2 * most));
        if names.items.len() < most && names.items.iter().all(|pod| pod.name_any() != name) {
            apply(&self.east.client(), pod(&node_of(self.west), &name, &json!({}))).await?;
            self.made += 1;
        }
        Ok(())
    }

    /// Few without waiting: what is left over of those is kept for a minute, and of many for much longer.
    async fn delete(&mut self, random: &mut Random) -> Result<()> {
        let pods = self.pods().list_metadata(&ListParams::default()).await?.items;
        if pods.is_empty() {
            return Ok(());
        }
        let pod = &pods[random.below(pods.len())];
        let is_forced = random.below(40) == 0 && self.forced < FORCED;
        self.forced += usize::from(is_forced);
        let grace = if is_forced { 0 } else { 1 + u32::try_from(random.below(5))? };
        let deleted =
            self.pods().delete(&pod.name_any(), &DeleteParams::default().grace_period(grace)).await;
        match deleted {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            other => other.map(drop).context("delete a Pod"),
        }
    }

    /// Uids of the local Pods; nothing while one is not ready or is being deleted.
    async fn local(&self) -> Result<Option<BTreeSet<String>>> {
        let pods = self.pods().list(&ListParams::default()).await?.items;
        let waits = |pod: &Pod| !is_ready(pod) || pod.metadata.deletion_timestamp.is_some();
        Ok((!pods.iter().any(waits)).then(|| pods.iter().filter_map(Pod::uid).collect()))
    }
}

/// Test 28: remote Pods, imports, exports and local Pods are the same, and all are ready.
async fn comes_to_rest(testbed: &Testbed, churn: &Churn<'_>) -> Result<()> {
    wait_until("remote Pods, exports and local Pods are the same", DEADLINE, async || {
        let local = churn.local().await?.context("a Pod is not ready, or is being deleted")?;
        let of_hub = async |kind| {
            let all = api(testbed.hub().client(), kind, None);
            anyhow::Ok(all.list_metadata(&ListParams::default()).await?.items)
        };
        let exports: BTreeSet<_> =
            of_hub(kinds::POD_EXPORT).await?.iter().map(kube::ResourceExt::name_any).collect();
        let imports = of_hub(kinds::POD_IMPORT).await?.len();
        let remote = remote(&churn.west.client()).await?;
        let stands_for = |pod: &Pod| pod.labels().get(OFFLOAD_ORIGIN_UID).cloned();
        let there: BTreeSet<_> = remote.iter().filter_map(stands_for).collect();
        ensure!(remote.len() == there.len(), "a Pod has two remote Pods");
        let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).count();
        ensure!(
            exports == local && there == local && imports == local.len(),
            "{} Pods, {imports} imports; without a Pod: {} exports, {} remote; without an export {}, without a remote Pod {}",
            local.len(),
            only(&exports, &local),
            only(&there, &local),
            only(&local, &exports),
            only(&local, &there)
        );
        Ok(true)
    })
    .await
}
