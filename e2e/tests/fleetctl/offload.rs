//! What `fleetctl offload accept` and `withdraw` make of the member policy of an origin, by which P5 judges what it exports.

use anyhow::{Context, Result, ensure};
use fleet_api::kinds;
use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace};
use fleet_api::offload::CONSENT;
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::apply::apply;
use fleet_testbed::objects::{api, edit, find};
use fleet_testbed::turn::turn;
use fleet_testbed::virtual_node::{RANGE, options, prepare};
use fleet_testbed::wait::wait_until;
use fleet_testbed::{Options, Testbed, member_policy};
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::DEADLINE;
use crate::tool::Tool;

const ORIGIN: &str = "member-1";
const EXECUTOR: &str = "member-2";
const ACCEPT: [&str; 5] = ["offload", "accept", EXECUTOR, "--origin", ORIGIN];
const WITHDRAW: [&str; 5] = ["offload", "withdraw", EXECUTOR, "--origin", ORIGIN];

#[tokio::test(flavor = "multi_thread")]
async fn an_origin_exports_addresses_of_executors_that_it_accepts() {
    let _turn = turn().await;
    let testbed = Testbed::start(Options::members(2).without_audit()).await.unwrap();
    let result = story(&testbed).await;
    testbed.explain(result).await.unwrap();
}

/// No agent runs: what they would write is written by the test.
async fn story(testbed: &Testbed) -> Result<()> {
    prepare(testbed).await?;
    let agents = Agents::prepare(testbed, &options())?;
    let names =
        [(testbed.hub(), "hub"), (testbed.member(0), ORIGIN), (testbed.member(1), EXECUTOR)];
    let tool = Tool::of(testbed, agents.program(Agent::Hub)?, &names)?;
    set(testbed, ORIGIN, json!({ "offload-cidrs": null })).await?;
    // An API server answers no list of a kind that is new to it before it has read what there is.
    let nodes = api(testbed.hub().client(), kinds::VIRTUAL_NODE, None);
    wait_until("the hub lists virtual nodes", DEADLINE, async || {
        Ok(nodes.list(&ListParams::default()).await.is_ok())
    })
    .await?;

    // A member that has joined without ranges.
    set(testbed, EXECUTOR, json!({ "cidrs": "0.0.0.0/0,::/0" })).await?;
    let said = tool.run(&ACCEPT).await?.exits(2)?;
    said.tells(&["member-2 has no ranges of its own (0.0.0.0/0,::/0)"])?;
    set(testbed, EXECUTOR, json!({ "cidrs": "10.0.0.0/8" })).await?;
    tool.run(&ACCEPT).await?.exits(2)?.tells(&["(10.0.0.0/8) overlap"])?;
    let consent = (SYSTEM_NAMESPACE, CONSENT);
    let found = find(testbed.member(0), kinds::CONFIG_MAP, consent).await?;
    ensure!(found.is_none(), "it was accepted: {found:?}");
    allows(testbed, None).await?;

    // Before there is an offer.
    set(testbed, EXECUTOR, json!({ "cidrs": RANGE })).await?;
    let said = tool.run(&ACCEPT).await?.succeeds()?;
    said.tells(&["member-2 has no offer for member-1 on the hub"])?;
    allows(testbed, Some((RANGE, ""))).await?;
    offer(testbed).await?;
    tool.run(&ACCEPT).await?.succeeds()?;
    allows(testbed, Some((RANGE, "shop"))).await?;

    // What an earlier release has left.
    let open = json!({ "offload-cidrs": "0.0.0.0/0,::/0", "offload-namespaces": "*" });
    set(testbed, ORIGIN, open).await?;
    tool.run(&ACCEPT).await?.succeeds()?;
    allows(testbed, Some((RANGE, "shop"))).await?;

    pods(testbed, None).await?;
    tool.run(&WITHDRAW).await?.succeeds()?.tells(&["whose number is not known, are left"])?;
    pods(testbed, Some(2)).await?;
    tool.run(&WITHDRAW).await?.succeeds()?.tells(&["2 Pods of member-1 are left on member-2"])?;
    allows(testbed, Some((RANGE, "shop"))).await?;
    pods(testbed, Some(0)).await?;
    let dry = [&WITHDRAW[..], &["--dry-run"]].concat();
    tool.run(&dry).await?.succeeds()?.tells(&["Would set in the member policy of member-1"])?;
    allows(testbed, Some((RANGE, "shop"))).await?;
    let said = tool.run(&WITHDRAW).await?.succeeds()?;
    said.tells(&["allows it no addresses of member-2 any more"])?;
    allows(testbed, None).await
}

async fn set(testbed: &Testbed, member: &str, data: Value) -> Result<()> {
    let policy = (&*member_namespace(member), member_policy::NAME);
    edit(testbed.hub(), kinds::CONFIG_MAP, policy, json!({ "data": data })).await?;
    Ok(())
}

/// An error unless the origin may export these addresses of executors, for these namespaces.
async fn allows(testbed: &Testbed, expected: Option<(&str, &str)>) -> Result<()> {
    let policy = (&*member_namespace(ORIGIN), member_policy::NAME);
    let policy = find(testbed.hub(), kinds::CONFIG_MAP, policy).await?.context("a policy")?;
    let entry = |key: &str| policy.data["data"][key].as_str();
    let found = entry("offload-cidrs").zip(entry("offload-namespaces"));
    ensure!(found == expected, "{found:?} instead of {expected:?}");
    Ok(())
}

/// What the hub agent makes of an offer.
async fn offer(testbed: &Testbed) -> Result<()> {
    let kind = kinds::VIRTUAL_NODE;
    let node = json!({
        "apiVersion": kind.api_version(), "kind": kind.kind,
        "metadata": { "name": EXECUTOR, "namespace": member_namespace(ORIGIN) },
        "spec": { "executor": EXECUTOR, "phase": "Offered", "terms": { "namespaces": ["shop"] },
            "capacity": { "cpu": "1", "memory": "1Gi", "pods": 5 } },
    });
    apply(&testbed.hub().client(), node).await
}

/// What the agent of the origin reports of its Pods there, once the executor is not accepted.
async fn pods(testbed: &Testbed, count: Option<i64>) -> Result<()> {
    let namespace = member_namespace(ORIGIN);
    let nodes = api(testbed.hub().client(), kinds::VIRTUAL_NODE, Some(&namespace));
    let status = Patch::Merge(json!({ "status": { "accepted": false, "pods": count } }));
    nodes.patch_status(EXECUTOR, &PatchParams::default(), &status).await?;
    Ok(())
}
