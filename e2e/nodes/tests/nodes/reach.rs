//! Proof of reachability with real packets: the first member imports from two others, and its agent dials what it imports, in the network of
//! its node as a Pod would.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fleet_api::multicluster::{ReachHop, ReachReport};
use fleet_nodes::crossing::{self, Api as Crossing};
use fleet_nodes::node::ProxyMode;
use fleet_nodes::pods::Servers;
use fleet_nodes::whole::WholeFleet;
use fleet_testbed::agent::Agent;
use fleet_testbed::agents::{AgentOptions, Agents};
use fleet_testbed::wait::{wait_for, wait_until};
use fleet_testbed::{crds, plain_http, rbac};
use kube::Api;
use kube::api::ListParams;

use crate::steps::Steps;

const NAMESPACE: &str = "reach";
const NAME: &str = "web";
/// Port of the metrics of the agent that dials.
const PORT: u16 = 19_300;
/// Within this time a dropped route is reported.
const SOON: Duration = Duration::from_secs(10);
/// For so long nothing is reported that is not so: a dial fails after 2 s, and two dials are enough.
const QUIET: Duration = Duration::from_secs(20);
const DEADLINE: Duration = Duration::from_mins(2);

/// A fleet of its own: packets between its nodes are dropped.
pub(crate) async fn check() -> Result<()> {
    let mut steps = Steps::begin("reach");
    let start = WholeFleet::start(3, ProxyMode::Nftables);
    let fleet = steps.take("three clusters start", start).await?;
    fleet.explain(story(&fleet, &mut steps).await).await
}

async fn story(fleet: &WholeFleet, steps: &mut Steps) -> Result<()> {
    let mut agents = begin(fleet, steps).await?;
    let members = fleet.fleet();
    members.user_namespace(NAMESPACE).await?;
    for exporter in [1, 2] {
        let exporter = members.member(exporter);
        Servers::deploy(exporter, NAMESPACE, NAME, 2).await?;
        Crossing::Standard.cross(exporter, members.member(0), (NAMESPACE, NAME)).await?;
    }
    steps.take("two exporters are reached", all_of_two(fleet)).await?;

    let dropped = Instant::now();
    drop_packets(fleet).await?;
    let told = wait_for("the route is told", SOON, async || {
        let seen = Seen::of(fleet).await?;
        Ok((seen.at(ReachHop::Route) == 1).then_some(seen))
    });
    let seen = steps.take("dropped packets are told within ten seconds", told).await?;
    ensure!(dropped.elapsed() <= SOON + Duration::from_secs(1), "{:?}", dropped.elapsed());
    ensure!(seen.unreachable == 1 && seen.reachable == 1, "that cell alone: {seen:?}");
    let named = wait_for("the hub is told whose route it is", DEADLINE, async || {
        let report = report(fleet).await?;
        let trouble = report.and_then(|report| report.spec.troubles.into_iter().next());
        Ok(trouble.filter(|it| it.hop == ReachHop::Route))
    });
    let trouble = steps.take("the hub reads which", named).await?;
    ensure!(trouble.exporter == members.member(1).name(), "{trouble:?}");
    pass_packets(fleet).await?;
    steps.take("packets pass, and it is reached again", all_of_two(fleet)).await?;

    for agent in [Agent::Hub, Agent::Member(1), Agent::Member(2)] {
        agents.kill(agent)?;
    }
    steps.take("other agents are killed: nothing is told", nothing_is_told(fleet)).await?;
    cut_hub(fleet).await?;
    steps.take("the hub is cut: nothing is told", nothing_is_told(fleet)).await
}

/// Both cells are green.
async fn all_of_two(fleet: &WholeFleet) -> Result<()> {
    wait_until("both exporters are reached", DEADLINE, async || {
        let seen = Seen::of(fleet).await?;
        Ok(seen.reachable == 2 && seen.is_well())
    })
    .await
}

async fn nothing_is_told(fleet: &WholeFleet) -> Result<()> {
    let end = Instant::now() + QUIET;
    let before = Seen::of(fleet).await?.dials;
    while Instant::now() < end {
        let seen = Seen::of(fleet).await?;
        ensure!(seen.is_well() && seen.reachable == 2, "{seen:?}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let after = Seen::of(fleet).await?.dials;
    ensure!(after > before, "it dials all the while");
    ensure!(after - before <= 5.5 * QUIET.as_secs_f64(), "{} dials", after - before);
    Ok(())
}

/// All agents; that of the first member within its node.
async fn begin(fleet: &WholeFleet, steps: &mut Steps) -> Result<Agents> {
    steps.take("DNS answers for the clusterset", fleet.serve_clusterset()).await?;
    let members = fleet.fleet();
    let hub = members.hub().client();
    crds::install(&hub, &crds::load(&crds::REACHABILITY)?).await?;
    rbac::reach_on_hub(members.member(0).name()).apply(&hub).await?;
    let programs = wrapped(fleet)?;
    let node = fleet.node(0);
    let set = |name: &str, value: String| (name.to_owned(), value);
    let own = vec![
        set("REACHABILITY", "addresses".to_owned()),
        set("METRICS_BIND_ADDRESS", format!("{}:{PORT}", node.addresses().node)),
        set(WITHIN, node.sandbox().pid().to_string()),
    ];
    let options = AgentOptions {
        programs: Some(programs),
        of_agents: BTreeMap::from([(Agent::Member(0), own)]),
        ..crossing::agents(Some("1s"))
    };
    let mut agents = Agents::prepare(members, &options)?;
    for agent in [Agent::Hub, Agent::Member(0), Agent::Member(1), Agent::Member(2)] {
        agents.launch(agent)?;
    }
    let answers = wait_until("the agent within the node answers", DEADLINE, async || {
        Ok(Seen::of(fleet).await.is_ok())
    });
    steps.take("the agents run", answers).await?;
    Ok(agents)
}

/// Variable with the process whose network an agent is to run in.
const WITHIN: &str = "FLEET_WITHIN_PROCESS";

/// A folder with the agents, of which a member's runs in the network that a variable names.
fn wrapped(fleet: &WholeFleet) -> Result<PathBuf> {
    let real = std::env::current_exe()?;
    let real = real.parent().and_then(Path::parent).context("the folder of programs")?;
    let folder = fleet.fleet().run_path().join("wrapped");
    std::fs::create_dir_all(&folder)?;
    std::os::unix::fs::symlink(real.join("hub-agent"), folder.join("hub-agent"))?;
    let program = real.join("member-agent").display().to_string();
    let script = format!(
        "#!/bin/sh\n[ -z \"${WITHIN}\" ] || exec nsenter --net=/proc/${WITHIN}/ns/net '{program}' \"$@\"\nexec '{program}' \"$@\"\n"
    );
    let path = folder.join("member-agent");
    std::fs::write(&path, script)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
    Ok(folder)
}

/// The second member's node takes nothing of the first one's any more.
async fn drop_packets(fleet: &WholeFleet) -> Result<()> {
    let from = fleet.node(0).addresses();
    let script = format!(
        "nft -f - <<END
table inet reach {{
    chain taken {{
        type filter hook prerouting priority -300
        ip saddr {} drop
        ip6 saddr {} drop
        ip saddr {} drop
        ip6 saddr {} drop
    }}
}}
END",
        from.node, from.node_v6, from.pods, from.pods_v6
    );
    fleet.node(1).sandbox().run("sh", &["-c", &script]).await.map(drop)
}

async fn pass_packets(fleet: &WholeFleet) -> Result<()> {
    fleet.node(1).sandbox().run("nft", &["delete", "table", "inet", "reach"]).await.map(drop)
}

/// The first member's node sends nothing to the hub any more.
async fn cut_hub(fleet: &WholeFleet) -> Result<()> {
    let url = &fleet.fleet().hub().config().cluster_url;
    let port = url.port_u16().context("the hub's port")?;
    let script = format!(
        "nft -f - <<END
table inet reach {{
    chain sent {{
        type filter hook output priority -300
        tcp dport {port} drop
    }}
}}
END"
    );
    fleet.node(0).sandbox().run("sh", &["-c", &script]).await.map(drop)
}

async fn report(fleet: &WholeFleet) -> Result<Option<ReachReport>> {
    let api: Api<ReachReport> = Api::all(fleet.fleet().hub().client());
    Ok(api.list(&ListParams::default()).await?.items.into_iter().next())
}

/// What the metrics of the agent show.
#[derive(Debug)]
struct Seen {
    reachable: u64,
    unreachable: u64,
    unknown: u64,
    hops: BTreeMap<String, u64>,
    dials: f64,
}

impl Seen {
    async fn of(fleet: &WholeFleet) -> Result<Self> {
        let address = fleet.node(0).addresses().node;
        let (status, text) = plain_http::get(&format!("http://{address}:{PORT}/metrics")).await?;
        ensure!(status == 200, "{status}");
        let value = |series: &str| -> f64 {
            let lines = text.lines().filter_map(|line| line.strip_prefix(series));
            lines.filter_map(|rest| rest.trim().parse::<f64>().ok()).sum()
        };
        let count = |series: &str| format!("{:.0}", value(series)).parse::<u64>();
        let state = |state: &str| count(&format!("fleet_reach_services{{state=\"{state}\"}}"));
        let mut hops = BTreeMap::new();
        for hop in ReachHop::ALL {
            let label = hop.as_str().to_lowercase();
            let stops = count(&format!("fleet_reach_unreachable{{hop=\"{label}\"}}"))?;
            hops.insert(label, stops);
        }
        ensure!(text.contains("fleet_reach_services"), "it does not dial");
        let dials = text.lines().filter(|line| line.starts_with("fleet_reach_dials_total{"));
        let dials = dials.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum();
        Ok(Self {
            reachable: state("reachable")?,
            unreachable: state("unreachable")?,
            unknown: state("unknown")?,
            hops,
            dials,
        })
    }

    fn at(&self, hop: ReachHop) -> u64 {
        self.hops.get(&hop.as_str().to_lowercase()).copied().unwrap_or_default()
    }

    fn is_well(&self) -> bool {
        self.unreachable == 0 && self.unknown == 0 && self.hops.values().all(|stops| *stops == 0)
    }
}
