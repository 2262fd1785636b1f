//! What a node's kubelet would do with Pods, where Pods of the agents' Deployments have to do their work: the agents
//! run as processes. Other Pods only look as if they ran, and have an address.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Binding, ObjectReference, Pod};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::agent::find_program;
use crate::cluster::Cluster;
use crate::pod::Running;
use crate::state::RunDir;
use crate::workload::{NODE, ensure_node, next_address};

const PAUSE: Duration = Duration::from_millis(200);
/// Mounted Secrets are brought up to date every so many rounds.
const SECRETS: u32 = 5;
/// The label with the name of the agent in a Pod of the charts.
const NAME: &str = "app.kubernetes.io/name";
const AGENTS: [&str; 2] = ["hub-agent", "member-agent"];

/// Looks after all Pods of one cluster, and binds those that no node has.
pub struct Kubelet<'a> {
    cluster: &'a Cluster,
    run: &'a RunDir,
    pods: ListParams,
    /// By the Pod's uid.
    agents: BTreeMap<String, Running>,
    rounds: u32,
}

impl<'a> Kubelet<'a> {
    /// One that has not begun.
    pub fn new(cluster: &'a Cluster, run: &'a RunDir) -> Self {
        Self { cluster, run, pods: ListParams::default(), agents: BTreeMap::new(), rounds: 0 }
    }

    /// One that leaves all other Pods to the test.
    pub fn of_agents(cluster: &'a Cluster, run: &'a RunDir) -> Self {
        let pods = ListParams::default().labels(&format!("{NAME} in ({})", AGENTS.join(",")));
        Self { pods, ..Self::new(cluster, run) }
    }

    /// Works until it is dropped; dropping it kills the agents.
    pub async fn run(mut self) -> Infallible {
        let mut complaint = String::new();
        loop {
            if let Err(error) = self.round().await {
                // It tries again; what goes on for longer shows in what waits for the Pods.
                let now = format!("{error:#}");
                if now != complaint {
                    eprintln!("kubelet of {}: {now}", self.cluster.name());
                    complaint = now;
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn round(&mut self) -> Result<()> {
        let all: Api<Pod> = Api::all(self.cluster.client());
        let pods = all.list(&self.pods).await?.items;
        self.agents.retain(|uid, _| pods.iter().any(|pod| pod.uid().as_ref() == Some(uid)));
        self.rounds = self.rounds.wrapping_add(1);
        let mut result = Ok(());
        for pod in &pods {
            let done = self.look_after(pod).await.with_context(|| pod.name_any());
            result = result.and(done);
        }
        result
    }

    async fn look_after(&mut self, pod: &Pod) -> Result<()> {
        let namespace = pod.namespace().context("a namespace")?;
        let pods: Api<Pod> = Api::namespaced(self.cluster.client(), &namespace);
        let uid = pod.uid().context("a uid")?;
        if pod.metadata.deletion_timestamp.is_some() {
            if let Some(running) = self.agents.remove(&uid) {
                running.stop().await?;
            }
            return end(&pods, pod, uid).await;
        }
        let spec = pod.spec.as_ref().context("a spec")?;
        if spec.node_name.is_none() {
            bind(self.cluster, &pods, &pod.name_any()).await?;
        }
        let name = pod.labels().get(NAME).map(String::as_str);
        let Some(agent) = AGENTS.into_iter().find(|agent| name == Some(agent)) else {
            return show(&pods, pod, true).await;
        };
        if let Some(running) = self.agents.get_mut(&uid) {
            let ready = running.is_ready().await;
            if running.has_ended() {
                // It is started again in the next round.
                self.agents.remove(&uid);
                return ready.map(drop);
            }
            show(&pods, pod, ready.unwrap_or(false)).await?;
            if self.rounds.is_multiple_of(SECRETS) {
                running.container().update(self.cluster).await?;
            }
            return Ok(());
        }
        let name = pod.name_any();
        let program = find_program(agent)?;
        let running = Running::launch(self.cluster, &program, spec, &name, self.run).await?;
        self.agents.insert(uid, running);
        Ok(())
    }
}

/// Confirms that the containers have ended.
async fn end(pods: &Api<Pod>, pod: &Pod, uid: String) -> Result<()> {
    let preconditions = Preconditions { uid: Some(uid), resource_version: None };
    let now = DeleteParams::default().grace_period(0).preconditions(preconditions);
    pods.delete(&pod.name_any(), &now).await?;
    Ok(())
}

async fn bind(cluster: &Cluster, pods: &Api<Pod>, name: &str) -> Result<()> {
    ensure_node(&cluster.client()).await?;
    let mut binding = Binding {
        target: ObjectReference {
            kind: Some("Node".to_owned()),
            name: Some(NODE.to_owned()),
            ..ObjectReference::default()
        },
        ..Binding::default()
    };
    binding.metadata.name = Some(name.to_owned());
    let _: Value =
        pods.create_subresource("binding", name, &PostParams::default(), &binding).await?;
    Ok(())
}

/// Writes the Pod's status, if it is another.
async fn show(pods: &Api<Pod>, pod: &Pod, ready: bool) -> Result<()> {
    let status = pod.status.clone().unwrap_or_default();
    let mut conditions = status.conditions.iter().flatten();
    let shown = conditions.any(|one| one.type_ == "Ready" && (one.status == "True") == ready);
    if shown && status.pod_ip.is_some() {
        return Ok(());
    }
    let address = status.pod_ip.unwrap_or_else(next_address);
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers).map(|container| {
        json!({
            "name": container.name, "image": container.image, "imageID": "",
            "ready": ready, "started": true, "restartCount": 0,
            "state": { "running": {} },
        })
    });
    let yes_or_no = if ready { "True" } else { "False" };
    let status = json!({ "status": {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{ "ip": address }],
        "containerStatuses": containers.collect::<Value>(),
        "conditions": [
            { "type": "ContainersReady", "status": yes_or_no },
            { "type": "Ready", "status": yes_or_no },
        ],
    } });
    let params = PatchParams::default();
    pods.patch_status(&pod.name_any(), &params, &Patch::Merge(status)).await?;
    Ok(())
}
