//! What one endpoint change costs the hub, with more and more importers, beside the copying front end.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fleet_testbed::fleet::Fleet;
use fleet_testbed::wait::wait_until;

use super::importers::{self, Importers, Played};
use super::write_cost::{self, Writer};
use crate::change_path::ChangePath;
use crate::hub_account::HubAccount;
use crate::latency::Course;

/// Numbers of importers, and whether the copying front end is measured beside it.
const STAGES: [(usize, bool); 4] = [(1, true), (10, false), (20, true), (100, false)];
/// Importers that are played: one is a member with an agent.
pub(super) const PLAYED: usize = 99;
/// Blocks of each front end. Each begins right after the API server has collected its garbage and ends with a collection, so that
/// each pays for its own: a cycle costs as much as a hundred changes of the standard API, and most garbage comes from copies.
const TURNS: usize = 2;
/// CPU time of the API server that all blocks of a front end take for each change asked for. Blocks of one length in CPU time have
/// about as many collections, and weigh their last one alike.
const SPENDING: Duration = Duration::from_millis(50);
/// Changes where only writes matter.
const FEW: usize = 20;
/// How long nothing happens before a block, to know what the API server needs at rest.
const REST: Duration = Duration::from_secs(3);
/// Longest time until all importers have their copies.
const DEADLINE: Duration = Duration::from_mins(2);

/// The Services that each front end carries.
pub(super) const COPIED: &str = "copied";
pub(super) const SHARED: &str = "shared";

/// Per change, with so many importers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) importers: usize,
    pub(crate) standard: Spent,
    pub(crate) copying: Option<Spent>,
    /// The write alone, without agents.
    pub(crate) bare: Option<Spent>,
}

/// What changes have cost the hub.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    changes: u32,
    cpu: f64,
    writes: f64,
}

impl Spent {
    /// CPU time of its API server per change, in milliseconds.
    pub(crate) fn cpu_ms(self) -> f64 {
        self.cpu / f64::from(self.changes.max(1)) * 1e3
    }

    /// Writes per change.
    pub(crate) fn writes(self) -> f64 {
        self.writes / f64::from(self.changes.max(1))
    }

    fn add(&mut self, other: Self) {
        self.changes += other.changes;
        self.cpu += other.cpu;
        self.writes += other.writes;
    }
}

/// What is measured.
pub(super) struct Costs<'a> {
    pub(super) path: &'a ChangePath,
    pub(super) hub: &'a HubAccount,
    pub(super) played: &'a [Played],
    pub(super) standard: Course,
    pub(super) copying: Course,
    pub(super) namespace: &'a str,
}

impl Costs<'_> {
    /// Measures all numbers of importers; blocks are as long as `changes` ask for where CPU time matters.
    pub(super) async fn measure(&mut self, changes: usize) -> Result<Vec<Cost>> {
        let mut costs = Vec::new();
        for (importers, with_copies) in STAGES {
            let played = &self.played[..importers - 1];
            costs.push(if with_copies {
                self.both(played, changes).await?
            } else {
                let standard = self.standard(played, Extent::Changes(FEW)).await?;
                Cost { importers, standard, copying: None, bare: None }
            });
        }
        Ok(costs)
    }

    /// Both front ends and the bare write, in turns.
    async fn both(&mut self, played: &[Played], changes: usize) -> Result<Cost> {
        importers::request(played, (self.namespace, COPIED)).await?;
        let block = Extent::Cpu(SPENDING * u32::try_from(changes.div_ceil(TURNS))?);
        let mut writer = played.first().map(Writer::untracked);
        let (mut standard, mut copying) = (Spent::default(), Spent::default());
        let mut bare = writer.as_ref().map(|_| Spent::default());
        for _ in 0..TURNS {
            copying.add(self.copying(played, block).await?);
            standard.add(self.standard(played, block).await?);
            if let Some((writer, bare)) = writer.as_mut().zip(bare.as_mut()) {
                bare.add(self.bare(writer, played, block).await?);
            }
        }
        Ok(Cost { importers: played.len() + 1, standard, copying: Some(copying), bare })
    }

    async fn copying(&mut self, played: &[Played], extent: Extent) -> Result<Spent> {
        let mut importers = Importers::of_copies(played, COPIED).await?;
        wait_until("all importers have their copies", DEADLINE, async || {
            Ok(importers.seen() >= played.len())
        })
        .await?;
        self.copying.warm_up(self.path).await?;
        let change = async || self.copying.block(self.path, 1).await;
        spend(self.hub, &mut importers, extent, change).await.context("through copies")
    }

    async fn standard(&mut self, played: &[Played], extent: Extent) -> Result<Spent> {
        let mut importers = Importers::of_standard(played, SHARED).await?;
        self.standard.warm_up(self.path).await?;
        let change = async || self.standard.block(self.path, 1).await;
        spend(self.hub, &mut importers, extent, change).await.context("through the standard API")
    }

    /// What no agent can do better: one write of a slice, on its own, that all importers see.
    async fn bare(
        &self,
        writer: &mut Writer<'_>,
        played: &[Played],
        extent: Extent,
    ) -> Result<Spent> {
        let mut importers = Importers::of_standard(played, write_cost::SERVICE).await?;
        writer.write().await?;
        let change = async || writer.write().await;
        spend(self.hub, &mut importers, extent, change).await.context("bare writes")
    }
}

/// How long a block is.
#[derive(Clone, Copy)]
enum Extent {
    /// Where only writes matter: a collection would cost more than all of them.
    Changes(usize),
    /// Until the API server has spent so much.
    Cpu(Duration),
}

impl Extent {
    fn is_reached(self, changes: usize, spent: Duration) -> bool {
        match self {
            Self::Changes(all) => changes >= all,
            Self::Cpu(all) => spent >= all,
        }
    }
}

/// One block of changes: one after the other, each when the one before has reached all importers. What the API server needs at rest
/// is subtracted.
async fn spend(
    hub: &HubAccount,
    importers: &mut Importers,
    extent: Extent,
    mut change: impl AsyncFnMut() -> Result<()>,
) -> Result<Spent> {
    tokio::time::sleep(REST / 3).await;
    let written = hub.writes().await?;
    let idle = hub.at_rest(REST).await?;
    hub.collect_garbage().await?;
    let (before, begin) = (hub.cpu()?, Instant::now());
    let mut changes = 0;
    while !extent.is_reached(changes, hub.cpu()?.saturating_sub(before)) {
        let seen = importers.seen();
        change().await?;
        importers.reach_one_more(seen).await?;
        changes += 1;
    }
    if matches!(extent, Extent::Cpu(_)) {
        hub.collect_garbage().await?;
    }
    let cpu = hub.cpu()?.saturating_sub(before).as_secs_f64();
    let cpu = cpu - idle * begin.elapsed().as_secs_f64();
    let writes = hub.writes().await? - written;
    Ok(Spent { changes: u32::try_from(changes)?, cpu, writes })
}

/// Exports the Services of both front ends, and returns the courses of their changes.
pub(super) async fn courses(
    path: &ChangePath,
    fleet: &Fleet,
    namespace: &str,
) -> Result<(Course, Course)> {
    let standard = Course::standard(path, fleet, (namespace, SHARED)).await?;
    let copying = Course::steady(path, fleet, (namespace, COPIED)).await?;
    Ok((standard, copying))
}
