//! The standard API of SIG Multicluster in fleets of many members: how many changes it carries beside the copying front end, and
//! when the last of all members has one.

use std::time::Duration;

use anyhow::{Context, Result};
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::multicluster::{MODE, SETTLE};
use fleet_testbed::{Testbed, crds, rbac};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep, sleep_until};

use crate::account::{Account, server_pids};
use crate::growth::count;
use crate::load::{Load, Step, best};
use crate::quota::Quota;
use crate::simulated_members::{FrontEnd, SimulatedMembers, TestService};

/// Sizes: of the fleet that is loaded, and of the one in which all import the same.
pub(crate) const SIZES: [usize; 2] = [100, 1000];
/// Importers of each Service.
pub(crate) const IMPORTERS: usize = 10;
/// Services that each member exports through each front end.
const SHOPS: usize = 2;
const ENDPOINTS: usize = 10;
/// Services that are exported at once while the fleet is filled.
const CHUNK: usize = 20;
/// Changes per second at first, in a small fleet: each is eleven writes on the hub where there are copies.
const FIRST: f64 = 5.0;
/// How many times as many changes a second the standard API carries at least: its first rate.
pub(crate) const MORE: f64 = 4.0;
/// What a hub has while its rates are measured, in thousandths of a core: so little that two cores are enough for the played
/// members at the highest of these rates.
const HUB_MILLICORES: u64 = 500;
/// Changes that all members are to have.
const CHANGES: usize = 10;
/// How long nothing happens before each of them.
const REST: Duration = Duration::from_secs(3);
/// Longest time until the last of all members has a change.
pub(crate) const LAST: Duration = Duration::from_secs(2);
/// How long nothing happens before the first, to know what the fleet costs at rest; and the time after which a measured part ends.
/// Members send heartbeats each minute, all of those that were started together at once: each part has to have as many of them.
const MINUTE: Duration = Duration::from_mins(1);
const PATIENCE: Duration = Duration::from_mins(15);

/// What was measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Standard {
    pub(crate) rates: Option<Rates>,
    pub(crate) wide: Option<Wide>,
}

/// Rising rates of changes through each front end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Rates {
    pub(crate) members: usize,
    /// Services of each front end.
    pub(crate) services: usize,
    /// The share of a core that the hub had; all of the machine where this user may not limit it.
    pub(crate) hub_millicores: Option<u64>,
    pub(crate) copying: Vec<Step>,
    pub(crate) standard: Vec<Step>,
}

/// One Service that all members import.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Wide {
    /// Those that import it.
    pub(crate) members: usize,
    /// When the last member had each change, in milliseconds.
    pub(crate) last_ms: Vec<f64>,
    /// Writes on the hub per change, of whatever kind; signs of life are not counted.
    pub(crate) writes: f64,
    /// Changes one after the other, each as soon as the last member had the one before: beside as many, what the fleet needs at rest
    /// varies little.
    #[serde(default)]
    pub(crate) in_a_row: usize,
    /// CPU milliseconds of the hub's API server and store per change of these, without what they need at rest.
    pub(crate) servers_ms: f64,
    /// CPU milliseconds of the hub agent per change, likewise.
    pub(crate) hub_agent_ms: f64,
    pub(crate) hub_agent_peak_rss: u64,
}

impl Wide {
    /// The longest of all.
    pub(crate) fn slowest_ms(&self) -> f64 {
        self.last_ms.iter().copied().fold(0.0, f64::max)
    }
}

/// Starts the agent of a hub that serves the API, without members.
pub(crate) async fn serve(testbed: &Testbed) -> Result<(Agents, SimulatedMembers)> {
    let hub = testbed.hub().client();
    crds::install(&hub, &crds::load(&crds::MULTICLUSTER)?).await?;
    rbac::hub_multicluster().apply(&hub).await?;
    let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let environment = vec![set(MODE, "on"), set(SETTLE, "1s")];
    let options = AgentOptions { environment, ..AgentOptions::default() };
    Ok((Agents::start(testbed, &options).await?, SimulatedMembers::standard(testbed).await?))
}

/// Lets `size` members export and import through both front ends, then raises the rate of changes through each.
pub(crate) async fn rates(
    testbed: &Testbed,
    agents: &Agents,
    members: &mut SimulatedMembers,
    size: usize,
) -> Result<Rates> {
    members.grow(testbed, size).await?;
    let copying = fill(members, FrontEnd::Copying).await?;
    let standard = fill(members, FrontEnd::Standard).await?;
    let members = &*members;
    let pids = server_pids(testbed).chain(agents.pid(Agent::Hub)).collect();
    let quota = Quota::of(pids, HUB_MILLICORES)?;
    let load = |services| Load { testbed, agents, members, services, quota: quota.as_ref() };
    let services = copying.len();
    let copying = load(&copying).find(FIRST).await?;
    let first = best(&copying).map_or(FIRST, |step| step.rate * MORE);
    Ok(Rates {
        members: size,
        services,
        hub_millicores: quota.is_some().then_some(HUB_MILLICORES),
        copying,
        standard: load(&standard).find(first).await?,
    })
}

/// Services of each member, imported by those that come after it.
async fn fill(members: &mut SimulatedMembers, front_end: FrontEnd) -> Result<Vec<TestService>> {
    let size = members.size();
    let count = size * SHOPS;
    let first = if front_end == FrontEnd::Copying { 0 } else { count };
    let service = |number: usize| {
        let exporter = number % size;
        let importers = IMPORTERS.min(size - 1);
        TestService {
            front_end,
            number: first + number,
            exporters: vec![exporter],
            importers: (1..=importers).map(|after| (exporter + after) % size).collect(),
            slices: 1,
            endpoints: ENDPOINTS,
        }
    };
    let services: Vec<TestService> = (0..count).map(service).collect();
    for some in services.chunks(CHUNK) {
        for service in some {
            members.open(service);
        }
        let what = || format!("{front_end:?}, Services from {} on", some[0].number);
        members.settle(PATIENCE).await.with_context(what)?;
    }
    Ok(services)
}

/// Lets `size` members import one Service of a further one, then changes an endpoint of it, again and again.
pub(crate) async fn wide(
    testbed: &Testbed,
    agents: &Agents,
    members: &mut SimulatedMembers,
    size: usize,
) -> Result<Wide> {
    members.grow(testbed, size + 1).await?;
    let service = TestService {
        front_end: FrontEnd::Standard,
        number: 0,
        exporters: vec![0],
        importers: (1..=size).collect(),
        slices: 1,
        endpoints: ENDPOINTS,
    };
    members.open(&service);
    members.settle(PATIENCE).await.context("all members import")?;
    // Statuses follow the endpoints.
    sleep(MINUTE).await;
    let begin = Account::take(testbed, agents).await?;
    sleep(MINUTE).await;
    let (rested, at_rest) = (Account::take(testbed, agents).await?, Instant::now());
    let mut last_ms = Vec::new();
    for _ in 0..CHANGES {
        sleep(REST).await;
        last_ms.push(change(members, &service).await?.as_secs_f64() * 1e3);
    }
    let worked = whole_minutes(testbed, agents, at_rest).await?;
    let at_work = Instant::now();
    let mut in_a_row = 0;
    while at_work.elapsed() + REST + LAST < MINUTE {
        change(members, &service).await?;
        in_a_row += 1;
    }
    let busy = whole_minutes(testbed, agents, at_work).await?;
    let (rest, work) = (rested.since(&begin), worked.since(&rested));
    let row = busy.since(&worked);
    Ok(Wide {
        members: size,
        last_ms,
        writes: work.beyond(&rest, |spent| spent.all_writes) / count(CHANGES),
        in_a_row,
        servers_ms: row.beyond(&rest, |spent| spent.servers) / count(in_a_row) * 1e3,
        hub_agent_ms: row.beyond(&rest, |spent| spent.hub_agent) / count(in_a_row) * 1e3,
        hub_agent_peak_rss: agents.usage(Agent::Hub)?.peak_rss_bytes,
    })
}

/// Changes an endpoint; when the last member had it.
async fn change(members: &SimulatedMembers, service: &TestService) -> Result<Duration> {
    members.arrivals().take()?;
    members.change(service, 0, 0);
    members.settle(PATIENCE).await?;
    Ok(members.arrivals().take()?.percentile(100.0))
}

/// What was spent until whole minutes have passed since `begin`: what follows a change is part of it.
async fn whole_minutes(testbed: &Testbed, agents: &Agents, begin: Instant) -> Result<Account> {
    sleep(REST).await;
    let minutes = begin.elapsed().as_secs() / MINUTE.as_secs() + 1;
    sleep_until(begin + MINUTE * u32::try_from(minutes)?).await;
    Account::take(testbed, agents).await
}
