//! What one endpoint change costs in fleets of different sizes.

use std::time::Duration;

use anyhow::Result;
use fleet_testbed::Testbed;
use fleet_testbed::agents::{Agent, Agents};
use serde::{Deserialize, Serialize};
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::account::{Account, Spent};
use crate::simulated_members::{FrontEnd, SimulatedMembers, TestService};

/// Sizes of the fleet.
pub(crate) const SIZES: [usize; 3] = [1, 10, 100];
/// Services that each member exports, to one other.
const SHOPS: usize = 10;
/// Endpoints of each slice.
const ENDPOINTS: usize = 10;
/// Changes per second, far from any limit.
pub(crate) const PACE: u32 = 50;
const CHANGES: usize = 1000;
/// How long nothing happens, to know what a fleet of that size costs at rest.
const REST: Duration = Duration::from_secs(15);
const PATIENCE: Duration = Duration::from_mins(5);

/// A fleet of one size.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Point {
    pub(crate) members: usize,
    pub(crate) services: usize,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    /// CPU milliseconds of the hub agent per change, without what it needs at rest.
    pub(crate) hub_agent_ms: f64,
    /// CPU milliseconds of all members' agents per change, their clusters in memory included, without what they need at
    /// rest.
    pub(crate) member_agents_ms: f64,
    /// CPU milliseconds of the hub's API server and store per change, likewise.
    pub(crate) servers_ms: f64,
    /// Writes on the hub per change.
    pub(crate) writes: f64,
    /// Resident bytes of the hub agent.
    pub(crate) hub_agent_rss: u64,
    /// Share of a core that the hub agent needs at rest, in percent.
    pub(crate) rest_percent: f64,
    /// The same of the hub's API server and store: heartbeats, and watches that are kept.
    pub(crate) servers_rest_percent: f64,
    /// Resident bytes of the hub's API server and store.
    pub(crate) servers_rss: u64,
}

/// Measures one size after the other; the fleet has the last one afterwards. Returns its Services, too.
pub(crate) async fn measure(
    testbed: &Testbed,
    agents: &Agents,
    members: &mut SimulatedMembers,
    sizes: &[usize],
) -> Result<(Vec<Point>, Vec<TestService>)> {
    let (mut points, mut services) = (Vec::new(), Vec::new());
    for &size in sizes {
        let before = members.size();
        members.grow(testbed, size).await?;
        for number in before * SHOPS..size * SHOPS {
            let exporter = number / SHOPS;
            let importers = vec![(exporter + 1) % size];
            let service = TestService {
                front_end: FrontEnd::Copying,
                number,
                exporters: vec![exporter],
                importers,
                slices: 1,
                endpoints: ENDPOINTS,
            };
            members.open(&service);
            services.push(service);
        }
        members.settle(PATIENCE).await?;
        points.push(point(testbed, agents, members, &services, PACE).await?);
    }
    Ok((points, services))
}

/// What one change costs in this fleet, at `pace` changes a second.
pub(crate) async fn point(
    testbed: &Testbed,
    agents: &Agents,
    members: &SimulatedMembers,
    services: &[TestService],
    pace: u32,
) -> Result<Point> {
    // Statuses follow the endpoints.
    sleep(REST / 5).await;
    let begin = Account::take(testbed, agents).await?;
    sleep(REST).await;
    let rested = Account::take(testbed, agents).await?;
    members.arrivals().take()?;
    let mut pace = interval(Duration::from_secs(1) / pace);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for number in 0..CHANGES {
        pace.tick().await;
        // Neighbours in time are of different members.
        let service = &services[number * 37 % services.len()];
        members.change(service, service.exporters[0], 0);
    }
    members.settle(PATIENCE).await?;
    let worked = Account::take(testbed, agents).await?;
    let (rest, work) = (rested.since(&begin), worked.since(&rested));
    let times = members.arrivals().take()?;
    let millis = |percent| times.percentile(percent).as_secs_f64() * 1e3;
    let each = |of: fn(&Spent) -> f64| work.beyond(&rest, of) / count(CHANGES) * 1e3;
    Ok(Point {
        members: members.size(),
        services: services.len(),
        p50_ms: millis(50.0),
        p99_ms: millis(99.0),
        hub_agent_ms: each(|spent| spent.hub_agent),
        member_agents_ms: each(|spent| spent.members),
        servers_ms: each(|spent| spent.servers),
        writes: (work.writes - rest.writes) / count(CHANGES),
        hub_agent_rss: agents.usage(Agent::Hub)?.rss_bytes,
        rest_percent: rest.hub_agent / rest.seconds * 100.0,
        servers_rest_percent: rest.servers / rest.seconds * 100.0,
        servers_rss: worked.servers_rss(),
    })
}

/// Counts here are small.
pub(crate) fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

/// Mebibytes.
pub(crate) fn mib(bytes: u64) -> f64 {
    count(usize::try_from(bytes / 1024).unwrap_or(usize::MAX)) / 1024.0
}

/// The exponent `e` of `y = c * x^e` that fits the points best (least squares of the logarithms).
pub(crate) fn exponent(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.max(1e-9).ln())).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / count(logs.len());
    let (x, y) = (mean(|log| log.0), mean(|log| log.1));
    let covariance: f64 = logs.iter().map(|log| (log.0 - x) * (log.1 - y)).sum();
    let variance: f64 = logs.iter().map(|log| (log.0 - x).powi(2)).sum();
    covariance / variance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_are_fitted() {
        let of = |exponent: f64| [1.0, 10.0, 100.0].map(|x: f64| (x, 3.0 * x.powf(exponent)));
        for expected in [0.0, 0.1, 1.0, 2.0] {
            assert!((exponent(&of(expected)) - expected).abs() < 1e-9);
        }
    }
}
