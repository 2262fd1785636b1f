//! The way there and back in one order.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use fleet_api::kinds;
use fleet_testbed::agents::Agent;
use fleet_testbed::edition::Edition;
use fleet_testbed::fleet::Fleet;

use crate::additions;
use crate::changes::change_until;
use crate::charts::Charts;
use crate::findings::Kept;
use crate::gomade::GoMade;
use crate::offload::Offload;
use crate::part::{Direction, Part};
use crate::pods::{Pods, Strategy};
use crate::quotas;
use crate::services::{Additions, Services};
use crate::settled::wait_settled;
use crate::step::{Step, now};

/// A fleet at work, and the versions of its parts.
pub(crate) struct Rollout<'a> {
    pub(crate) fleet: &'a Fleet,
    pub(crate) charts: &'a Charts,
    pub(crate) old: &'a Edition,
    pub(crate) new: &'a Edition,
    pub(crate) pods: Pods,
    pub(crate) services: Services,
    pub(crate) go_made: GoMade,
    /// The steps so far.
    pub(crate) steps: Vec<Step>,
    /// What importers have by the additions, and when.
    pub(crate) added: Vec<Kept>,
    /// A Pod that crosses, while the additions are on.
    offload: Option<Offload>,
    /// Agents that are of the new version.
    upgraded: Vec<Agent>,
    /// How Pods are replaced in this roll.
    strategy: Strategy,
    rolls: usize,
}

impl<'a> Rollout<'a> {
    pub(crate) fn new(
        (fleet, charts): (&'a Fleet, &'a Charts),
        (old, new): (&'a Edition, &'a Edition),
        pods: Pods,
        services: Services,
        go_made: GoMade,
    ) -> Self {
        Self {
            fleet,
            charts,
            old,
            new,
            pods,
            services,
            go_made,
            steps: Vec::new(),
            added: Vec::new(),
            offload: None,
            upgraded: Vec::new(),
            strategy: Strategy::RollingUpdate,
            rolls: 0,
        }
    }

    /// Replaces all parts in this order.
    pub(crate) async fn roll(
        &mut self,
        order: &[Part],
        direction: Direction,
        strategy: Strategy,
    ) -> Result<()> {
        self.strategy = strategy;
        for &part in order {
            let step = self.step(part, direction).await;
            step.with_context(|| format!("{part} {direction}, in the order {}", names(order)))?;
        }
        self.rolls += 1;
        Ok(())
    }

    /// Replaces one part while endpoints change, and waits until the fleet has settled.
    async fn step(&mut self, part: Part, direction: Direction) -> Result<()> {
        let begin = now();
        let mut services = std::mem::take(&mut self.services);
        let done = AtomicBool::new(false);
        let replaced = async {
            let result = self.replace(part, direction).await;
            done.store(true, Ordering::Relaxed);
            result
        };
        let (replaced, changes) = tokio::join!(replaced, change_until(&mut services, part, &done));
        self.services = services;
        replaced?;
        let changes = changes?;
        self.pods.check_alive()?;
        let switched = (part == Part::Additions).then_some(direction);
        self.services.additions = match switched {
            Some(Direction::Forward) => Additions::On,
            Some(Direction::Back) => Additions::Off,
            None => self.services.additions,
        };
        wait_settled(self.fleet, &self.services).await?;
        if let Some(offload) = &self.offload {
            offload.runs(self.fleet).await?;
        }
        self.go_made.is_kept(self.fleet).await?;
        let end = now();
        match switched {
            Some(Direction::Forward) => {
                self.added.extend(additions::kept(self.fleet, &self.services, end).await?);
            }
            Some(Direction::Back) => {
                self.added.iter_mut().for_each(|kept| kept.until = kept.until.min(begin));
            }
            None => {}
        }
        self.steps.push(Step { roll: self.rolls, part, direction, begin, end, changes });
        Ok(())
    }

    async fn replace(&mut self, part: Part, direction: Direction) -> Result<()> {
        let forward = direction == Direction::Forward;
        match part {
            Part::Agent(agent) => {
                let edition = if forward { self.new } else { self.old };
                self.upgraded.retain(|one| *one != agent);
                self.upgraded.extend(forward.then_some(agent));
                self.pods.replace(self.fleet, &[(agent, edition)], self.strategy).await
            }
            Part::Charts => {
                if forward {
                    self.charts.upgrade(self.fleet, self.new).await?;
                    return self.restart(&self.fleet.agents()).await;
                }
                for agent in self.members_first() {
                    self.charts.roll_back(self.fleet, self.old, agent).await?;
                    self.restart(&[agent]).await?;
                }
                Ok(())
            }
            Part::Additions => self.switch(forward).await,
            Part::Pods => self.restart(&self.fleet.agents()).await,
        }
    }

    /// On in the hub first, off in the members first.
    async fn switch(&mut self, on: bool) -> Result<()> {
        if let Some(offload) = self.offload.take() {
            offload.end(self.fleet).await?;
        }
        if !on {
            additions::instruct(self.fleet, "Never").await?;
        }
        let agents = if on { self.fleet.agents() } else { self.members_first() };
        for agent in agents {
            self.charts.switch(self.fleet, self.new, agent, on).await?;
            self.restart(&[agent]).await?;
            match agent {
                // Once more: the object of the fleet and quotas come when the definitions are there.
                Agent::Hub if on => {
                    quotas::wait_known(self.fleet.hub(), kinds::EXPORTED_SERVICE).await?;
                    self.charts.switch(self.fleet, self.new, agent, on).await?;
                }
                Agent::Member(_) if !on => additions::wait_taken_back(self.fleet, agent).await?,
                _ => {}
            }
        }
        if on {
            additions::instruct(self.fleet, "Auto").await?;
            additions::export_all(self.fleet).await?;
            self.offload = Some(Offload::begin(self.fleet).await?);
        }
        Ok(())
    }

    /// In the order in which rights may be taken back: agents of members use those that the hub gives them.
    fn members_first(&self) -> Vec<Agent> {
        let mut agents = self.fleet.agents();
        agents.rotate_left(1);
        agents
    }

    /// A chart that changes a Deployment replaces its Pods, here with images that it does not name.
    async fn restart(&mut self, agents: &[Agent]) -> Result<()> {
        let agents: Vec<_> = agents
            .iter()
            .map(|&agent| (agent, if self.upgraded.contains(&agent) { self.new } else { self.old }))
            .collect();
        self.pods.replace(self.fleet, &agents, self.strategy).await
    }
}

fn names(order: &[Part]) -> String {
    order.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
