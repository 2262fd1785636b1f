//! Agents of one version are replaced by those of another while a Service of the fleet is called: the hub's first, then those of the
//! members, one by one.

use anyhow::{Result, ensure};
use fleet_nodes::crossing::Api;
use fleet_nodes::load::{Calling, Moment};
use fleet_testbed::agents::Agents;
use fleet_testbed::edition::Edition;

use super::world::{Import, World, no_more_fail};
use crate::steps::Steps;

/// In each cluster that exports.
const PODS: usize = 2;
const CALLS: u64 = 1000;
/// Agents start beside it, which takes processors.
const RATE: u32 = 200;
/// The clusters that export, whose Pods change: each agent has something to do.
const EXPORTERS: [usize; 2] = [1, 2];

pub(super) async fn check(
    world: &World<'_>,
    agents: &mut Agents,
    editions: [&Edition; 2],
    steps: &mut Steps,
) -> Result<()> {
    let import = world.import(Api::Fleet, "upgraded", [0, PODS, PODS]);
    let import = steps.take("a Service is imported", import).await?;
    let (calls, plain) = (world.call_at(&import, RATE)?, world.call_plain(&import, RATE)?);
    calls.next(CALLS, Moment::now()).await?;
    for edition in editions {
        for agent in world.fleet.fleet().agents() {
            let what = format!("{} of {}", world.fleet.fleet().agent_name(agent), edition.name);
            let replaced = async {
                agents.replace(agent, &edition.programs).await?;
                for exporter in EXPORTERS {
                    follows(world, &import, exporter, &calls).await?;
                }
                Ok(())
            };
            steps.take(&what, replaced).await?;
        }
    }
    agents.check_alive()?;
    let (tally, plain) = (calls.end().await?, plain.end().await?);
    eprintln!("{tally}; of the plain Service: {plain}");
    no_more_fail(&tally, &plain)
}

/// A Pod that is not ready gets no calls, and gets them again when it is.
async fn follows(
    world: &World<'_>,
    import: &Import<'_>,
    exporter: usize,
    calls: &Calling,
) -> Result<()> {
    let far = world.name(exporter);
    for ready in [PODS - 1, PODS] {
        world.set_ready(import.servers_in(far)?, ready).await?;
        let what = format!("{ready} endpoints of {far} are ready");
        world.until(import, &what, |prepared| prepared.ready(far) == ready).await?;
        let tally = calls.next(CALLS, world.clients.wait_synced().await?).await?;
        ensure!(tally.pods() == PODS + ready, "{tally}");
    }
    Ok(())
}
