//! Single endpoint changes while another member gives the hub more to do than it can: it changes slices that many import, and
//! stores exports by the thousand.
//!
//! On a fleet of its own, with the hub as it is shipped: what is stored stays.

mod noise;
pub(super) mod objects;

use anyhow::{Result, bail};

use super::change_path::ChangePath;
use super::latency::Course;
use super::scrape::Scrape;
use super::turns::{Beside, Turns};
use fleet_testbed::agents::Agents;
use fleet_testbed::fleet::Fleet;
use noise::Noise;

/// The Service that is measured.
const MEASURED: &str = "beside-flood";

/// Everything that was measured.
pub(super) struct Flood {
    /// With everything at rest.
    pub(super) before: Beside,
    /// With one member at work.
    pub(super) during: Beside,
    /// What that member and the agents did meanwhile, as lines for the report.
    pub(super) notes: Vec<String>,
}

/// Measures `samples` changes before the flood, and as many while it lasts. What the relays of `chain` write has to be
/// there before the agents start: a hub agent deletes a copy if it does not see yet what it was made from.
pub(super) async fn measure(
    path: &ChangePath,
    fleet: &Fleet,
    agents: &Agents,
    chain: Course,
    (namespace, samples): (&str, usize),
) -> Result<Flood> {
    let mut noise = Noise::prepare(fleet).await?;
    let steady = Course::steady(path, fleet, (namespace, MEASURED)).await?;
    let mut turns = Turns { path, chain, steady, samples };
    let before = turns.beside("before one member floods the hub").await?;
    let rest = Scrape::read(fleet, agents).await?;
    let tally = noise.tally();
    let during = tokio::select! {
        during = turns.beside("while one member floods the hub") => during?,
        ended = noise.run() => { ended?; bail!("the flood has ended") }
    };
    let work = Scrape::read(fleet, agents).await?.since(&rest);
    let notes = vec![format!("flood: {tally}"), format!("agents meanwhile: {work}")];
    Ok(Flood { before, during, notes })
}
