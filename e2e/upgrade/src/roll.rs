//! The way there and back in one order.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use fleet_testbed::agents::Agent;
use fleet_testbed::fleet::Fleet;

use crate::changes::change_until;
use crate::charts::Charts;
use crate::edition::Edition;
use crate::gomade::GoMade;
use crate::part::{Direction, Part};
use crate::pods::{Pods, Strategy};
use crate::services::Services;
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
        wait_settled(self.fleet, &self.services).await?;
        self.go_made.is_kept(self.fleet).await?;
        let end = now();
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
                } else {
                    self.charts.roll_back(self.fleet, self.old).await?;
                }
                self.restart_all().await
            }
        }
    }

    /// A chart that changes a Deployment replaces its Pods, here with images that it does not name.
    async fn restart_all(&mut self) -> Result<()> {
        let agents = [Agent::Hub].into_iter();
        let agents = agents.chain((0..self.fleet.members().len()).map(Agent::Member));
        let agents: Vec<_> = agents
            .map(|agent| (agent, if self.upgraded.contains(&agent) { self.new } else { self.old }))
            .collect();
        self.pods.replace(self.fleet, &agents, self.strategy).await
    }
}

fn names(order: &[Part]) -> String {
    order.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
