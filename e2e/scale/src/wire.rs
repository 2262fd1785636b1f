//! What crosses the hub when one endpoint of a large Service changes.

use std::time::Duration;

use anyhow::Result;
use fleet_testbed::Testbed;
use fleet_testbed::agents::Agents;
use serde::{Deserialize, Serialize};

use crate::account::Account;
use crate::growth::count;
use crate::simulated_members::{FrontEnd, SimulatedMembers, TestService};

/// 5000 endpoints.
const SLICES: usize = 50;
const ENDPOINTS: usize = 100;
const CHANGES: usize = 20;
const PATIENCE: Duration = Duration::from_mins(2);

/// Per change of one endpoint.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Wire {
    pub(crate) endpoints: usize,
    /// Writes on the hub: one slice exported, one copied.
    pub(crate) writes: f64,
    /// Bytes of those requests.
    pub(crate) written: f64,
    /// Bytes of their watch events.
    pub(crate) watched: f64,
}

/// Exports a Service of 5000 endpoints from the first member to the second.
pub(crate) async fn measure(
    testbed: &Testbed,
    agents: &Agents,
    members: &mut SimulatedMembers,
    number: usize,
) -> Result<Wire> {
    let service = TestService {
        front_end: FrontEnd::Copying,
        number,
        exporters: vec![0],
        importers: vec![1],
        slices: SLICES,
        endpoints: ENDPOINTS,
    };
    members.open(&service);
    members.settle(PATIENCE).await?;
    let before = Account::take(testbed, agents).await?;
    for change in 0..CHANGES {
        members.change(&service, 0, change % SLICES);
        members.settle(PATIENCE).await?;
    }
    let spent = Account::take(testbed, agents).await?.since(&before);
    let each = |sum: f64| sum / count(CHANGES);
    Ok(Wire {
        endpoints: SLICES * ENDPOINTS,
        writes: each(spent.writes),
        written: each(spent.written),
        watched: each(spent.watched),
    })
}
