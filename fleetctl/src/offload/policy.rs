//! The member policy of an origin on the hub, which has to allow it addresses of its executors: otherwise P5 rejects what it exports.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
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

/// Longest time until the agents have brought to the hub what an administrator has just written.
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
        let used_with = |executor: &str, ranges: Vec<String>| match nodes.get(executor) {
            None => Executor { ranges, ..Executor::default() },
            Some(node) => Executor {
                ranges,
                earlier: node.ranges.clone(),
                namespaces: Some(node.offered.clone()),
                runs: node.runs(),
            },
        };
        let executor = used_with(name, split(&ranges::of(&hub, name).await?));
        let used = nodes.iter().filter(|(_, node)| node.is_used).map(|(other, _)| other);
        let names: BTreeSet<_> =
            accepted.iter().chain(used).filter(|other| *other != name).collect();
        let mut others = Vec::new();
        for other in names {
            let ranges = ranges::of(&hub, other).await?;
            let is_usable = ranges::check((origin, &own), (other, &ranges)).is_ok();
            let ranges = if is_usable { split(&ranges) } else { Vec::new() };
            others.push(used_with(other, ranges));
        }
        let (origin, name) = (origin.to_owned(), name.to_owned());
        Ok(Self { hub, origin, name, policy, executor, others })
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
        let Some(policy) = &self.policy else { return Ok(()) };
        if self.executor.ranges.is_empty() {
            bail!("the member policy of {name} has no ranges of its pods (cidrs)");
        }
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
        let (origin, name) = (&self.origin, &self.name);
        let Some(policy) = &self.policy else { return Ok(()) };
        let before = Allowance::of(&policy.data["data"]);
        let after = before.without(&self.executor, &self.others);
        if after != before
            && !dry_run
            && let Some(left) = self.left().await?
        {
            report(&format!(
                "{left} are left on {name}: the member policy of {origin} still allows their addresses. Once fleetctl offload status \
                 shows none, run this again"
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
        let data = after.data();
        if *after == Allowance::of(&policy.data["data"]) {
            report(&format!("Unchanged: the member policy of {} has {data}", self.origin));
            return Ok(());
        }
        if dry_run {
            report(&format!("Would set in the member policy of {}: {data}", self.origin));
            return Ok(());
        }
        let version = &policy.metadata.resource_version;
        let patch = json!({ "metadata": { "resourceVersion": version }, "data": data });
        let (patch, namespace) = (Patch::Merge(patch), member_namespace(&self.origin));
        let policies = api(self.hub.clone(), kinds::CONFIG_MAP, Some(&namespace));
        match policies.patch(MemberPolicy::NAME, &PatchParams::default(), &patch).await {
            Ok(_) => report(done),
            Err(kube::Error::Api(status)) if status.code == 409 => {
                bail!("it was changed meanwhile, run this again")
            }
            Err(error) => bail!("{}", one_line(&error)),
        }
        Ok(())
    }

    /// The Pods of the origin that are left on the executor, in words, once its agent has taken note that the executor is not accepted:
    /// until then more of them may come.
    async fn left(&self) -> Result<Option<String>> {
        let namespace = member_namespace(&self.origin);
        let noted = async {
            loop {
                let found =
                    find(&self.hub, kinds::VIRTUAL_NODE, Some(&namespace), &self.name).await?;
                let node = found.as_ref().map(node).transpose()?.map(|(_, node)| node);
                match node {
                    Some(node) if node.is_accepted => tokio::time::sleep(LOOK).await,
                    node => return anyhow::Ok(node),
                }
            }
        };
        Ok(match tokio::time::timeout(PATIENCE, noted).await {
            Err(_) => Some(format!("Pods of {}, whose agent has not taken note yet,", self.origin)),
            Ok(node) => match node?.map(|node| node.pods) {
                None | Some(Some(0)) => None,
                Some(Some(pods)) => Some(format!("{pods} Pods of {}", self.origin)),
                Some(None) => Some(format!("Pods of {}, whose number is not known,", self.origin)),
            },
        })
    }

    /// The namespaces that the executor offers, once its offer is on the hub: who offers and accepts at once is ahead of the agents.
    async fn offered(&self) -> Result<Option<Vec<String>>> {
        let namespace = member_namespace(&self.origin);
        let offered = async {
            loop {
                let found =
                    find(&self.hub, kinds::VIRTUAL_NODE, Some(&namespace), &self.name).await?;
                if let Some((_, node)) = found.as_ref().map(node).transpose()? {
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
    /// The ranges of its Pods, as they were when it made the offer.
    ranges: Vec<String>,
    /// Whether the origin accepts it.
    is_accepted: bool,
    /// Pods of the origin that are bound to it; `None` before its agent has counted them.
    pods: Option<i64>,
    /// Whether it is accepted, or was and still runs Pods.
    is_used: bool,
}

impl Node {
    /// Whether Pods of the origin run there, or may.
    fn runs(&self) -> bool {
        match self.pods {
            Some(pods) => pods > 0,
            None => self.is_accepted,
        }
    }
}

async fn nodes(hub: &Client, namespace: &str) -> Result<BTreeMap<String, Node>> {
    let nodes = api(hub.clone(), kinds::VIRTUAL_NODE, Some(namespace));
    match nodes.list(&ListParams::default()).await {
        Ok(nodes) => nodes.iter().map(node).collect(),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(BTreeMap::new()),
        Err(error) => bail!("list {}: {}", kinds::VIRTUAL_NODE.plural, one_line(&error)),
    }
}

/// # Errors
/// If it cannot be read: what is not known of it might be in use.
fn node(object: &DynamicObject) -> Result<(String, Node)> {
    let unreadable = || {
        format!(
            "{} {}",
            kinds::VIRTUAL_NODE.kind,
            object.metadata.name.as_deref().unwrap_or_default()
        )
    };
    let part = |name: &str| object.data[name].clone();
    let spec: VirtualNodeSpec = serde_json::from_value(part("spec")).with_context(unreadable)?;
    let status: Option<VirtualNodeStatus> =
        serde_json::from_value(part("status")).with_context(unreadable)?;
    let VirtualNodeStatus { accepted, pods, .. } = status.unwrap_or_default();
    let node = Node {
        offered: spec.terms.namespaces,
        ranges: spec.pod_cidrs,
        is_accepted: accepted,
        pods,
        is_used: accepted || pods.is_some_and(|pods| pods > 0),
    };
    Ok((spec.executor, node))
}
