//! Many exports that are withdrawn at once: more than may be missing without a second look.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use fleet_api::kinds;
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::fleet::Fleet;
use fleet_testbed::observer::{Observer, What};
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address};
use fleet_testbed::{Options, Testbed, exchange, multicluster};
use futures::{StreamExt as _, TryStreamExt as _};

use crate::held::wait_held;
use crate::hub_side::HubSide;
use crate::shared::{self, imported};
use crate::{EAST, SHOP};

/// How many exports there are by each API, if not [`EXPORTS`].
const COUNT: &str = "FLEET_WITHDRAWN_EXPORTS";
const EXPORTS: usize = 500;
const IN_FLIGHT: usize = 32;
const DEADLINE: Duration = Duration::from_mins(5);
/// The limit that is printed.
const LIMIT: Duration = Duration::from_secs(12);
/// The member that imports.
const IMPORTER: usize = 1;

/// One API after the other: the Service of each number has both exports, and one of them is withdrawn at a time.
pub(crate) async fn story() -> Result<()> {
    let count = std::env::var(COUNT).ok().map_or(Ok(EXPORTS), |count| count.parse())?;
    let testbed = Testbed::start(Options::members(2).without_audit()).await?;
    let result = Box::pin(withdraw(&testbed, count)).await;
    testbed.explain(result).await
}

async fn withdraw(fleet: &Fleet, count: usize) -> Result<()> {
    let side = HubSide { fleet, restarts: false, standard: true };
    side.prepare().await?;
    side.prepare_members().await?;
    let options = AgentOptions { environment: shared::environment(), ..AgentOptions::default() };
    let mut agents = Agents::start(fleet, &options).await?;
    let (east, west) = (fleet.member(EAST), fleet.member(IMPORTER));
    each(count, async |name| {
        ManualService::deploy(east, &ServiceSpec::http(SHOP, &name), &[next_address()]).await?;
        exchange::export(east, SHOP, &name).await?;
        multicluster::export(east, SHOP, &name).await?;
        exchange::import(west, SHOP, &name, &name).await
    })
    .await?;
    wait_count(fleet, 2 * count).await?;
    side.wait_published(EAST, DEADLINE).await?;
    wait_held(&agents, Agent::Member(IMPORTER), "OtherHub", 0, DEADLINE).await?;
    let mut observer = Observer::start_for([(west, kinds::ENDPOINT_SLICE)]).await?;

    let begin = Instant::now();
    each(count, async |name| exchange::unexport(east, SHOP, &name).await).await?;
    let asked = begin.elapsed();
    wait_count(fleet, count).await?;
    print("the API of the fleet", count, (asked, begin, observer.take().last().map(|it| it.at)));

    let begin = Instant::now();
    each(count, async |name| multicluster::unexport(east, SHOP, &name).await).await?;
    let asked = begin.elapsed();
    wait_count(fleet, 0).await?;
    let gone = observer.take();
    print("the standard API", count, (asked, begin, gone.last().map(|it| it.at)));
    ensure!(gone.iter().any(|it| it.what == What::Gone), "slices went");
    agents.check_alive()
}

async fn each(count: usize, act: impl AsyncFn(String) -> Result<()>) -> Result<()> {
    futures::stream::iter(0..count)
        .map(|number| act(format!("service-{number}")))
        .buffer_unordered(IN_FLIGHT)
        .try_collect::<Vec<()>>()
        .await?;
    Ok(())
}

async fn wait_count(fleet: &Fleet, count: usize) -> Result<()> {
    wait_until(&format!("{count} imported slices"), DEADLINE, async || {
        Ok(imported(fleet.member(IMPORTER)).await?.len() == count)
    })
    .await
}

/// Users' requests take their time, too: what counts begins with the last of them.
fn print(api: &str, count: usize, (asked, begin, last): (Duration, Instant, Option<Instant>)) {
    let all = last.map_or_else(|| begin.elapsed(), |last| last.duration_since(begin));
    println!(
        "{count} exports by {api}: withdrawn within {:.1} s, the last slice is gone {:.1} s after the first request, {:.1} s after the \
         last (limit {} s)",
        asked.as_secs_f64(),
        all.as_secs_f64(),
        all.saturating_sub(asked).as_secs_f64(),
        LIMIT.as_secs()
    );
}
