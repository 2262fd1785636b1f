//! The fleet that the report extrapolates to, played in full: whether the arithmetic holds.

use anyhow::Result;
use fleet_testbed::Testbed;
use fleet_testbed::agents::Agents;
use serde::{Deserialize, Serialize};

use crate::cold_start::{self, ColdStart, ENDPOINTS, IMPORTERS};
use crate::growth::{self, PACE, Point};
use crate::simulated_members::SimulatedMembers;

/// Members, and Services of them.
pub(crate) const MEMBERS: usize = 1000;
pub(crate) const SERVICES: usize = 2000;
/// How many members export each Service, with a slice each.
pub(crate) const EXPORTERS: usize = 5;
/// Slices that are exported.
pub(crate) const SLICES: usize = SERVICES * EXPORTERS;
/// Endpoints in them.
pub(crate) const ALL_ENDPOINTS: usize = SLICES * ENDPOINTS;
/// Each change is as many writes and more as there are importers.
const SLOWER: u32 = PACE / 5;
const _: () = assert!(ALL_ENDPOINTS == 100_000 && IMPORTERS == 3);

/// What such a fleet costs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LargeFleet {
    pub(crate) start: ColdStart,
    pub(crate) point: Point,
}

/// Lets the members join, export and import, starts the hub agent anew, then changes endpoints.
pub(crate) async fn measure(
    testbed: &Testbed,
    agents: &mut Agents,
    members: &mut SimulatedMembers,
) -> Result<LargeFleet> {
    members.grow(testbed, MEMBERS).await?;
    let services = cold_start::fill(members, 0..SERVICES, EXPORTERS).await?;
    let start = cold_start::measure(testbed, agents, SERVICES).await?;
    let point = growth::point(testbed, agents, members, &services, SLOWER).await?;
    Ok(LargeFleet { start, point })
}
