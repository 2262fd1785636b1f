//! What the proof of reachability costs: CPU time of an importing member's agent that dials as often as it ever does, beside the
//! same agent that dials nothing.
//!
//! Nothing here carries packets to endpoints of Pods. So all of them are one address of this machine, where the bench answers, of
//! headless Services: the address of another one would not.

use std::net::{IpAddr, UdpSocket};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fleet_api::kinds;
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::fleet::Fleet;
use fleet_testbed::multicluster::{MODE, SETTLE, export, prepare};
use fleet_testbed::objects::api;
use fleet_testbed::scrape::Scrape;
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::{ManualService, ServiceSpec};
use fleet_testbed::{crds, rbac};
use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::ListParams;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use super::change_path::{EXPORTER, IMPORTER};
use super::cpu;

const NAMESPACE: &str = "bench-reach";
/// Services that are imported: at five dials a second each has its turn every eight seconds.
const SERVICES: u32 = 40;
const IN_FLIGHT: usize = 16;
/// How long an agent is looked at, each time.
const PERIOD: Duration = Duration::from_mins(1);
/// Pause after a start, in which agent and servers come to rest.
const REST: Duration = Duration::from_secs(10);
const DEADLINE: Duration = Duration::from_mins(2);
/// The variable that switches it on.
const REACHABILITY: &str = "REACHABILITY";
const AGENT: Agent = Agent::Member(IMPORTER);

/// What an agent has done and used in a time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    took: Duration,
    cpu: Duration,
    dials: f64,
}

impl Spent {
    /// Percent of a core.
    pub(super) fn percent(self) -> f64 {
        self.cpu.as_secs_f64() / self.took.as_secs_f64() * 100.0
    }

    pub(super) fn dials_per_second(self) -> f64 {
        self.dials / self.took.as_secs_f64()
    }

    fn add(&mut self, other: Self) {
        self.took += other.took;
        self.cpu += other.cpu;
        self.dials += other.dials;
    }
}

/// All rounds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    pub(super) silent: Spent,
    pub(super) dialling: Spent,
}

/// Looks at an agent that does not dial and at one that does, in turns.
pub(super) async fn measure(fleet: &Fleet, rounds: usize) -> Result<Found> {
    let endpoint = Endpoint::start().await?;
    let mut agents = begin(fleet).await?;
    cross(fleet, &endpoint).await?;
    let mut found = Found::default();
    for _ in 0..rounds {
        found.silent.add(period(&mut agents, "off").await?);
        found.dialling.add(period(&mut agents, "addresses").await?);
    }
    ensure!(found.silent.dials < 1.0, "an agent that does not dial has dialled");
    Ok(found)
}

/// A fleet that serves the standard API, whose importing member may report what it reaches.
async fn begin(fleet: &Fleet) -> Result<Agents> {
    prepare(fleet).await?;
    let hub = fleet.hub().client();
    crds::install(&hub, &crds::load(&crds::REACHABILITY)?).await?;
    rbac::reach_on_hub(fleet.member(IMPORTER).name()).apply(&hub).await?;
    let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let environment = vec![set(MODE, "on"), set(SETTLE, "1s")];
    Agents::start(fleet, &AgentOptions { environment, ..AgentOptions::default() }).await
}

/// Exports the Services; the other member imports them by itself.
async fn cross(fleet: &Fleet, endpoint: &Endpoint) -> Result<()> {
    fleet.user_namespace(NAMESPACE).await?;
    let (exporter, addresses) = (fleet.member(EXPORTER), [endpoint.address.to_string()]);
    futures::stream::iter(0..SERVICES)
        .map(async |number| {
            let name = format!("service-{number}");
            let spec = ServiceSpec::new(NAMESPACE, &name).headless();
            let spec = spec.port("http", "TCP", 80, endpoint.port);
            ManualService::deploy(exporter, &spec, &addresses).await?;
            export(exporter, NAMESPACE, &name).await
        })
        .buffer_unordered(IN_FLIGHT)
        .try_collect::<Vec<()>>()
        .await?;
    // What is spent on importing is not spent on dialling, nor on the rest without.
    let importer = fleet.member(IMPORTER).client();
    wait_until("all Services are imported", DEADLINE, async || {
        let slices = api(importer.clone(), kinds::ENDPOINT_SLICE, Some(NAMESPACE));
        let found = slices.list_metadata(&ListParams::default()).await?;
        Ok(u32::try_from(found.items.len())? >= SERVICES)
    })
    .await
}

async fn period(agents: &mut Agents, mode: &str) -> Result<Spent> {
    agents.set_variable(AGENT, REACHABILITY, mode)?;
    agents.restart(AGENT).await?;
    if mode != "off" {
        wait_until("all Services are reached", DEADLINE, async || {
            let scrape = Scrape::of(agents, AGENT).await?;
            Ok(scrape.sum("fleet_reach_services", &[("state", "reachable")]) >= f64::from(SERVICES))
        })
        .await?;
    }
    tokio::time::sleep(REST).await;
    let pid = agents.pid(AGENT).context("the agent does not run")?;
    let (begin, before, used) = (Instant::now(), dials(agents).await?, cpu::of(pid)?);
    tokio::time::sleep(PERIOD).await;
    let (cpu, after) = (cpu::of(pid)?.saturating_sub(used), dials(agents).await?);
    agents.check_alive()?;
    let [all, answered] = [0, 1].map(|which| after[which] - before[which]);
    ensure!(answered >= all, "of {all} dials {answered} were answered");
    Ok(Spent { took: begin.elapsed(), cpu, dials: all })
}

/// Dials so far, and those that were answered.
async fn dials(agents: &Agents) -> Result<[f64; 2]> {
    let scrape = Scrape::of(agents, AGENT).await?;
    let labels: [&[(&str, &str)]; 2] = [&[], &[("outcome", "ok")]];
    Ok(labels.map(|labels| scrape.sum("fleet_reach_dials_total", labels)))
}

/// The endpoint of all Services. Dropping it ends that.
struct Endpoint {
    address: IpAddr,
    port: u16,
    answers: AbortHandle,
}

impl Endpoint {
    async fn start() -> Result<Self> {
        let address = own_address().context("this machine has no address but loopback's")?;
        let listener = TcpListener::bind((address, 0)).await.context("listen")?;
        let port = listener.local_addr()?.port();
        let answers = tokio::spawn(async move { while listener.accept().await.is_ok() {} });
        Ok(Self { address, port, answers: answers.abort_handle() })
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.answers.abort();
    }
}

/// An address of this machine to which packets do not leave it, and which agents import: none of loopback. It is the one from
/// which others are reached; nothing is sent to them.
fn own_address() -> Result<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.connect("198.51.100.1:9")?;
    Ok(socket.local_addr()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_added_up() {
        let one = Spent { took: PERIOD, cpu: Duration::from_millis(60), dials: 300.0 };
        let mut all = Spent::default();
        all.add(one);
        all.add(Spent { cpu: Duration::from_millis(180), dials: 240.0, ..one });
        assert!((all.percent() - 0.2).abs() < 1e-9, "{all:?}");
        assert!((all.dials_per_second() - 4.5).abs() < 1e-9, "{all:?}");
    }
}
