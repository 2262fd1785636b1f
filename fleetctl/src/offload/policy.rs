//! The member policy of an origin on the hub, which has to allow it addresses of its executors: otherwise P5 rejects what it exports.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

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
        let used = nodes.iter().filter(|(_, node)| node.is_used()).map(|(other, _)| other);
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
            && let Some(left) = self.left(dry_run).await?
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
    /// until then more of them may come. A dry run changes nothing of which it could take note.
    async fn left(&self, dry_run: bool) -> Result<Option<String>> {
        let origin = &self.origin;
        let is_noted = |node: Option<&Node>| dry_run || node.is_none_or(|node| !node.is_accepted);
        let node = self.once(is_noted).await?;
        let is_noted = is_noted(node.as_ref());
        Ok(match node.map(|node| node.pods) {
            _ if !is_noted => {
                Some(format!("Pods of {origin}, whose agent has not taken note yet,"))
            }
            None | Some(Some(0)) => None,
            Some(Some(pods)) => Some(format!("{pods} Pods of {origin}")),
            Some(None) => Some(format!("Pods of {origin}, whose number is not known,")),
        })
    }

    /// The namespaces that the executor offers, once its offer is on the hub: who offers and accepts at once is ahead of the agents.
    async fn offered(&self) -> Result<Option<Vec<String>>> {
        Ok(self.once(|node| node.is_some()).await?.map(|node| node.offered))
    }

    /// The executor as the hub shows it, once it is like that, or after a while.
    async fn once(&self, is_so: impl Fn(Option<&Node>) -> bool) -> Result<Option<Node>> {
        let (namespace, until) = (member_namespace(&self.origin), Instant::now() + PATIENCE);
        loop {
            let found = find(&self.hub, kinds::VIRTUAL_NODE, Some(&namespace), &self.name).await?;
            let found = found.as_ref().map(node).transpose()?.map(|(_, node)| node);
            if is_so(found.as_ref()) || Instant::now() >= until {
                return Ok(found);
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// An executor as the hub shows it to an origin.
struct Node {
    /// The namespaces whose Pods it accepts.
    offered: Vec<String>,
    /// The ranges of its Pods, as they were when it made the offer.
    ranges: Vec<String>,
    /// Whether the origin accepts it, and has not given it up.
    is_accepted: bool,
    /// Pods of the origin that are bound to it; `None` before its agent has counted them.
    pods: Option<i64>,
}

impl Node {
    /// Whether Pods of the origin run there, or may.
    fn runs(&self) -> bool {
        match self.pods {
            Some(pods) => pods > 0,
            None => self.is_accepted,
        }
    }

    /// Whether it is accepted, or was and still runs Pods.
    fn is_used(&self) -> bool {
        self.is_accepted || self.runs()
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
    let name = object.metadata.name.as_deref().unwrap_or_default();
    let unreadable = || format!("{} {name}", kinds::VIRTUAL_NODE.kind);
    let part = |name: &str| object.data[name].clone();
    let spec: VirtualNodeSpec = serde_json::from_value(part("spec")).with_context(unreadable)?;
    let status: Option<VirtualNodeStatus> =
        serde_json::from_value(part("status")).with_context(unreadable)?;
    let VirtualNodeStatus { accepted, abandoned, pods, .. } = status.unwrap_or_default();
    let node = Node {
        offered: spec.terms.namespaces,
        ranges: spec.pod_cidrs,
        is_accepted: accepted && !abandoned,
        pods,
    };
    Ok((spec.executor, node))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn read(status: &Value) -> Result<Node> {
        let object = json!({
            "metadata": { "name": "west" },
            "spec": { "executor": "west", "phase": "Accepted", "terms": { "namespaces": ["shop"] },
                "capacity": { "cpu": "1", "memory": "1Gi", "pods": 5 } },
            "status": status,
        });
        Ok(node(&serde_json::from_value(object)?)?.1)
    }

    /// One that is given up stays accepted in its origin.
    #[test]
    fn pods_run_where_they_are_counted_or_may_come() {
        for (status, accepted, runs) in [
            (json!(null), false, false),
            (json!({ "accepted": true }), true, true),
            (json!({ "accepted": true, "pods": 0 }), true, false),
            (json!({ "accepted": true, "abandoned": true }), false, false),
            (json!({ "accepted": true, "abandoned": true, "pods": 2 }), false, true),
            (json!({ "accepted": false, "pods": 2 }), false, true),
        ] {
            let node = read(&status).unwrap();
            assert_eq!((node.is_accepted, node.runs()), (accepted, runs), "{status}");
        }
        let error = format!("{:#}", read(&json!({ "pods": "many" })).err().unwrap());
        assert!(error.starts_with("VirtualNode west: "), "{error}");
    }
}
