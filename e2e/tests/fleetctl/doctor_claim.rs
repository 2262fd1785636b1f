//! What `fleetctl doctor` finds of what the hub and its members know of each other: agents are stopped, it is changed behind their
//! backs, and they mend it once they run again.

use anyhow::Result;
use fleet_api::{annotations, kinds};
use fleet_testbed::Testbed;
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::objects::{api, edit};
use fleet_testbed::wait::wait_until;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::doctor::{EAST, finds, finds_nothing_of, is_sound};
use crate::tool::Tool;
use crate::{DEADLINE, TEAM, WEB};

const WEST: &str = "member-2";
/// A hub that is no more.
const PAST: &str = "past/0";

/// West has never connected.
pub(crate) async fn what_hub_and_members_know_is_compared(
    testbed: &Testbed,
    tool: &Tool,
    agents: &mut Agents,
) -> Result<()> {
    let (hub, east) = (testbed.hub(), testbed.member(0));
    a_member_connects(tool, agents).await?;
    exports_that_the_hub_may_lack_are_found(hub, tool, agents).await?;
    another_hub_that_is_named_is_found(hub, tool, agents).await?;
    imports_of_another_hub_are_found(east, tool, agents).await
}

async fn a_member_connects(tool: &Tool, agents: &mut Agents) -> Result<()> {
    agents.launch(Agent::Member(1))?;
    wait_until("the hub knows the member", DEADLINE, async || {
        let said = tool.run(&["doctor", "--member", "member-2=west"]).await?;
        said.finds_none_of(&["member-2 claim", "member-2 published", "member-2 access"])?;
        Ok(true)
    })
    .await
}

/// Of a member that is looked at, and of another one.
async fn exports_that_the_hub_may_lack_are_found(
    hub: &Cluster,
    tool: &Tool,
    agents: &mut Agents,
) -> Result<()> {
    agents.kill(Agent::Member(1))?;
    publish(hub, WEST, json!(PAST)).await?;
    let words = "hub unpublished  members have reported their exports to another hub and not yet to this one: member-2";
    finds(tool, 0, &["1 warnings", words]).await?;
    publish(hub, WEST, Value::Null).await?;
    let words = "hub unpublished  members have never reported that the hub has all of their exports: member-2";
    finds(tool, 0, &["0 warnings", words]).await?;
    agents.launch(Agent::Member(1))?;
    finds_nothing_of(tool, &["hub unpublished"]).await?;
    agents.kill(Agent::Member(1))?;

    agents.kill(Agent::Member(0))?;
    publish(hub, EAST, Value::Null).await?;
    let words =
        "member-1 published  the member has not reported that the hub has all of its exports";
    finds(tool, 0, &["1 warnings", words]).await?;
    agents.launch(Agent::Member(0))?;
    is_sound(tool).await
}

async fn publish(hub: &Cluster, member: &str, to: Value) -> Result<()> {
    let namespace = format!("fleet-member-{member}");
    let change = json!({ "spec": { "publishedTo": to } });
    edit(hub, kinds::CLUSTER_REPORT, (&namespace, member), change).await.map(drop)
}

async fn another_hub_that_is_named_is_found(
    hub: &Cluster,
    tool: &Tool,
    agents: &mut Agents,
) -> Result<()> {
    // A member would begin again with the other hub.
    agents.kill(Agent::Member(0))?;
    agents.kill(Agent::Hub)?;
    let reports = api(hub.client(), kinds::CLUSTER_REPORT, Some("fleet-member-member-1"));
    let change = Patch::Merge(json!({ "status": { "incarnation": PAST } }));
    reports.patch_status(EAST, &PatchParams::default(), &change).await?;
    let words = "member-1 incarnation  the hub agent has named another hub to the member (past/0) than there is";
    finds(tool, 1, &["1 failures", words]).await?;
    agents.launch(Agent::Hub)?;
    is_sound(tool).await?;
    agents.launch(Agent::Member(0))
}

async fn imports_of_another_hub_are_found(
    east: &Cluster,
    tool: &Tool,
    agents: &mut Agents,
) -> Result<()> {
    agents.kill(Agent::Member(0))?;
    let change = json!({ "metadata": { "annotations": { annotations::MULTICLUSTER_HUB: PAST } } });
    edit(east, kinds::MCS_SERVICE_IMPORT, (TEAM, WEB), change).await?;
    let words = "member-1 incarnation  1 ServiceImports were confirmed by another hub and not yet by this one: team/web";
    finds(tool, 1, &["1 failures", words]).await?;
    agents.launch(Agent::Member(0))?;
    is_sound(tool).await
}
