//! What `fleetctl doctor` finds of Pods that are to run in another member, on real API servers: an offer that its origin has not
//! accepted, one that is not in force, an executor that is silent, and a policy that has all addresses for executors.

use anyhow::{Result, ensure};
use fleet_api::kinds;
use fleet_api::names::member_namespace;
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::objects::edit;
use fleet_testbed::turn::turn;
use fleet_testbed::virtual_node::{RANGE, decide, offer, options, prepare};
use fleet_testbed::wait::wait_until;
use fleet_testbed::{Options, Testbed, member_policy};
use serde_json::json;

use crate::doctor::{EAST, finds_nothing_of};
use crate::tool::Tool;
use crate::{DEADLINE, TEAM};

const EXECUTOR: Agent = Agent::Member(1);
const NODES: &str = "hub virtual-nodes  ";
const OFFERS: &str = "hub offload-offers  ";
const OF_EXECUTORS: &str = "hub executor-ranges  ";

#[tokio::test(flavor = "multi_thread")]
async fn a_doctor_finds_what_keeps_pods_from_another_member() {
    let _turn = turn().await;
    let testbed = Testbed::start(Options::members(2).without_audit()).await.unwrap();
    let result = story(&testbed).await;
    testbed.explain(result).await.unwrap();
}

async fn story(testbed: &Testbed) -> Result<()> {
    let (origin, executor) = (testbed.member(0), testbed.member(1));
    prepare(testbed).await?;
    testbed.user_namespace(TEAM).await?;
    let mut agents = Agents::start(testbed, &options()).await?;
    let names = [(testbed.hub(), "hub"), (origin, EAST), (executor, "member-2")];
    let tool = Tool::of(testbed, agents.program(Agent::Hub)?, &names)?;
    is_mended(&tool).await?;

    decide(executor, offer(origin, TEAM, &json!({}))).await?;
    let words = "member-2 offers to run Pods of member-1, which has not accepted that";
    finds(&tool, NODES, words).await?;
    decide(origin, json!({ "accept.member-2": "" })).await?;
    is_mended(&tool).await?;

    let policy = (&*member_namespace(executor.name()), member_policy::NAME);
    let ranges = |ranges: &str| json!({ "data": { "cidrs": ranges } });
    edit(testbed.hub(), kinds::CONFIG_MAP, policy, ranges("10.0.0.0/8")).await?;
    finds(&tool, OFFERS, "the offer of member-2 is not in force: ").await?;
    edit(testbed.hub(), kinds::CONFIG_MAP, policy, ranges(RANGE)).await?;
    is_mended(&tool).await?;

    let policy = (&*member_namespace(origin.name()), member_policy::NAME);
    let ranges = |ranges: &str| json!({ "data": { "offload-cidrs": ranges } });
    edit(testbed.hub(), kinds::CONFIG_MAP, policy, ranges("0.0.0.0/0,::/0")).await?;
    finds(&tool, OF_EXECUTORS, "member-1 may export any address as one of its executors").await?;
    edit(testbed.hub(), kinds::CONFIG_MAP, policy, ranges(RANGE)).await?;
    is_mended(&tool).await?;

    agents.kill(EXECUTOR)?;
    finds(&tool, NODES, "member-2 renews its Lease on the hub no longer").await?;
    agents.launch(EXECUTOR)?;
    is_mended(&tool).await
}

/// Waits until a check has a line with these words.
async fn finds(tool: &Tool, check: &str, words: &str) -> Result<()> {
    let line = format!("{check}{words}");
    wait_until(&line, DEADLINE, async || {
        let said = tool.run(&["doctor", "--member", EAST]).await?;
        ensure!(said.out.contains(&line), "{}", said.out);
        Ok(true)
    })
    .await
}

/// Waits until nothing is found of Pods in other members.
async fn is_mended(tool: &Tool) -> Result<()> {
    finds_nothing_of(tool, &[NODES, OFFERS, OF_EXECUTORS]).await
}
