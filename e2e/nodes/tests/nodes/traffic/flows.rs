//! What belongs together stays together: datagrams from one port, and connections of one client to a Service with session affinity.
//! A drain moves only what is new, unless it removes.

use anyhow::{Result, ensure};
use fleet_nodes::balanced;
use fleet_nodes::crossing::Api;
use fleet_nodes::load::{Calling, Moment};
use fleet_testbed::wait::wait_for;
use serde_json::json;

use super::world::{ATTEMPTS, DEADLINE, Import, World};
use crate::steps::Steps;

const PODS: usize = 2;
/// Datagrams that show where a flow leads.
const DATAGRAMS: u64 = 30;
/// Connections that show where a client leads.
const CALLS: u64 = 100;
/// Connections of one client in a second.
const RATE: u32 = 25;
/// One client at least of eight is at the member that has most Pods, but for one run in sixty thousand.
const FEW_AND_MANY: [usize; 3] = [2, 6, 0];

/// A flow of datagrams stays at a member that is drained, and leaves one whose endpoints are removed.
pub(super) async fn datagrams(world: &World<'_>, api: Api, steps: &mut Steps) -> Result<()> {
    let name = format!("flows-{api:?}").to_lowercase();
    let over_udp = json!({ "ports": balanced::port("UDP") });
    let import = world.import_with(api, &name, [PODS, PODS, 0], &over_udp).await?;
    let east = world.name(1);
    let open = |number| world.flow(&import, number);
    let flow = world.leads_to(east, open);
    let flow = steps.take(&format!("{name}: a flow leads to the member"), flow).await?;
    let stayed = stays(world, &import, &flow);
    steps.take("it is drained: the flow stays, and new ones go elsewhere", stayed).await?;
    let moved = moves(world, &import, &flow);
    steps.take("it is drained with removal: the flow moves", moved).await?;
    let back = async {
        undrained(world, &import, PODS).await?;
        leads(world, &flow, world.name(0)).await
    };
    steps.take("it returns: the flow stays where it is", back).await?;
    let all = flow.end().await?;
    eprintln!("{all}");
    // The answer to the one that is under way when the flow moves may come from where nothing is expected any more.
    ensure!(all.failed() <= 1, "{all}");
    Ok(())
}

/// Each client has one Pod. A drain moves those of the drained member once, and no others.
pub(super) async fn sessions(world: &World<'_>, steps: &mut Steps) -> Result<()> {
    let sticky = json!({ "sessionAffinity": "ClientIP" });
    let import = world.import_with(Api::Standard, "sessions", FEW_AND_MANY, &sticky).await?;
    let east = world.name(1);
    let clients = world.call_apart(&import, RATE)?;
    let rest = each_has_one_pod(&clients, Moment::of(0), None);
    steps.take("each client has one Pod", rest).await?;
    let drained = async {
        drained(world, &import, FEW_AND_MANY[1], false).await?;
        let synced = world.clients.wait_synced().await?;
        each_has_one_pod(&clients, synced, Some(east)).await
    };
    steps.take("the member is drained: each has one elsewhere", drained).await?;
    let back = async {
        undrained(world, &import, FEW_AND_MANY[1]).await?;
        let synced = world.clients.wait_synced().await?;
        each_has_one_pod(&clients, synced, Some(east)).await
    };
    steps.take("it returns: each stays where it is", back).await?;
    let mut moved = 0;
    for client in clients {
        let all = client.end().await?;
        let was_there = usize::from(all.of(east) > 0);
        moved += was_there;
        ensure!(all.failed() == 0 && all.pods() == 1 + was_there, "{} Pods: {all}", all.pods());
    }
    eprintln!("{moved} clients have moved");
    ensure!(moved > 0, "no client was at {east}");
    Ok(())
}

async fn each_has_one_pod(
    clients: &[Calling],
    since: Moment,
    but_not_at: Option<&str>,
) -> Result<()> {
    for client in clients {
        let tally = client.next(CALLS, since).await?;
        ensure!(tally.pods() == 1, "{} Pods: {tally}", tally.pods());
        ensure!(but_not_at.is_none_or(|member| tally.of(member) == 0), "{tally}");
    }
    Ok(())
}

async fn stays(world: &World<'_>, import: &Import<'_>, flow: &Calling) -> Result<()> {
    let east = world.name(1);
    drained(world, import, PODS, false).await?;
    leads(world, flow, east).await?;
    for number in 0..ATTEMPTS {
        let new = world.flow(import, ATTEMPTS + number)?;
        let tally = new.next(1, Moment::of(0)).await?;
        ensure!(tally.answered() > 0 && tally.of(east) == 0, "a new flow: {tally}");
        new.end().await?;
    }
    leads(world, flow, east).await
}

async fn moves(world: &World<'_>, import: &Import<'_>, flow: &Calling) -> Result<()> {
    drained(world, import, 0, true).await?;
    let west = world.name(0);
    // kube-proxy ends flows after it has programmed what is new.
    wait_for("the flow moves", DEADLINE, async || Ok(flow.so_far()?.first_of(west))).await?;
    leads(world, flow, west).await
}

/// All datagrams of a flow lead to a member from now on.
async fn leads(world: &World<'_>, flow: &Calling, member: &str) -> Result<()> {
    let tally = flow.next(DATAGRAMS, world.clients.wait_synced().await?).await?;
    ensure!(tally.of(member) == tally.all(), "{tally}");
    Ok(())
}

/// The second member is drained at once, and so many of its endpoints are left, as last resort.
async fn drained(world: &World<'_>, import: &Import<'_>, left: usize, remove: bool) -> Result<()> {
    let east = world.name(1);
    let drain = json!({ "percent": 100, "overSeconds": 0, "remove": remove });
    world.drain(import, east, drain).await?;
    world
        .until(import, "it is drained", |it| it.ready(east) == 0 && it.all(east) == left)
        .await
        .map(drop)
}

async fn undrained(world: &World<'_>, import: &Import<'_>, ready: usize) -> Result<()> {
    let east = world.name(1);
    world.drain(import, east, json!({ "percent": 0, "overSeconds": 0 })).await?;
    world.until(import, "it is back", |prepared| prepared.ready(east) == ready).await.map(drop)
}
