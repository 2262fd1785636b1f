//! Pods of one member that run in another, with real containers and packets: the first member is the origin, the second the
//! executor, the third calls them by an import.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fleet_api::{ResourceKind, kinds};
use fleet_nodes::crossing::{self, Api as Crossing};
use fleet_nodes::node::ProxyMode;
use fleet_nodes::pods::{POD_PORT, PORT};
use fleet_nodes::programs::SERVER_IMAGE;
use fleet_nodes::whole::WholeFleet;
use fleet_testbed::agents::{AgentOptions, Agents};
use fleet_testbed::apply::apply;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::exchange::{derived_service, imported_slices};
use fleet_testbed::objects::api;
use fleet_testbed::played_node::remote;
use fleet_testbed::virtual_node::{agree, node_of, offer, options, prepare_with};
use fleet_testbed::wait::{wait_for, wait_until};
use fleet_testbed::workload::wait_for_default_account;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Pod, Service};
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::steps::Steps;

const NAMESPACE: &str = "offload";
const NAME: &str = "web";
const PODS: usize = 5;
/// Seconds that containers have to end.
const GRACE: u64 = 1;
const DEADLINE: Duration = Duration::from_mins(3);

/// A fleet of its own: its agents let Pods run in each other's clusters.
pub(crate) async fn check() -> Result<()> {
    let mut steps = Steps::begin("offload");
    let start = WholeFleet::start(3, ProxyMode::Nftables);
    let fleet = steps.take("three clusters start", start).await?;
    fleet.explain(story(&fleet, &mut steps).await).await
}

async fn story(fleet: &WholeFleet, steps: &mut Steps) -> Result<()> {
    let _agents = begin(fleet, steps).await?;
    let members = fleet.fleet();
    let (origin, third) = (members.member(0), members.member(2));
    let pods = steps.take("a Deployment of 5 runs in the other member", run(fleet)).await?;
    let names: BTreeSet<String> = pods.iter().map(Pod::name_any).collect();

    let shell = fleet.shell(0, NAMESPACE, "shell").await?;
    let address = cluster_ip(origin).await?;
    let answers = shell.wait_for_pods(&address, PORT, &names);
    steps.take("all answer through the origin's ClusterIP", answers).await?;

    let crossed = Crossing::Fleet.cross(origin, third, (NAMESPACE, NAME)).await?;
    let shell = fleet.shell(2, NAMESPACE, "shell").await?;
    let answers = shell.wait_for_pods(&crossed, PORT, &names);
    steps.take("all answer through the import of a third member", answers).await?;
    steps.take("each address is imported once", each_once(third, &pods)).await?;

    steps.take("scaled to none, nothing is left in both clusters", end(fleet)).await?;
    steps.take("nothing answers any more", shell.wait_for_silence(&crossed, PORT)).await
}

/// Both agree, and the virtual node is there.
async fn begin(fleet: &WholeFleet, steps: &mut Steps) -> Result<Agents> {
    steps.take("DNS answers for the clusterset", fleet.serve_clusterset()).await?;
    let members = fleet.fleet();
    let ranges = |member: usize| {
        let addresses = fleet.node(member).addresses();
        format!("{},{}", addresses.pods, addresses.pods_v6)
    };
    prepare_with(members, &ranges(0), &ranges(1)).await?;
    members.user_namespace(NAMESPACE).await?;
    for member in members.members() {
        wait_for_default_account(&member.client(), NAMESPACE).await?;
    }
    let (crossing, offloading) = (crossing::agents(Some("1s")), options());
    let environment = crossing.environment.into_iter().chain(offloading.environment).collect();
    let options = AgentOptions { environment, ..offloading };
    let agents = steps.take("the agents are ready", Agents::start(members, &options)).await?;
    let (origin, executor) = (members.member(0), members.member(1));
    agree(origin, executor, offer(origin, NAMESPACE, &json!({}))).await?;
    Ok(agents)
}

/// Deploys servers for the virtual node; their Pods, once all of them are ready.
async fn run(fleet: &WholeFleet) -> Result<Vec<Pod>> {
    let (origin, executor) = (fleet.fleet().member(0), fleet.fleet().member(1));
    apply(&origin.client(), service()).await?;
    apply(&origin.client(), deployment(executor.name())).await?;
    let node = node_of(executor);
    let pods = wait_for("the Pods of the Deployment are ready", DEADLINE, async || {
        let pods = pods(origin).await?;
        let statuses: Vec<_> = pods.iter().map(|pod| json!(pod.status)).collect();
        ensure!(pods.len() == PODS && pods.iter().all(is_ready), "{statuses:?}");
        Ok(Some(pods))
    })
    .await?;
    let on_node = |pod: &Pod| {
        pod.spec.as_ref().is_some_and(|spec| spec.node_name.as_deref() == Some(node.as_str()))
    };
    ensure!(pods.iter().all(on_node), "they are on {node}");
    let there = remote(&executor.client()).await?;
    ensure!(addresses(&there) == addresses(&pods), "they run in {}", executor.name());
    Ok(pods)
}

async fn pods(origin: &Cluster) -> Result<Vec<Pod>> {
    let pods: Api<Pod> = Api::namespaced(origin.client(), NAMESPACE);
    Ok(pods.list(&ListParams::default().labels(&format!("app={NAME}"))).await?.items)
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.filter(|one| one.type_ == "Ready").any(|one| one.status == "True")
}

/// All addresses of Pods.
fn addresses(pods: &[Pod]) -> BTreeSet<String> {
    let all = pods.iter().filter_map(|pod| pod.status.as_ref()?.pod_ips.as_ref());
    all.flatten().map(|address| address.ip.clone()).collect()
}

async fn cluster_ip(origin: &Cluster) -> Result<String> {
    let services: Api<Service> = Api::namespaced(origin.client(), NAMESPACE);
    let address = services.get(NAME).await?.spec.and_then(|spec| spec.cluster_ip);
    address.context("the Service has a ClusterIP")
}

async fn each_once(third: &Cluster, pods: &[Pod]) -> Result<()> {
    let service = derived_service(third, NAMESPACE, NAME).await?.context("the import is bound")?;
    let known = addresses(pods);
    wait_until("each Pod is imported once", DEADLINE, async || {
        let slices = imported_slices(third, &service).await?;
        let endpoints = slices.iter().flat_map(|slice| &slice.endpoints);
        let all: Vec<String> = endpoints.flat_map(|endpoint| endpoint.addresses.clone()).collect();
        let different: BTreeSet<String> = all.iter().cloned().collect();
        ensure!(all.len() == different.len() && different.is_subset(&known), "{all:?}");
        Ok(known.iter().filter(|one| !one.contains(':')).all(|one| different.contains(one)))
    })
    .await
}

/// Scales to none, and waits until neither cluster nor the hub has anything of it.
async fn end(fleet: &WholeFleet) -> Result<()> {
    let members = fleet.fleet();
    let (origin, executor) = (members.member(0), members.member(1));
    let deployments: Api<Deployment> = Api::namespaced(origin.client(), NAMESPACE);
    let none = Patch::Merge(json!({ "spec": { "replicas": 0 } }));
    let begun = Instant::now();
    deployments.patch(NAME, &PatchParams::default(), &none).await?;
    wait_until("the Pods are gone in both clusters and on the hub", DEADLINE, async || {
        let left = [
            pods(origin).await?.len(),
            remote(&executor.client()).await?.len(),
            count(members.hub(), kinds::POD_EXPORT).await?,
            count(members.hub(), kinds::POD_IMPORT).await?,
        ];
        ensure!(left == [0; 4], "local, remote, exports, imports: {left:?}");
        Ok(true)
    })
    .await?;
    eprintln!(
        "offload: nothing of the Pods is left after {:?}, of which {GRACE} s are for their containers",
        begun.elapsed()
    );
    wait_until("their namespace is gone", DEADLINE, async || {
        let all: Api<Namespace> = Api::all(executor.client());
        let names = all.list_metadata(&ListParams::default()).await?.items;
        Ok(!names.iter().any(|space| space.name_any().starts_with("offload-")))
    })
    .await
}

async fn count(cluster: &Cluster, kind: ResourceKind) -> Result<usize> {
    Ok(api(cluster.client(), kind, None).list_metadata(&ListParams::default()).await?.items.len())
}

fn service() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": { "name": NAME, "namespace": NAMESPACE },
        "spec": {
            "ipFamilyPolicy": "PreferDualStack", "selector": { "app": NAME },
            "ports": [{ "name": "http", "port": PORT, "targetPort": POD_PORT }],
        },
    })
}

/// The scheduler has only one node for its Pods, of those that they select.
fn deployment(executor: &str) -> Value {
    let labels = json!({ "app": NAME });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": NAME, "namespace": NAMESPACE },
        "spec": {
            "replicas": PODS,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": {
                    "terminationGracePeriodSeconds": GRACE,
                    "nodeSelector": { "type": "virtual-node" },
                    "tolerations": [{
                        "key": "offload.networking.fleet.azure.com/virtual", "operator": "Exists",
                    }],
                    "containers": [{
                        "name": "server",
                        "image": SERVER_IMAGE,
                        "imagePullPolicy": "Never",
                        "env": [{ "name": "CLUSTER", "value": executor }],
                        "ports": [{ "containerPort": POD_PORT }],
                        "readinessProbe": {
                            "httpGet": { "path": "/", "port": POD_PORT },
                            "periodSeconds": 1, "timeoutSeconds": 5,
                        },
                    }],
                },
            },
        },
    })
}
