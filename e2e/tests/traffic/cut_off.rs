//! Members that do not reach the hub for a while, and agents that start meanwhile.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use fleet_api::{annotations, kinds, labels};
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::fleet::Fleet;
use fleet_testbed::hub_ways::HubWays;
use fleet_testbed::observer::Observer;
use fleet_testbed::wait::wait_until;
use fleet_testbed::{Options, Testbed, exchange};
use kube::api::DynamicObject;

use crate::held::wait_held;
use crate::hub_side::HubSide;
use crate::shared::{self, Exported, FLEET, STANDARD, addresses, imported, is_imported, is_of};
use crate::{EAST, SHOP};

const DEADLINE: Duration = Duration::from_mins(2);
/// The member that exports and imports.
const WEST: usize = 1;

pub(crate) async fn story() -> Result<()> {
    let testbed = Testbed::start(Options::members(2).without_audit()).await?;
    let result = Box::pin(cut_off(&testbed)).await;
    testbed.explain(result).await
}

/// Remote endpoints stay as they are, and own ones follow.
async fn cut_off(testbed: &Fleet) -> Result<()> {
    let side = HubSide { fleet: testbed, restarts: false, standard: true };
    side.prepare().await?;
    side.prepare_members().await?;
    let ways = HubWays::of(testbed).await?;
    let environment = shared::environment();
    let options = ways.taken_by(AgentOptions { environment, ..AgentOptions::default() });
    let mut agents = Agents::start(testbed, &options).await?;
    let west = testbed.member(WEST);
    let mut of_east = Exported::by(testbed.member(EAST)).await?;
    let mut of_west = Exported::by(west).await?;
    exchange::import(west, SHOP, FLEET, FLEET).await?;
    shared::wait_imported(west, &[&of_east, &of_west]).await?;
    side.wait_published(WEST, DEADLINE).await?;
    wait_held(&agents, Agent::Member(WEST), "OtherHub", 0, DEADLINE).await?;
    let mut observer = Observer::start_for([(west, kinds::ENDPOINT_SLICE)]).await?;

    ways.of_member(WEST).shut();
    for restarts in [false, true] {
        if restarts {
            agents.kill(Agent::Member(WEST))?;
            agents.launch(Agent::Member(WEST))?;
        }
        of_east.change().await?;
        of_west.change().await?;
        wait_own(testbed, &of_west, STANDARD).await?;
        if !restarts {
            wait_own(testbed, &of_west, FLEET).await?;
        }
    }
    let moved = observer
        .take()
        .into_iter()
        .find(|seen| is_imported(&seen.object) && source(&seen.object) != Some(west.name()));
    ensure!(moved.is_none(), "an endpoint of another cluster moved: {moved:?}");

    ways.of_member(WEST).open();
    agents.wait_ready().await?;
    shared::wait_imported(west, &[&of_east, &of_west]).await?;
    agents.check_alive()
}

/// The cluster whose endpoints a slice has.
fn source(slice: &DynamicObject) -> Option<&str> {
    let of_standard = slice.metadata.labels.as_ref();
    let of_standard = of_standard.and_then(|all| all.get(labels::MULTICLUSTER_SOURCE_CLUSTER));
    let of_fleet = || slice.metadata.annotations.as_ref()?.get(annotations::ORIGIN_CLUSTER);
    of_standard.or_else(of_fleet).map(String::as_str)
}

/// Waits until the own endpoints of a Service are those that west has now. Prints how long that took: a second at most, on an idle
/// machine.
async fn wait_own(testbed: &Fleet, of_west: &Exported, service: &str) -> Result<()> {
    let (west, begin) = (testbed.member(WEST), Instant::now());
    wait_until(&format!("own endpoints of {service} follow"), DEADLINE, async || {
        let slices = imported(west).await?;
        let mut of_service =
            slices.iter().filter(|slice| is_of(slice, service)).flat_map(addresses);
        Ok(of_service.any(|it| of_west.addresses.contains(&it)))
    })
    .await?;
    println!(
        "without the hub, own endpoints of {service} are seen after {:.1} s",
        begin.elapsed().as_secs_f64()
    );
    Ok(())
}
