//! What agents hold back, by their metrics.

use std::time::Duration;

use anyhow::Result;
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::scrape::Scrape;
use fleet_testbed::wait::wait_until;

/// Waits until an agent shows so much for a reason.
pub(crate) async fn wait_held(
    agents: &Agents,
    agent: Agent,
    reason: &str,
    count: u32,
    deadline: Duration,
) -> Result<()> {
    wait_until(&format!("{agent:?} shows {count} for {reason}"), deadline, async || {
        Ok((shown(agents, agent, reason).await? - f64::from(count)).abs() < 0.5)
    })
    .await
}

/// Waits until an agent, which may have just started, shows any for a reason.
pub(crate) async fn wait_any_held(
    agents: &Agents,
    agent: Agent,
    reason: &str,
    deadline: Duration,
) -> Result<()> {
    wait_until(&format!("{agent:?} shows some for {reason}"), deadline, async || {
        Ok(shown(agents, agent, reason).await.is_ok_and(|shown| shown > 0.5))
    })
    .await
}

async fn shown(agents: &Agents, agent: Agent, reason: &str) -> Result<f64> {
    let scrape = Scrape::of(agents, agent).await?;
    Ok(scrape.sum("fleet_networking_traffic_held", &[("reason", reason)]))
}
