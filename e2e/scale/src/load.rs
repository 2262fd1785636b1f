//! How many endpoint changes a second a hub carries.

use std::time::Duration;

use anyhow::Result;
use fleet_testbed::Testbed;
use fleet_testbed::agents::Agents;
use serde::{Deserialize, Serialize};
use tokio::time::{MissedTickBehavior, interval};

use crate::account::{Account, Spent};
use crate::growth::count;
use crate::quota::Quota;
use crate::simulated_members::{SimulatedMembers, TestService};

/// Changes per second at first where each has one importer.
pub(crate) const FIRST: f64 = 100.0;
/// Each step has half as many again.
const MORE: f64 = 1.5;
/// Steps between the highest rate that was sustained and the one that was not, halving the distance each time.
const BETWEEN: usize = 3;
/// How long a step lasts.
const STEP: Duration = Duration::from_secs(15);
const TICK: Duration = Duration::from_millis(10);
/// Above this, a rate is not sustained.
const LIMIT: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_mins(2);

/// One rate.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Step {
    /// Changes per second that were asked for.
    #[serde(skip)]
    pub(crate) wanted: f64,
    /// Changes per second that were made.
    pub(crate) rate: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) sustained: bool,
    /// The share of the periods in which the hub ran, and wanted more of the processor than it may have; where it has a [`Quota`].
    #[serde(default)]
    pub(crate) throttled: Option<f64>,
    /// What it took.
    pub(crate) spent: Spent,
}

/// The highest load that was sustained.
pub(crate) fn best(steps: &[Step]) -> Option<&Step> {
    let sustained = steps.iter().filter(|step| step.sustained);
    sustained.max_by(|one, other| one.rate.total_cmp(&other.rate))
}

/// Who is measured.
#[derive(Clone, Copy)]
pub(crate) struct Load<'a> {
    pub(crate) testbed: &'a Testbed,
    pub(crate) agents: &'a Agents,
    pub(crate) members: &'a SimulatedMembers,
    pub(crate) services: &'a [TestService],
    pub(crate) quota: Option<&'a Quota>,
}

impl Load<'_> {
    /// Raises the rate from `first` until it is not sustained.
    pub(crate) async fn raise(self, first: f64) -> Result<Vec<Step>> {
        let mut steps: Vec<Step> = Vec::new();
        let mut rate = first;
        while steps.last().is_none_or(|step| step.sustained) {
            steps.push(self.attempt(rate).await?);
            rate *= MORE;
        }
        Ok(steps)
    }

    /// [`Self::raise`], and then steps between the last two: how much one front end carries more than another would else be known
    /// to half of it only.
    pub(crate) async fn find(self, first: f64) -> Result<Vec<Step>> {
        let mut steps = self.raise(first).await?;
        if let [.., below, above] = steps.as_slice() {
            let (mut below, mut above) = (below.wanted, above.wanted);
            for _ in 0..BETWEEN {
                let rate = (below * above).sqrt();
                let step = self.attempt(rate).await?;
                *(if step.sustained { &mut below } else { &mut above }) = rate;
                steps.push(step);
            }
        }
        Ok(steps)
    }

    /// A rate that is not sustained is tried once more: a pause of the machine is no limit of the fleet.
    async fn attempt(self, rate: f64) -> Result<Step> {
        let step = self.step(rate).await?;
        if step.sustained { Ok(step) } else { self.step(rate).await }
    }

    async fn step(self, rate: f64) -> Result<Step> {
        let Self { testbed, agents, members, services, quota } = self;
        members.arrivals().take()?;
        let periods = || quota.map(Quota::periods).transpose();
        let (before, begun) = (Account::take(testbed, agents).await?, periods()?);
        let made = send(members, services, rate).await;
        let spent = Account::take(testbed, agents).await?.since(&before);
        let throttled = periods()?.zip(begun).map(|(now, begun)| now.throttled_since(begun));
        members.settle(PATIENCE).await?;
        let times = members.arrivals().take()?;
        let percentile = |percent| times.percentile(percent);
        Ok(Step {
            wanted: rate,
            rate: count(made) / spent.seconds,
            p50_ms: percentile(50.0).as_secs_f64() * 1e3,
            p99_ms: percentile(99.0).as_secs_f64() * 1e3,
            // A generator that cannot keep up is no measure of the rate.
            sustained: percentile(99.0) <= LIMIT && count(made) / spent.seconds > rate * 0.95,
            throttled,
            spent,
        })
    }
}

async fn send(members: &SimulatedMembers, services: &[TestService], rate: f64) -> usize {
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let begin = tokio::time::Instant::now();
    let mut made = 0;
    while begin.elapsed() < STEP {
        tick.tick().await;
        while count(made) < rate * begin.elapsed().as_secs_f64() {
            let service = &services[made * 37 % services.len()];
            members.change(service, service.exporters[0], 0);
            made += 1;
        }
    }
    made
}
