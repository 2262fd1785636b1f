//! Latency of single, isolated changes: the floor, the chain of bare relays, and the agents, in turns.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hdrhistogram::Histogram;
use kube::Client;
use tokio::time::MissedTickBehavior;

use super::arrivals::{STATIONS, Station, Way};
use super::change_path::{ChangePath, EXPORTER, IMPORTER};
use super::relay;
use super::slice::Slice;
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::exchange;
use fleet_testbed::fleet::Fleet;
use fleet_testbed::mix::send;
use fleet_testbed::multicluster;
use fleet_testbed::wait::wait_until;

/// Changes of one kind before the other's turn: so few that others at work on the machine disturb all kinds alike.
const BLOCK: usize = 10;
/// Pause after each change, in which agents and servers come to rest.
const REST: Duration = Duration::from_millis(15);
/// The Service whose endpoints the agents carry.
pub(super) const STEADY: &str = "steady";
/// How many changes go ahead unmeasured: connections open, caches fill.
const WARM_UP: usize = 20;

/// Result of changes that go on until their future is dropped.
pub(super) type Noise = Result<Infallible>;

/// Times of one kind of change.
#[derive(Debug)]
pub(super) struct Series {
    whole: Histogram<u64>,
    hops: [Histogram<u64>; STATIONS],
    slowest: (Duration, [Option<Duration>; STATIONS]),
}

impl Series {
    pub(super) fn new() -> Result<Self> {
        let histogram = || Histogram::<u64>::new(3).context("three digits are valid");
        let hops = [histogram()?, histogram()?, histogram()?, histogram()?];
        Ok(Self { whole: histogram()?, hops, slowest: Default::default() })
    }

    /// How many changes were timed.
    pub(super) fn len(&self) -> u64 {
        self.whole.len()
    }

    /// A percentile of the whole way in milliseconds.
    pub(super) fn percentile(&self, percentile: f64) -> f64 {
        millis(&self.whole, percentile)
    }

    /// A percentile of the time from the previous station to this one, in milliseconds.
    pub(super) fn hop(&self, station: Station, percentile: f64) -> f64 {
        millis(&self.hops[station as usize], percentile)
    }

    /// The hops of the slowest change, in milliseconds: where it waited.
    pub(super) fn slowest(&self) -> [Option<f64>; STATIONS] {
        self.slowest.1.map(|hop| hop.map(|time| time.as_secs_f64() * 1e3))
    }

    fn add(&mut self, begin: Instant, way: &Way, last: Station) -> Result<()> {
        let end = way.at(last).context("a change arrived nowhere")?;
        let whole = end.saturating_duration_since(begin);
        self.whole.record(micros(whole))?;
        if whole > self.slowest.0 {
            self.slowest = (whole, way.hops(begin));
        }
        for (histogram, hop) in self.hops.iter_mut().zip(way.hops(begin)) {
            if let Some(hop) = hop {
                histogram.record(micros(hop))?;
            }
        }
        Ok(())
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn millis(histogram: &Histogram<u64>, percentile: f64) -> f64 {
    let micros = histogram.value_at_percentile(percentile);
    Duration::from_micros(micros).as_secs_f64() * 1e3
}

/// One kind of change, and its slice.
pub(super) struct Course {
    slice: Slice,
    last: Station,
    series: Series,
}

impl Course {
    fn new(slice: Slice, last: Station) -> Result<Self> {
        Ok(Self { slice, last, series: Series::new()? })
    }

    /// One write and its watch event on the exporting member.
    pub(super) async fn floor(path: &ChangePath) -> Result<Self> {
        let slice = Slice::alone(&path.exporter, relay::USER_NAMESPACE, "floor").await?;
        Self::new(slice, Station::Source)
    }

    /// The bare relays.
    pub(super) async fn chain(path: &ChangePath) -> Result<Self> {
        let slice = Slice::alone(&path.exporter, relay::USER_NAMESPACE, relay::SLICE).await?;
        Self::new(slice, Station::Target)
    }

    /// The bare relays of the shorter chain.
    pub(super) async fn direct(path: &ChangePath) -> Result<Self> {
        let slice = Slice::alone(&path.exporter, relay::USER_NAMESPACE, relay::DIRECT).await?;
        Self::new(slice, Station::Target)
    }

    /// The agents: exports and imports a new Service and waits until it is bound.
    pub(super) async fn steady(
        path: &ChangePath,
        fleet: &Fleet,
        (namespace, name): (&str, &str),
    ) -> Result<Self> {
        Self::crossing(path, (namespace, name), async {
            exchange::export(fleet.member(EXPORTER), namespace, name).await?;
            exchange::import(fleet.member(IMPORTER), namespace, name, name).await
        })
        .await
    }

    /// The same through the standard API, where each member that has the namespace imports.
    pub(super) async fn standard(
        path: &ChangePath,
        fleet: &Fleet,
        (namespace, name): (&str, &str),
    ) -> Result<Self> {
        let export = multicluster::export(fleet.member(EXPORTER), namespace, name);
        Self::crossing(path, (namespace, name), export).await
    }

    /// A new Service that crosses when its users have asked for it.
    async fn crossing(
        path: &ChangePath,
        (namespace, name): (&str, &str),
        asked: impl Future<Output = Result<()>>,
    ) -> Result<Self> {
        let slice = Slice::of_service(&path.exporter, namespace, name).await?;
        let arrival = path.arrivals.expect(slice.address(), Station::Target);
        asked.await?;
        arrival.wait().await.context("the first import")?;
        Self::new(slice, Station::Target)
    }

    /// What was measured so far; measuring starts anew.
    pub(super) fn take_series(&mut self) -> Result<Series> {
        Ok(std::mem::replace(&mut self.series, Series::new()?))
    }

    /// Changes that are not counted.
    pub(super) async fn warm_up(&mut self, path: &ChangePath) -> Result<()> {
        for _ in 0..WARM_UP {
            self.change(path, false).await?;
        }
        Ok(())
    }

    /// Changes one after the other, each when the one before has arrived and everything is at rest again.
    pub(super) async fn block(&mut self, path: &ChangePath, changes: usize) -> Result<()> {
        for _ in 0..changes {
            self.change(path, true).await?;
        }
        Ok(())
    }

    /// Changes on and on, whether the changes have arrived or not.
    pub(super) async fn change_every(&mut self, path: &ChangePath, pause: Duration) -> Noise {
        let mut tick = tokio::time::interval(pause);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            let (request, _) = self.slice.next_change()?;
            send(&path.exporter, request).await?;
        }
    }

    async fn change(&mut self, path: &ChangePath, counts: bool) -> Result<()> {
        let (request, address) = self.slice.next_change()?;
        let arrival = path.arrivals.expect(&address, self.last);
        let user: &Client = &path.exporter;
        let begin = Instant::now();
        let ((), way) = futures::try_join!(send(user, request), arrival.wait())?;
        if counts {
            self.series.add(begin, &way, self.last)?;
        }
        tokio::time::sleep(REST).await;
        Ok(())
    }
}

/// Withdraws what [`Course::steady`] made, all of a namespace, and waits until nothing of it is left.
pub(super) async fn withdraw(fleet: &Fleet, (namespace, names): (&str, &[&str])) -> Result<()> {
    for name in names {
        exchange::unexport(fleet.member(EXPORTER), namespace, name).await?;
        exchange::unimport(fleet.member(IMPORTER), namespace, name).await?;
    }
    let deadline = Duration::from_secs(30);
    wait_until("the steady Services are withdrawn", deadline, async || {
        Ok(fleet.leftovers_of(namespace).await?.is_empty())
    })
    .await
}

/// What the relays and the agents did in turns.
pub(super) struct Latency {
    pub(super) floor: Series,
    pub(super) chain: Series,
    pub(super) steady: Option<Series>,
    /// CPU time of each agent per change, in the agents' turns.
    pub(super) cpu_per_change: Vec<(Agent, Duration)>,
}

/// Measures everything in turns; without agents only floor and chain.
pub(super) async fn measure(
    path: &ChangePath,
    (mut floor, mut chain, mut steady): (Course, Course, Option<Course>),
    agents: Option<&Agents>,
    fleet: &Fleet,
    samples: usize,
) -> Result<Latency> {
    let everyone = agents.map(|_| fleet.agents()).unwrap_or_default();
    let mut used = vec![Duration::ZERO; everyone.len()];
    for course in [Some(&mut floor), Some(&mut chain), steady.as_mut()].into_iter().flatten() {
        course.warm_up(path).await?;
    }
    let mut left = samples;
    while left > 0 {
        let changes = left.min(BLOCK);
        left -= changes;
        floor.block(path, changes.div_ceil(2)).await?;
        chain.block(path, changes).await?;
        if let (Some(steady), Some(agents)) = (&mut steady, agents) {
            let before = usage(agents, &everyone)?;
            steady.block(path, changes).await?;
            for (used, (after, before)) in
                used.iter_mut().zip(usage(agents, &everyone)?.into_iter().zip(before))
            {
                *used += after.saturating_sub(before);
            }
        }
    }
    let changes = u32::try_from(samples.max(1))?;
    Ok(Latency {
        floor: floor.series,
        chain: chain.series,
        steady: steady.map(|steady| steady.series),
        cpu_per_change: everyone
            .into_iter()
            .zip(used.into_iter().map(|cpu| cpu / changes))
            .collect(),
    })
}

fn usage(agents: &Agents, everyone: &[Agent]) -> Result<Vec<Duration>> {
    everyone.iter().map(|&agent| Ok(agents.usage(agent)?.cpu)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_tells_the_whole_and_its_hops() {
        let begin = Instant::now();
        let at = |millis| Some(begin + Duration::from_millis(millis));
        let way = Way([at(2), at(5), at(9), at(14)]);
        let mut series = Series::new().unwrap();
        series.add(begin, &way, Station::Target).unwrap();
        assert_eq!(series.len(), 1);
        assert_eq!(series.slowest()[3].map(f64::round), Some(5.0));
        // Three digits of precision.
        assert!((series.percentile(50.0) - 14.0).abs() < 0.02);
        assert!((series.hop(Station::Import, 50.0) - 4.0).abs() < 0.01);
    }
}
