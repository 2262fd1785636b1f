//! Members that are silent: their agent is killed, or everything of them.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, ensure};
use fleet_nodes::crossing::Api;
use fleet_nodes::load::Moment;
use fleet_testbed::agents::{Agent, Agents};
use serde_json::Value;

use super::world::{DEADLINE, World, no_more_fail};
use crate::steps::Steps;

const PODS: usize = 2;
/// The last member.
const FAR: usize = 2;
const RATE: u32 = 200;
/// Connections to what has died that were under way have failed by then.
const CONNECT: Duration = Duration::from_secs(4);

fn state(status: &Value) -> (Option<&str>, Option<u64>) {
    (status["silence"]["state"].as_str(), status["silence"]["percent"].as_u64())
}

/// The agent of the last member leads, as agents do that have replicas: so it renews nothing while its own API server is down.
pub(super) fn variables() -> BTreeMap<Agent, Vec<(String, String)>> {
    let leads = ("LEADER_ELECT".to_owned(), "true".to_owned());
    BTreeMap::from([(Agent::Member(FAR), vec![leads])])
}

/// Its Pods go on, so no call fails, and none goes there once it is silent. It returns with its agent.
pub(super) async fn agent_killed(
    world: &World<'_>,
    agents: &mut Agents,
    steps: &mut Steps,
) -> Result<()> {
    let far = world.name(FAR);
    let import = world.import(Api::Standard, "quiet", [PODS, 0, PODS]).await?;
    let (calls, plain) = (world.call_at(&import, RATE)?, world.call_plain(&import, RATE)?);
    let killed = Moment::now();
    agents.kill(Agent::Member(FAR))?;
    let silent =
        world.decided(far, "silent", |status| state(status) == (Some("Silent"), Some(100)));
    steps.take("a member without an agent is silent", silent).await?;
    world
        .until(&import, "its endpoints are last resort", |prepared| prepared.ready(far) == 0)
        .await?;
    let synced = world.clients.wait_synced().await?;
    let took = Moment::now().milliseconds() - killed.milliseconds();
    eprintln!("out of the way after {:.1} s", Duration::from_millis(took).as_secs_f64());
    let tally = calls.next(1000, synced).await?;
    ensure!(tally.of(far) == 0, "{tally}");
    agents.launch(Agent::Member(FAR))?;
    agents.wait_ready_of(Agent::Member(FAR)).await?;
    let returned = world.until(&import, "a part has returned", |prepared| prepared.ready(far) > 0);
    let part = steps.take("with its agent it returns", returned).await?;
    ensure!(part.ready(far) < PODS, "all at once");
    world.until(&import, "all has returned", |prepared| prepared.ready(far) == PODS).await?;
    let (tally, plain) = (calls.end().await?, plain.end().await?);
    eprintln!("{tally}");
    no_more_fail(&tally, &plain)
}

/// API server and Pods of a member die: calls fail until it is out of the way, and none after that.
pub(super) async fn member_killed(world: &World<'_>, steps: &mut Steps) -> Result<()> {
    let far = world.name(FAR);
    let import = world.import(Api::Standard, "dead", [PODS, 0, PODS]).await?;
    let calls = world.call_at(&import, RATE)?;
    calls.next(u64::from(RATE), Moment::now()).await?;
    let killed = Moment::now();
    // Without a kubelet, Pods that died are not started again.
    let script = "pkill -STOP -x kubelet; pkill -KILL -x fleet-load; pkill -KILL -x loader; true";
    world.fleet.node(FAR).sandbox().run("sh", &["-c", script]).await?;
    let plane = world.member(FAR).control_plane();
    if let Some(plane) = plane {
        plane.kill_apiserver().await;
    }
    let silent =
        world.decided(far, "silent", |status| state(status) == (Some("Silent"), Some(100)));
    steps.take("a member that is dead is silent", silent).await?;
    world
        .until(&import, "its endpoints are last resort", |prepared| prepared.ready(far) == 0)
        .await?;
    let synced = world.clients.wait_synced().await?;
    let took = Moment::now().milliseconds() - killed.milliseconds();
    eprintln!("out of the way after {:.1} s", Duration::from_millis(took).as_secs_f64());
    let tally = calls.next(1000, synced.after(CONNECT)).await?;
    ensure!(tally.failed() == 0 && tally.of(far) == 0, "{tally}");
    let all = calls.end().await?;
    eprintln!("{all}");
    ensure!(all.failed() > 0, "nothing has died: {all}");
    ensure!(DEADLINE > Duration::from_millis(took), "too late");
    Ok(())
}
