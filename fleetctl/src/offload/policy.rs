//! The member policy of an origin on the hub, which has to allow it addresses of its executors: otherwise P5 rejects what it exports.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Result, bail};
use fleet_accumulator::one_line;
use fleet_api::kinds;
use fleet_api::names::member_namespace;
use fleet_api::offload::{VirtualNodeSpec, VirtualNodeStatus};
use fleet_model::objects::MemberPolicy;
use kube::Client;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use serde_json::json;

use super::allowance::{Allowance, Executor, split};
use super::ranges;
use crate::access::Contexts;
use crate::objects::{api, find};
use crate::output::report;

/// Longest time until an offer that was just made is on the hub.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause between two reads.
const LOOK: Duration = Duration::from_millis(500);

/// What the hub has of an origin, one executor, and the others that the origin uses.
pub(super) struct OriginPolicy {
    hub: Client,
    origin: String,
    name: String,
    /// None where the member is not restricted.
    policy: Option<DynamicObject>,
    executor: Executor,
    others: Vec<Executor>,
    /// Pods of the origin that are bound to the executor.
    pods: i64,
}

impl OriginPolicy {
    /// Reads it. `accepted` are the executors that the origin's administrators have accepted.
    ///
    /// # Errors
    /// If the hub does not answer, or does not let the user read it.
    pub(super) async fn read(
        contexts: &Contexts,
        accepted: &[String],
        (origin, name): (&str, &str),
    ) -> Result<Self> {
        let hub = contexts.connect(&contexts.hub).await?.write;
        let namespace = member_namespace(origin);
        let policy = find(&hub, kinds::CONFIG_MAP, Some(&namespace), MemberPolicy::NAME).await?;
        let own = policy.as_ref().map(ranges::in_policy).unwrap_or_default();
        let nodes = nodes(&hub, &namespace).await?;
        let offered = |executor: &str| nodes.get(executor).map(|node| node.offered.clone());
        let pods = nodes.get(name).map_or(0, |node| node.pods);
        let ranges = split(&ranges::of(&hub, name).await?);
        let executor = Executor { ranges, namespaces: offered(name) };
        let used = nodes.iter().filter(|(_, node)| node.is_used).map(|(other, _)| other);
        let names: BTreeSet<_> =
            accepted.iter().chain(used).filter(|other| *other != name).collect();
        let mut others = Vec::new();
        for other in names {
            let ranges = ranges::of(&hub, other).await?;
            let is_usable = ranges::check((origin, &own), (other, &ranges)).is_ok();
            let ranges = if is_usable { split(&ranges) } else { Vec::new() };
            others.push(Executor { ranges, namespaces: offered(other) });
        }
        let (origin, name) = (origin.to_owned(), name.to_owned());
        Ok(Self { hub, origin, name, policy, executor, others, pods })
    }

    /// Checks that the addresses of the executor are no other ones.
    ///
    /// # Errors
    /// One line with the reason, and what to do.
    pub(super) fn check(&self) -> Result<()> {
        let own = self.policy.as_ref().map(ranges::in_policy).unwrap_or_default();
        let executor = self.executor.ranges.join(",");
        ranges::check((&self.origin, &own), (&self.name, &executor))
    }

    /// Allows the origin addresses of the executor.
    ///
    /// # Errors
    /// One line with the reason.
    pub(super) async fn allow(mut self, dry_run: bool) -> Result<()> {
        let (origin, name) = (&self.origin, &self.name);
        if self.executor.ranges.is_empty() {
            bail!("the member policy of {name} has no ranges of its pods (cidrs)");
        }
        let Some(policy) = &self.policy else { return Ok(()) };
        if self.executor.namespaces.is_none() && !dry_run {
            self.executor.namespaces = self.offered().await?;
        }
        if self.executor.namespaces.is_none() {
            report(&format!(
                "{name} has no offer for {origin} on the hub. Once fleetctl offload status shows one, accept again: until then Services \
                 of {origin} that have Pods there are not exported (P5)"
            ));
        }
        let after = Allowance::of(&policy.data["data"]).with(&self.executor, &self.others);
        let done = format!("The member policy of {origin} allows it addresses of {name}");
        self.write(policy, &after, &done, dry_run).await
    }

    /// Allows the origin addresses of the executor no more, unless Pods have them.
    ///
    /// # Errors
    /// One line with the reason.
    pub(super) async fn forbid(self, dry_run: bool) -> Result<()> {
        let (origin, name, pods) = (&self.origin, &self.name, self.pods);
        let Some(policy) = &self.policy else { return Ok(()) };
        let before = Allowance::of(&policy.data["data"]);
        let after = before.without(&self.executor, &self.others);
        if pods > 0 && after != before {
            report(&format!(
                "{pods} Pods of {origin} are left on {name}: its member policy still allows their addresses. Once fleetctl offload \
                 status shows none, run this again"
            ));
            return Ok(());
        }
        let done =
            format!("The member policy of {origin} allows it no addresses of {name} any more");
        self.write(policy, &after, &done, dry_run).await
    }

    async fn write(
        &self,
        policy: &DynamicObject,
        after: &Allowance,
        done: &str,
        dry_run: bool,
    ) -> Result<()> {
        if *after == Allowance::of(&policy.data["data"]) {
            return Ok(());
        }
        let data = after.data();
        if dry_run {
            report(&format!("Would set in the member policy of {}: {data}", self.origin));
            return Ok(());
        }
        let version = &policy.metadata.resource_version;
        let patch = json!({ "metadata": { "resourceVersion": version }, "data": data });
        let (patch, namespace) = (Patch::Merge(patch), member_namespace(&self.origin));
        let policies = api(self.hub.clone(), kinds::CONFIG_MAP, Some(&namespace));
        let patched = policies.patch(MemberPolicy::NAME, &PatchParams::default(), &patch).await;
        patched.map_err(|error| anyhow::anyhow!("{}", one_line(&error)))?;
        report(done);
        Ok(())
    }

    /// The namespaces that the executor offers, once its offer is on the hub: who offers and accepts at once is ahead of the agents.
    async fn offered(&self) -> Result<Option<Vec<String>>> {
        let namespace = member_namespace(&self.origin);
        let offered = async {
            loop {
                let found =
                    find(&self.hub, kinds::VIRTUAL_NODE, Some(&namespace), &self.name).await?;
                if let Some((_, node)) = found.as_ref().and_then(node) {
                    return anyhow::Ok(node.offered);
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::time::timeout(PATIENCE, offered).await.ok().transpose()
    }
}

/// An executor as the hub shows it to an origin.
struct Node {
    /// The namespaces whose Pods it accepts.
    offered: Vec<String>,
    /// Pods of the origin that are bound to it.
    pods: i64,
    /// Whether it is accepted, or was and still runs Pods.
    is_used: bool,
}

async fn nodes(hub: &Client, namespace: &str) -> Result<BTreeMap<String, Node>> {
    let nodes = api(hub.clone(), kinds::VIRTUAL_NODE, Some(namespace));
    match nodes.list(&ListParams::default()).await {
        Ok(nodes) => Ok(nodes.iter().filter_map(node).collect()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(BTreeMap::new()),
        Err(error) => bail!("list {}: {}", kinds::VIRTUAL_NODE.plural, one_line(&error)),
    }
}

fn node(object: &DynamicObject) -> Option<(String, Node)> {
    let spec: VirtualNodeSpec = serde_json::from_value(object.data["spec"].clone()).ok()?;
    let status: VirtualNodeStatus =
        serde_json::from_value(object.data["status"].clone()).unwrap_or_default();
    let pods = status.pods.unwrap_or_default();
    let is_used = status.accepted || pods > 0;
    Some((spec.executor, Node { offered: spec.terms.namespaces, pods, is_used }))
}
