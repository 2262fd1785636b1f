//! Pods on a virtual node: how long after its binding a Pod is made in the executor, and how long after it is ready there it is ready
//! in the origin, with the hub next door and far away; and the writes of one Pod's life.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fleet_api::labels::OFFLOAD_ORIGIN_UID;
use fleet_testbed::agents::Agents;
use fleet_testbed::audit::{WriteCounts, WriteMeter};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::fleet::Fleet;
use fleet_testbed::hub_ways::HubWays;
use fleet_testbed::played_node::{self, PlayedNode, bind};
use fleet_testbed::virtual_node::{agree, node_of, offer, options, prepare};
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::wait_for_default_account;
use fleet_testbed::{Options, Testbed};
use hdrhistogram::Histogram;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::runtime::watcher;
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use super::arrivals::{Arrivals, Station};
use super::watching::{Listener, Watches};

/// Distances of the members from the hub: round trips.
pub(super) const DISTANCES: [Duration; 2] = [Duration::ZERO, Duration::from_millis(50)];
const NAMESPACE: &str = "bench-offload";
const DEADLINE: Duration = Duration::from_mins(2);
/// Pods that go ahead unmeasured: their namespace is made in the executor, connections open.
const WARM_UP: usize = 5;
/// Longer than anything that is written late.
const QUIET: Duration = Duration::from_secs(7);
/// Pause after each Pod, in which agents and servers come to rest.
const REST: Duration = Duration::from_millis(50);

/// Times with the hub at one distance.
pub(super) struct Times {
    pub(super) round_trip: Duration,
    /// From before the request that binds a Pod to the event that shows the remote one.
    pub(super) created: Histogram<u64>,
    /// From before the request that makes the remote Pod ready to the event that shows it in the origin.
    pub(super) ready: Histogram<u64>,
    /// From before the request that deletes the Pod to its end, with an executor that needs no time.
    pub(super) gone: Histogram<u64>,
}

/// What was measured.
pub(super) struct Found {
    pub(super) times: Vec<Times>,
    /// Writes of all agents for one Pod beside another one: the most of all rounds.
    pub(super) writes: WriteCounts,
}

/// Measures `samples` Pods at each distance, and counts in `rounds` rounds.
pub(super) async fn measure(samples: usize, rounds: usize) -> Result<Found> {
    let testbed = Testbed::start(Options::members(2).without_audit().with_policies()).await?;
    let result = times(&testbed, samples).await;
    let times = testbed.explain(result).await?;
    drop(testbed);
    let testbed = Testbed::start(Options::members(2).with_policies()).await?;
    let counted = Box::pin(writes(&testbed, rounds)).await;
    Ok(Found { times, writes: testbed.explain(counted).await? })
}

async fn times(fleet: &Fleet, samples: usize) -> Result<Vec<Times>> {
    let ways = HubWays::of(fleet).await?;
    let agents = begin(fleet, &ways).await?;
    let road = Road::start(fleet).await?;
    // The namespace in the executor goes with its last Pod, and the next one would wait for its end.
    road.local.create(&PostParams::default(), &pod(Some(&road.node))?).await?;
    let mut found = Vec::new();
    for round_trip in DISTANCES {
        ways.iter().for_each(|way| way.set_round_trip(round_trip));
        let mut times = Times::new(round_trip)?;
        let mut unmeasured = Times::new(round_trip)?;
        for _ in 0..WARM_UP {
            road.travel(&mut unmeasured).await?;
        }
        for _ in 0..samples {
            road.travel(&mut times).await?;
        }
        found.push(times);
    }
    drop(agents);
    Ok(found)
}

/// Starts agents that offload, and waits until the virtual node is ready.
async fn begin(fleet: &Fleet, ways: &HubWays) -> Result<Agents> {
    prepare(fleet).await?;
    fleet.user_namespace(NAMESPACE).await?;
    let (origin, executor) = (fleet.member(0), fleet.member(1));
    wait_for_default_account(&origin.client(), NAMESPACE).await?;
    let mut agents = Agents::start(fleet, &ways.taken_by(options())).await?;
    let capacity = json!({ "cpu": "2000", "memory": "2000Gi", "pods": 500 });
    agree(origin, executor, offer(origin, NAMESPACE, &json!({ "capacity": capacity }))).await?;
    let nodes: Api<Node> = Api::all(origin.client());
    wait_until("the virtual node is ready", DEADLINE, async || {
        let node = nodes.get(&node_of(executor)).await?;
        let conditions = node.status.and_then(|status| status.conditions);
        Ok(conditions.iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True"))
    })
    .await?;
    agents.check_alive()?;
    Ok(agents)
}

impl Times {
    fn new(round_trip: Duration) -> Result<Self> {
        let histogram = || Histogram::new(3).context("three digits are valid");
        Ok(Self { round_trip, created: histogram()?, ready: histogram()?, gone: histogram()? })
    }
}

/// Users of both clusters, and what they see.
struct Road {
    local: Api<Pod>,
    remote: Api<Pod>,
    node: String,
    arrivals: Arrivals,
    _watches: Watches,
}

impl Road {
    async fn start(fleet: &Fleet) -> Result<Self> {
        let (origin, executor) = (fleet.member(0), fleet.member(1));
        let arrivals = Arrivals::default();
        let mut watches = Watches::default();
        let all =
            (Api::all(executor.client()), watcher::Config::default().labels(OFFLOAD_ORIGIN_UID));
        watches.start_narrow(all, Remote(arrivals.clone())).await?;
        let local: Api<Pod> = Api::namespaced(origin.client(), NAMESPACE);
        watches.start(local.clone(), Local(arrivals.clone())).await?;
        let (remote, node) = (Api::all(executor.client()), node_of(executor));
        Ok(Self { local, remote, node, arrivals, _watches: watches })
    }

    /// One Pod's life.
    async fn travel(&self, times: &mut Times) -> Result<()> {
        let pod = self.local.create(&PostParams::default(), &pod(None)?).await?;
        let (name, uid) = (pod.name_any(), pod.uid().context("a uid")?);
        let arrival = self.arrivals.expect(&created(&uid), Station::Target);
        let begin = Instant::now();
        let ((), way) = futures::try_join!(bind(&self.local, &name, &self.node), arrival.wait())?;
        record(&mut times.created, begin, way.at(Station::Target))?;

        let remote = self.remote_of(&uid).await?;
        let pods: Api<Pod> = self.in_namespace_of(&remote)?;
        bind(&pods, &remote.name_any(), played_node::NODE).await?;
        // What was made known of it before has arrived.
        tokio::time::sleep(times.round_trip * 4 + REST).await;
        let arrival = self.arrivals.expect(&ready(&uid), Station::Target);
        let begin = Instant::now();
        let ((), way) =
            futures::try_join!(played_node::run(&pods, &remote, "10.200.0.1"), arrival.wait())?;
        record(&mut times.ready, begin, way.at(Station::Target))?;

        let arrival = self.arrivals.expect(&gone(&name), Station::Target);
        let stop = self.arrivals.expect(&stopped(&uid), Station::Target);
        let begin = Instant::now();
        self.local.delete(&name, &DeleteParams::default()).await?;
        let end = async {
            stop.wait().await?;
            pods.delete(&remote.name_any(), &DeleteParams::default().grace_period(0)).await?;
            anyhow::Ok(())
        };
        let ((), way) = futures::try_join!(end, arrival.wait())?;
        record(&mut times.gone, begin, way.at(Station::Target))?;
        tokio::time::sleep(REST).await;
        Ok(())
    }

    async fn remote_of(&self, uid: &str) -> Result<Pod> {
        let of_uid = ListParams::default().labels(&format!("{OFFLOAD_ORIGIN_UID}={uid}"));
        self.remote.list(&of_uid).await?.items.into_iter().next().context("a remote Pod")
    }

    fn in_namespace_of(&self, pod: &Pod) -> Result<Api<Pod>> {
        let namespace = pod.namespace().context("a namespace")?;
        Ok(Api::namespaced(self.remote.clone().into_client(), &namespace))
    }
}

fn record(times: &mut Histogram<u64>, begin: Instant, end: Option<Instant>) -> Result<()> {
    let time = end.context("it arrived nowhere")?.saturating_duration_since(begin);
    Ok(times.record(u64::try_from(time.as_micros())?)?)
}

fn created(uid: &str) -> String {
    format!("created/{uid}")
}

fn ready(uid: &str) -> String {
    format!("ready/{uid}")
}

fn stopped(uid: &str) -> String {
    format!("stopped/{uid}")
}

fn gone(name: &str) -> String {
    format!("gone/{name}")
}

/// A Pod that no scheduler knows.
fn pod(node: Option<&str>) -> Result<Pod> {
    let mut pod = json!({
        "metadata": { "generateName": "pod-" },
        "spec": {
            "schedulerName": "none", "terminationGracePeriodSeconds": 30,
            "tolerations": [{ "operator": "Exists" }],
            "containers": [{ "name": "web", "image": "example.com/web:1" }],
        },
    });
    if let Some(node) = node {
        pod["spec"]["nodeName"] = Value::from(node);
    }
    Ok(serde_json::from_value(pod)?)
}

/// Pods of the executor that stand for others.
struct Remote(Arrivals);

impl Listener<Pod> for Remote {
    async fn applied(&mut self, pod: Pod) -> Result<()> {
        let Some(uid) = pod.labels().get(OFFLOAD_ORIGIN_UID) else { return Ok(()) };
        let stops = pod.metadata.deletion_timestamp.is_some();
        let seen = if stops { stopped(uid) } else { created(uid) };
        self.0.seen(Station::Target, [&*seen].into_iter());
        Ok(())
    }
}

/// Pods of the origin.
struct Local(Arrivals);

impl Listener<Pod> for Local {
    async fn applied(&mut self, pod: Pod) -> Result<()> {
        if is_ready(&pod) {
            let uid = pod.uid().map(|uid| ready(&uid));
            self.0.seen(Station::Target, uid.as_deref().into_iter());
        }
        Ok(())
    }

    fn deleted(&mut self, name: String) {
        self.0.seen(Station::Target, [&*gone(&name)].into_iter());
    }
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True")
}

/// Counts what one Pod costs where another one is already: the first makes a namespace, which goes with the last.
async fn writes(fleet: &Fleet, rounds: usize) -> Result<WriteCounts> {
    let ways = HubWays::of(fleet).await?;
    let agents = begin(fleet, &ways).await?;
    let (origin, executor) = (fleet.member(0), fleet.member(1));
    let node = PlayedNode::for_others(executor.client());
    start(origin, executor).await?;
    let mut meter = WriteMeter::start(fleet)?;
    meter.wait_quiet(QUIET, DEADLINE).await?;
    meter.take()?;
    let mut most = WriteCounts::default();
    for _ in 0..rounds {
        let name = start(origin, executor).await?;
        meter.wait_quiet(QUIET, DEADLINE).await?;
        let pods: Api<Pod> = Api::namespaced(origin.client(), NAMESPACE);
        pods.delete(&name, &DeleteParams::default()).await?;
        wait_until("the Pod is gone", DEADLINE, async || Ok(pods.get_opt(&name).await?.is_none()))
            .await?;
        meter.wait_quiet(QUIET, DEADLINE).await?;
        let counts = meter.take()?;
        if counts.done() > most.done() {
            most = counts;
        }
    }
    drop((node, agents));
    Ok(most)
}

/// Starts a Pod and waits until it is ready. Its name.
async fn start(origin: &Cluster, executor: &Cluster) -> Result<String> {
    let pods: Api<Pod> = Api::namespaced(origin.client(), NAMESPACE);
    let pod = pods.create(&PostParams::default(), &pod(Some(&node_of(executor)))?).await?;
    let name = pod.name_any();
    wait_until("the Pod is ready", DEADLINE, async || Ok(is_ready(&pods.get(&name).await?)))
        .await?;
    Ok(name)
}
