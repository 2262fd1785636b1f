//! What one endpoint change costs the hub, with more and more importers, beside the copying front end.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fleet_testbed::fleet::Fleet;
use fleet_testbed::wait::wait_until;

use super::importers::{self, Importers, Played};
use crate::change_path::ChangePath;
use crate::hub_account::HubAccount;
use crate::latency::Course;

/// Numbers of importers, and whether the copying front end is measured beside it.
const STAGES: [(usize, bool); 4] = [(1, true), (10, false), (20, true), (100, false)];
/// Importers that are played: one is a member with an agent.
pub(super) const PLAYED: usize = 99;
/// Blocks of each front end.
const TURNS: usize = 2;
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
    /// Measures all numbers of importers; `changes` of each front end where CPU time matters.
    pub(super) async fn measure(&mut self, changes: usize) -> Result<Vec<Cost>> {
        let mut costs = Vec::new();
        for (importers, with_copies) in STAGES {
            let played = &self.played[..importers - 1];
            costs.push(if with_copies {
                self.both(played, changes).await?
            } else {
                let standard = self.standard(played, FEW).await?;
                Cost { importers, standard, copying: None }
            });
        }
        Ok(costs)
    }

    /// Both front ends, in turns.
    async fn both(&mut self, played: &[Played], changes: usize) -> Result<Cost> {
        importers::request(played, (self.namespace, COPIED)).await?;
        let (mut standard, mut copying) = (Spent::default(), Spent::default());
        for _ in 0..TURNS {
            copying.add(self.copying(played, changes.div_ceil(TURNS)).await?);
            standard.add(self.standard(played, changes.div_ceil(TURNS)).await?);
        }
        Ok(Cost { importers: played.len() + 1, standard, copying: Some(copying) })
    }

    async fn copying(&mut self, played: &[Played], changes: usize) -> Result<Spent> {
        let mut importers = Importers::of_copies(played, COPIED).await?;
        wait_until("all importers have their copies", DEADLINE, async || {
            Ok(importers.seen() >= played.len())
        })
        .await?;
        let meter = Meter { path: self.path, hub: self.hub, course: &mut self.copying };
        meter.changes(&mut importers, changes).await.context("through copies")
    }

    async fn standard(&mut self, played: &[Played], changes: usize) -> Result<Spent> {
        let mut importers = Importers::of_standard(played, SHARED).await?;
        let meter = Meter { path: self.path, hub: self.hub, course: &mut self.standard };
        meter.changes(&mut importers, changes).await.context("through the standard API")
    }
}

/// One block of changes.
struct Meter<'a> {
    path: &'a ChangePath,
    hub: &'a HubAccount,
    course: &'a mut Course,
}

impl Meter<'_> {
    /// Changes one after the other, each when the one before has reached all importers. What the API server needs at rest is
    /// subtracted.
    async fn changes(self, importers: &mut Importers, changes: usize) -> Result<Spent> {
        self.course.warm_up(self.path).await?;
        tokio::time::sleep(REST / 3).await;
        let written = self.hub.writes().await?;
        let idle = self.hub.at_rest(REST).await?;
        let (before, begin) = (self.hub.cpu()?, Instant::now());
        for _ in 0..changes {
            let seen = importers.seen();
            self.course.block(self.path, 1).await?;
            importers.reach_one_more(seen).await?;
        }
        let cpu = self.hub.cpu()?.saturating_sub(before).as_secs_f64();
        let cpu = cpu - idle * begin.elapsed().as_secs_f64();
        let writes = self.hub.writes().await? - written;
        Ok(Spent { changes: u32::try_from(changes)?, cpu, writes })
    }
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
