//! The demo on clusters with nodes: a Pod of one cluster calls the Pods of the other, while they scale and while things
//! fail.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fleet_nodes::crossing::{self, Api};
use fleet_nodes::node::ProxyMode;
use fleet_nodes::pods::{PORT, Servers, Shell};
use fleet_nodes::whole::WholeFleet;
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::wait::wait_for;

use super::screen::Screen;
use super::text::count;

const NAMESPACE: &str = "shop";
const SERVICE: &str = "web";
const EXPORTER: &str = "member-1";
const IMPORTER: &str = "member-2";
/// How often the Pod calls before the answers are shown.
const CALLS: usize = 12;

/// The whole story. `patience` is how long a single step may take once the clusters are there.
pub(super) async fn tell(mut screen: Screen, patience: Duration) -> Result<()> {
    screen.chapter(
        "1  A hub, and two clusters with nodes",
        "Each member has a control plane and a node of its own: containerd, kubelet, kube-proxy with nftables, CoreDNS, in \
         namespaces of the kernel. Routes lead from node to node, so that Pods reach each other. The first run builds \
         these programs.",
    );
    screen.step("starting them");
    let fleet = WholeFleet::start(2, ProxyMode::Nftables).await?;
    screen.reached("nodes are ready, and DNS answers", fleet.started_in());
    let told = acts(&mut screen, &fleet, patience).await;
    fleet.explain(told).await?;
    drop(fleet);
    screen.line("\nEverything is stopped.");
    Ok(())
}

async fn acts(screen: &mut Screen, fleet: &WholeFleet, patience: Duration) -> Result<()> {
    let begin = Instant::now();
    fleet.serve_clusterset().await?;
    screen.reached("DNS answers for clusterset.local, too", begin.elapsed());
    let begin = Instant::now();
    let mut agents = Agents::start(fleet.fleet(), &crossing::agents(None)).await?;
    screen.reached("agents are ready", begin.elapsed());
    fleet.fleet().user_namespace(NAMESPACE).await?;
    let exporter = fleet.fleet().member(0);
    let servers = deploy(screen, exporter).await?;
    let caller = Caller::of(screen, fleet, patience).await?;
    caller.call(screen, 2).await?;
    scale(screen, exporter, &servers, &caller).await?;
    fail(screen, fleet, &mut agents, &servers, &caller).await
}

async fn deploy(screen: &mut Screen, exporter: &Cluster) -> Result<Servers> {
    screen.chapter(
        "2  A Service in member-1",
        "Two Pods that answer with their names and that of their cluster.",
    );
    screen.action(EXPORTER, &format!("creates Deployment and Service {NAMESPACE}/{SERVICE}"));
    let begin = Instant::now();
    let servers = Servers::deploy(exporter, NAMESPACE, SERVICE, 2).await?;
    screen.reached("two Pods are ready", begin.elapsed());
    for addresses in servers.addresses_of_pods(exporter).await? {
        screen.line(&format!("             {}", addresses.join("  ")));
    }
    Ok(servers)
}

/// A Pod of the importer, and the name that it calls.
struct Caller {
    shell: Shell,
    host: String,
    patience: Duration,
}

impl Caller {
    async fn of(screen: &mut Screen, fleet: &WholeFleet, patience: Duration) -> Result<Self> {
        screen.chapter(
            "3  Exported by member-1, imported by member-2",
            "With the API of SIG Multicluster every cluster that has the namespace imports what is exported: there it has an \
             address, and a name in clusterset.local. kube-proxy of member-2 sends packets to the Pods in member-1.",
        );
        let shell = fleet.shell(1, NAMESPACE, "caller").await?;
        screen.action(EXPORTER, &format!("creates ServiceExport {NAMESPACE}/{SERVICE}"));
        let begin = Instant::now();
        let (exporter, importer) = (fleet.fleet().member(0), fleet.fleet().member(1));
        let host = Api::Standard.cross(exporter, importer, (NAMESPACE, SERVICE)).await?;
        shell.wait_for_answer(&host, PORT).await?;
        screen.reached("a Pod of member-2 gets an answer from member-1", begin.elapsed());
        Ok(Self { shell, host, patience })
    }

    /// Shows who answers, once that is this number of Pods.
    async fn call(&self, screen: &mut Screen, pods: usize) -> Result<()> {
        screen.action(IMPORTER, &format!("calls http://{}/ {CALLS} times, from a Pod", self.host));
        let what = format!("{pods} Pods answer");
        let answers = wait_for(&what, self.patience, async || {
            let answers = self.answers().await?;
            ensure!(answers.len() == pods, "these do: {:?}", answers.keys());
            Ok(Some(answers))
        });
        for ((cluster, pod), count) in answers.await? {
            screen.line(&format!("             {count:>2} × {pod} in {cluster}"));
        }
        Ok(())
    }

    /// How often each Pod, with its cluster, has answered. An error if a call fails.
    async fn answers(&self) -> Result<BTreeMap<(String, String), usize>> {
        let mut answers = BTreeMap::new();
        for _ in 0..CALLS {
            let answer = self.shell.get(&self.host, PORT).await?;
            *answers.entry((answer.cluster, answer.pod)).or_default() += 1;
        }
        Ok(answers)
    }
}

async fn scale(
    screen: &mut Screen,
    exporter: &Cluster,
    servers: &Servers,
    caller: &Caller,
) -> Result<()> {
    screen.chapter(
        "4  Scale",
        "What comes in member-1 takes calls of member-2, and what goes takes none any more.",
    );
    for replicas in [3, 1] {
        screen.action(EXPORTER, &format!("scales Deployment {NAMESPACE}/{SERVICE} to {replicas}"));
        servers.scale(exporter, replicas).await?;
        caller.call(screen, replicas).await?;
    }
    Ok(())
}

async fn fail(
    screen: &mut Screen,
    fleet: &WholeFleet,
    agents: &mut Agents,
    servers: &Servers,
    caller: &Caller,
) -> Result<()> {
    screen.chapter(
        "5  Failure",
        "Neither the hub nor an agent is on the way of a packet: without them, connections come up as before. What changed \
         meanwhile arrives once they are back.",
    );
    let hub = fleet.fleet().hub();
    screen.action("hub", "loses its API server and its agent");
    hub.kill_apiserver().await?;
    agents.kill(Agent::Hub)?;
    caller.call(screen, 1).await?;
    screen.action(EXPORTER, &format!("scales Deployment {NAMESPACE}/{SERVICE} to 2"));
    servers.scale(fleet.fleet().member(0), 2).await?;
    let seen = caller.answers().await.context("calls without the hub")?.len();
    ensure!(seen == 1, "member-2 calls {seen} Pods, of which it cannot know");
    screen.line(&format!("             member-2 still calls {}", count(seen, "Pod")));
    screen.action("hub", "is back");
    let begin = Instant::now();
    hub.start_apiserver().await?;
    agents.launch(Agent::Hub)?;
    caller.call(screen, 2).await?;
    screen.reached("the second Pod takes calls of member-2", begin.elapsed());
    Ok(())
}
