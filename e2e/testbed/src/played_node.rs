//! A node without containers: Pods that are bound to it look as if they ran, and end when they are deleted. What it has seen of
//! each shows whether one Pod was ever two.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fleet_api::labels::{OFFLOAD_ORIGIN, OFFLOAD_ORIGIN_UID};
use fleet_runtime::clock::Clock;
use futures::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Binding, Node, ObjectReference, Pod};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client, ResourceExt as _};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// Name of the node.
pub const NODE: &str = "played";
/// Namespace of the Leases of nodes.
const LEASES: &str = "kube-node-lease";
/// Least pause between two looks.
const PAUSE: Duration = Duration::from_millis(20);
/// Time between two renewals of the node's Lease.
const RENEWAL: Duration = Duration::from_secs(5);
/// Pods that are looked after at a time.
const AT_A_TIME: usize = 16;

/// Every Pod that was seen: the uid of the Pod that it stands for, or else its own, and its own uids.
pub type Seen = BTreeMap<String, BTreeSet<String>>;

/// A node that is played until it is dropped or [ended](Self::end).
#[derive(Debug)]
pub struct PlayedNode {
    stop: Arc<AtomicBool>,
    target: Arc<Mutex<String>>,
    task: JoinHandle<Seen>,
}

impl PlayedNode {
    /// Runs the Pods that a cluster runs for others. There is no object for the node.
    pub fn for_others(client: Client) -> Self {
        Self::start(client, OFFLOAD_ORIGIN, false)
    }

    /// Runs Pods with this label selector, as a node that Kubernetes knows and takes for ready.
    pub fn registered(client: Client, selector: &str) -> Self {
        Self::start(client, selector, true)
    }

    fn start(client: Client, selector: &str, is_registered: bool) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let target = Arc::new(Mutex::new(NODE.to_owned()));
        let player = Player {
            client,
            pods: ListParams::default().labels(selector),
            is_registered,
            target: Arc::clone(&target),
            addresses: AtomicU16::new(1),
        };
        let task = tokio::spawn(player.run(Arc::clone(&stop)));
        Self { stop, target, task }
    }

    /// Pods that no node has are bound to this one from now on, as a scheduler would do.
    pub fn schedule_on(&self, node: &str) {
        node.clone_into(&mut self.target.lock());
    }

    /// Ends it. Returns what it has seen.
    pub async fn end(mut self) -> Result<Seen> {
        self.stop.store(true, Ordering::Relaxed);
        (&mut self.task).await.context("the played node has panicked")
    }
}

impl Drop for PlayedNode {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Player {
    client: Client,
    pods: ListParams,
    is_registered: bool,
    target: Arc<Mutex<String>>,
    addresses: AtomicU16,
}

impl Player {
    /// Servers are restarted and asked for much in tests: what fails is done in the next round.
    async fn run(self, stop: Arc<AtomicBool>) -> Seen {
        let (mut seen, mut renewed) = (Seen::new(), None);
        while !stop.load(Ordering::Relaxed) {
            let begin = Instant::now();
            if self.is_registered
                && renewed.is_none_or(|at: Instant| at.elapsed() >= RENEWAL)
                && self.renew().await.inspect_err(complain).is_ok()
            {
                renewed = Some(begin);
            }
            let _ = self.round(&mut seen).await.inspect_err(complain);
            tokio::time::sleep(PAUSE.max(begin.elapsed())).await;
        }
        seen
    }

    async fn round(&self, seen: &mut Seen) -> Result<()> {
        let all: Api<Pod> = Api::all(self.client.clone());
        let pods = all.list(&self.pods).await?.items;
        for pod in &pods {
            let uid = pod.uid().unwrap_or_default();
            let stands_for = pod.labels().get(OFFLOAD_ORIGIN_UID).unwrap_or(&uid).clone();
            seen.entry(stands_for).or_default().insert(uid);
        }
        let looked_after =
            futures::stream::iter(&pods).for_each_concurrent(AT_A_TIME, async |pod| {
                if let Err(error) = self.look_after(pod).await
                    && !is_gone_or_changed(&error)
                {
                    complain(&error.context(pod.name_any()));
                }
            });
        looked_after.await;
        Ok(())
    }

    async fn look_after(&self, pod: &Pod) -> Result<()> {
        let pods: Api<Pod> =
            Api::namespaced(self.client.clone(), &pod.namespace().unwrap_or_default());
        let (name, spec) = (pod.name_any(), pod.spec.as_ref().context("a spec")?);
        let node = spec.node_name.as_deref();
        if pod.metadata.deletion_timestamp.is_some() {
            if node.is_none_or(|node| node == NODE) {
                end(&pods, pod, &name).await?;
            }
        } else if spec.scheduling_gates.is_some() {
            // It waits for another client.
        } else if node.is_none() {
            let target = self.target.lock().clone();
            bind(&pods, &name, &target).await?;
        } else if node == Some(NODE) && pod.status.as_ref().is_some_and(|it| it.pod_ip.is_none()) {
            run(&pods, pod, &self.address()).await?;
        }
        Ok(())
    }

    fn address(&self) -> String {
        let [high, low] = self.addresses.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        format!("10.200.{high}.{low}")
    }

    /// Keeps Kubernetes from taking the node for dead.
    async fn renew(&self) -> Result<()> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        if nodes.get_opt(NODE).await?.is_none() {
            let node = serde_json::from_value(json!({ "metadata": { "name": NODE } }))?;
            nodes.create(&PostParams::default(), &node).await?;
        }
        let time = now();
        let ready = json!({ "status": { "conditions": [{
            "type": "Ready", "status": "True", "reason": "Played", "message": "",
            "lastHeartbeatTime": time, "lastTransitionTime": time,
        }] } });
        nodes.patch_status(NODE, &PatchParams::default(), &Patch::Strategic(ready)).await?;
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), LEASES);
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": NODE },
            "spec": {
                "holderIdentity": NODE, "leaseDurationSeconds": 40,
                "renewTime": format!("{:.6}", Clock::system().now()),
            },
        });
        let params = PatchParams::apply("played-node").force();
        leases.patch(NODE, &params, &Patch::Apply(lease)).await?;
        Ok(())
    }
}

/// A kubelet reports how a Pod has ended before its object goes.
async fn end(pods: &Api<Pod>, pod: &Pod, name: &str) -> Result<()> {
    let status = pod.status.clone().unwrap_or_default();
    let mut conditions = status.conditions.iter().flatten();
    let is_evicted = conditions.any(|one| one.type_ == "DisruptionTarget" && one.status == "True");
    if is_evicted && status.phase.as_deref() == Some("Running") {
        let failed = json!({ "status": { "phase": "Failed" } });
        pods.patch_status(name, &PatchParams::default(), &Patch::Merge(failed)).await?;
    }
    let preconditions = Some(Preconditions { uid: pod.uid(), resource_version: None });
    let now = DeleteParams { preconditions, ..DeleteParams::default().grace_period(0) };
    pods.delete(name, &now).await?;
    Ok(())
}

/// Binds a Pod to a node.
pub async fn bind(pods: &Api<Pod>, name: &str, node: &str) -> Result<()> {
    let target = ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Node".to_owned()),
        name: Some(node.to_owned()),
        ..ObjectReference::default()
    };
    let mut binding = Binding { target, ..Binding::default() };
    binding.metadata.name = Some(name.to_owned());
    let _: Value =
        pods.create_subresource("binding", name, &PostParams::default(), &binding).await?;
    Ok(())
}

/// Lets a Pod look as if it ran and were ready.
pub async fn run(pods: &Api<Pod>, pod: &Pod, ip: &str) -> Result<()> {
    let time = now();
    let met = ["PodScheduled", "Initialized", "ContainersReady", "Ready"]
        .map(|type_| json!({ "type": type_, "status": "True", "lastTransitionTime": time }));
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers).map(|container| {
        json!({
            "name": container.name, "image": container.image, "imageID": "",
            "ready": true, "started": true, "restartCount": 0,
            "state": { "running": { "startedAt": time } },
        })
    });
    let status = json!({ "status": {
        "phase": "Running", "startTime": time, "podIP": ip, "podIPs": [{ "ip": ip }],
        "conditions": met, "containerStatuses": containers.collect::<Value>(),
    } });
    pods.patch_status(&pod.name_any(), &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(())
}

/// The time in whole seconds, as the API server keeps it.
fn now() -> String {
    let now = Clock::system().now();
    Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}

/// Whether another client was faster.
fn is_gone_or_changed(error: &anyhow::Error) -> bool {
    let status = error.downcast_ref::<kube::Error>();
    matches!(status, Some(kube::Error::Api(status)) if [404, 409].contains(&status.code))
}

fn complain(error: &anyhow::Error) {
    eprintln!("the played node: {error:#}");
}

/// The Pods that a cluster runs for others.
pub async fn remote(client: &Client) -> Result<Vec<Pod>> {
    let pods: Api<Pod> = Api::all(client.clone());
    Ok(pods.list(&ListParams::default().labels(OFFLOAD_ORIGIN)).await?.items)
}
