//! The fleet that the report extrapolates to, played in full: whether the arithmetic holds.

use anyhow::Result;
use fleet_testbed::Testbed;
use fleet_testbed::agents::Agents;
use serde::Serialize;

use crate::cold_start::{self, ColdStart, ENDPOINTS, IMPORTERS};
use crate::crowd::Crowd;
use crate::growth::{self, PACE, Point};

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
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Beyond {
    pub(crate) start: ColdStart,
    pub(crate) point: Point,
}

/// Lets the members join, export and import, starts the hub agent anew, then changes endpoints.
pub(crate) async fn measure(
    testbed: &Testbed,
    agents: &mut Agents,
    crowd: &mut Crowd,
) -> Result<Beyond> {
    crowd.grow(testbed, MEMBERS).await?;
    let shops = cold_start::fill(crowd, 0..SERVICES, EXPORTERS).await?;
    let start = cold_start::measure(testbed, agents, SERVICES).await?;
    let point = growth::point(testbed, agents, crowd, &shops, SLOWER).await?;
    Ok(Beyond { start, point })
}
