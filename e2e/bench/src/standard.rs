//! The standard API of SIG Multicluster: endpoint changes beside bare relays of as many hops and of one more, what they cost
//! the hub beside the copying front end, and 100 Services at once.

mod costs;
mod importers;
mod stations;
mod write_cost;

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fleet_testbed::agents::{AgentOptions, Agents};
use fleet_testbed::fleet::Fleet;
use fleet_testbed::multicluster::{MODE, SETTLE, prepare};
use tokio::sync::watch;

use crate::bulk::Services;
use crate::change_path::ChangePath;
use crate::hub_account::HubAccount;
use crate::latency::{Course, Series};
pub(super) use costs::{Cost, Spent};
use costs::{Costs, PLAYED};
pub(super) use write_cost::WriteCosts;

/// Importers of a slice whose writes are compared.
const READERS: usize = 10;
/// Services that are exported at once.
const SERVICES: usize = 100;
/// Changes in a row of each kind.
const BLOCK: usize = 10;
/// Longest time until imports have addresses.
const DEADLINE: Duration = Duration::from_mins(1);

/// Everything that was measured.
pub(super) struct Found {
    pub(super) four_hops: Series,
    pub(super) three_hops: Series,
    pub(super) steady: Series,
    pub(super) costs: Vec<Cost>,
    pub(super) rounds: Vec<Round>,
}

/// 100 Services at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// Until all slices were bound in the importing member, and clients had an address of each.
    pub(super) import: Duration,
    /// Until a change of each had arrived there.
    pub(super) burst: Duration,
}

/// The relays, ready before the agents are: a hub agent deletes a copy if it does not see yet what it was made from.
pub(super) struct Relays {
    four_hops: Course,
    three_hops: Course,
    addressed: watch::Receiver<usize>,
}

impl Relays {
    /// Prepares the clusters for the API, and starts the relays.
    pub(super) async fn start(path: &mut ChangePath, fleet: &Fleet) -> Result<Self> {
        prepare(fleet).await?;
        let addressed = stations::add(path, fleet).await?;
        let (mut four_hops, mut three_hops) =
            (Course::chain(path).await?, Course::direct(path).await?);
        four_hops.warm_up(path).await?;
        three_hops.warm_up(path).await?;
        Ok(Self { four_hops, three_hops, addressed })
    }
}

/// Starts agents that serve both front ends.
pub(super) async fn agents(fleet: &Fleet) -> Result<Agents> {
    let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let environment = vec![set(MODE, "on"), set(SETTLE, "1s")];
    Agents::start(fleet, &AgentOptions { environment, ..AgentOptions::default() }).await
}

/// Measures `samples` changes, and `rounds` of operations on many Services.
pub(super) async fn measure(
    path: &ChangePath,
    fleet: &Fleet,
    relays: Relays,
    (namespace, samples, rounds): (&str, usize, usize),
) -> Result<Found> {
    let Relays { four_hops, three_hops, mut addressed } = relays;
    let (standard, copying) = costs::courses(path, fleet, namespace).await?;
    let mut turns = [four_hops, three_hops, standard];
    let [four_hops, three_hops, steady] = in_turns(path, &mut turns, samples).await?;
    let [_, _, standard] = turns;

    let played = importers::prepare(fleet, PLAYED).await?;
    let hub = HubAccount::of(fleet)?;
    let costs = Costs { path, hub: &hub, played: &played, standard, copying, namespace }
        .measure(samples.div_ceil(2))
        .await?;

    let mut measured = Vec::new();
    for number in 0..rounds {
        let namespace = format!("{namespace}-standard-{number}");
        measured.push(round(path, fleet, &namespace, &mut addressed).await?);
    }
    Ok(Found { four_hops, three_hops, steady, costs, rounds: measured })
}

/// The same write of an exported slice with and without what it could be without, beside agents and played importers.
pub(super) async fn write_costs(fleet: &Fleet, writes: usize) -> Result<WriteCosts> {
    prepare(fleet).await?;
    let agents = agents(fleet).await?;
    let played = importers::prepare(fleet, READERS).await?;
    let found = write_cost::compare(fleet, &played, &HubAccount::of(fleet)?, writes).await;
    drop(agents);
    found
}

async fn in_turns(
    path: &ChangePath,
    courses: &mut [Course; 3],
    samples: usize,
) -> Result<[Series; 3]> {
    for course in courses.iter_mut() {
        course.warm_up(path).await?;
    }
    for _ in 0..samples.div_ceil(BLOCK) {
        for course in courses.iter_mut() {
            course.block(path, BLOCK).await?;
        }
    }
    let [four_hops, three_hops, steady] = courses;
    Ok([four_hops.take_series()?, three_hops.take_series()?, steady.take_series()?])
}

/// Exports Services that were never exported, and changes all of them.
async fn round(
    path: &ChangePath,
    fleet: &Fleet,
    namespace: &str,
    addressed: &mut watch::Receiver<usize>,
) -> Result<Round> {
    fleet.user_namespace(namespace).await?;
    let mut services = Services::make(path, namespace, SERVICES).await?;
    let all = *addressed.borrow() + SERVICES;
    let begin = Instant::now();
    let bound = services.import_standard(path);
    let reachable = async {
        let waited = tokio::time::timeout(DEADLINE, addressed.wait_for(|count| *count >= all));
        waited.await.context("imports have no addresses")?.context("the watch has ended")?;
        anyhow::Ok(())
    };
    futures::try_join!(bound, reachable)?;
    let import = begin.elapsed();
    let (burst, _) = services.burst(path).await?;
    Ok(Round { import, burst })
}
