//! A Service that crosses by the API of multicluster.x-k8s.io beside the other one: followed, traced, interrupted, withdrawn.

use anyhow::{Result, ensure};
use fleet_api::multicluster::standard::CLUSTERSET_ID;
use fleet_api::{ObjectName, ResourceKind, annotations, kinds, names};
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::multicluster::{MODE, SETTLE, export, unexport};
use fleet_testbed::objects::{api, find, remove};
use fleet_testbed::wait::{wait_for, wait_until};
use fleet_testbed::workload::{ManualService, next_address};
use fleet_testbed::{Testbed, crds, rbac};
use kube::api::PostParams;
use serde_json::{Value, json};

use crate::tool::Tool;
use crate::{DEADLINE, SERVICE, TEAM, WEB, WEST};

const IMPORT: ResourceKind = kinds::MCS_SERVICE_IMPORT;
const AGENTS: [Agent; 3] = [Agent::Hub, Agent::Member(0), WEST];
/// The verdict where nothing stops.
const BOTH: &str =
    "team/web works from member-1 to west; from member-1 to west (multicluster.x-k8s.io)";

/// The hub serves the API already, and west has the rights for it.
pub(crate) async fn a_service_of_both_apis_is_followed(
    testbed: &Testbed,
    tool: &Tool,
    agents: &mut Agents,
    web: &ManualService,
) -> Result<()> {
    let (east, west) = (testbed.member(0), testbed.member(1));
    tool.crosses().await?;
    serve(testbed, agents).await?;
    export(east, TEAM, WEB).await?;
    arrives(tool).await?;
    at_rest(tool).await?;
    traced(tool, web).await?;

    agents.kill(WEST)?;
    let service = ObjectName::new(TEAM, WEB);
    let [derived, _] = names::derived_import_candidates(&service);
    remove(west, kinds::SERVICE, (TEAM, &derived)).await?;
    let wanted = format!("its agent has yet to create Service team/{derived}");
    tool.stops("AgentBehind", &wanted).await?;
    let diff = tool.run(&["diff"]).await?.exits(1)?;
    diff.tells(&["on west, by west's agent (multicluster_import team/web)"])?;
    agents.launch(WEST)?;
    arrives(tool).await?;

    unexport(east, TEAM, WEB).await?;
    for cluster in [east, west] {
        let gone = format!("the import of {} is gone", cluster.name());
        wait_until(&gone, DEADLINE, async || {
            Ok(find(cluster, IMPORT, (TEAM, WEB)).await?.is_none())
        })
        .await?;
    }
    wait_for("the other path is left", DEADLINE, async || {
        let story = tool.run(&["explain", "service", SERVICE, "-o", "json"]).await?.exits(0)?;
        ensure!(story.json()?["verdict"] == "team/web works from member-1 to west", "{story:?}");
        Ok(Some(()))
    })
    .await?;
    set_mode(agents, "off").await
}

/// The import of another implementation, which this one leaves alone.
const FOREIGN: &str = "foreign";

/// ServiceImports as an agent leaves them that is gone for good, and one of another implementation.
pub(crate) async fn leave_imports(west: &Cluster) -> Result<()> {
    let ours = json!({ annotations::MULTICLUSTER_HUB: "uid-of-a-hub/0" });
    for (name, annotations) in [(WEB, ours), (FOREIGN, json!({}))] {
        let import = json!({
            "apiVersion": IMPORT.api_version(), "kind": IMPORT.kind,
            "metadata": { "name": name, "annotations": annotations },
            "spec": { "type": "ClusterSetIP", "ports": [{ "port": 80, "protocol": "TCP" }] },
        });
        let imports = api(west.client(), IMPORT, Some(TEAM));
        imports.create(&PostParams::default(), &serde_json::from_value(import)?).await?;
    }
    Ok(())
}

/// What is left of the API after a clean-up without an agent.
pub(crate) async fn only_others_are_left(west: &Cluster) -> Result<()> {
    let property = find(west, kinds::CLUSTER_PROPERTY, ("", CLUSTERSET_ID)).await?;
    ensure!(property.is_none(), "the name of the clusterset is left");
    ensure!(find(west, IMPORT, (TEAM, WEB)).await?.is_none(), "an import is left");
    ensure!(find(west, IMPORT, (TEAM, FOREIGN)).await?.is_some(), "it is another implementation's");
    remove(west, IMPORT, (TEAM, FOREIGN)).await
}

/// Definitions, rights, and agents that serve the API.
async fn serve(testbed: &Testbed, agents: &mut Agents) -> Result<()> {
    let hub = testbed.hub().client();
    for member in [testbed.member(0), testbed.member(1)] {
        crds::install(&member.client(), &crds::load(&crds::STANDARD)?).await?;
        rbac::member_multicluster().apply(&member.client()).await?;
    }
    rbac::multicluster_on_hub(testbed.member(0).name()).apply(&hub).await?;
    for agent in AGENTS {
        agents.set_variable(agent, SETTLE, "1s")?;
    }
    set_mode(agents, "on").await
}

async fn set_mode(agents: &mut Agents, mode: &str) -> Result<()> {
    for agent in AGENTS {
        agents.set_variable(agent, MODE, mode)?;
        agents.restart(agent).await?;
    }
    agents.wait_ready().await
}

/// Waits until it is printed that the Service crosses by both APIs, and with which steps.
async fn arrives(tool: &Tool) -> Result<()> {
    let story = wait_for("it crosses by both APIs", DEADLINE, async || {
        let story = tool.explain().await?.exits(0)?;
        story.tells(&[BOTH])?;
        Ok(Some(story))
    })
    .await?;
    story.tells(&[
        "ServiceExport.multicluster.x-k8s.io team/web",
        "from member-1; member-1 decides",
        "ready, with the endpoints of member-1",
        "web.team.svc.clusterset.local",
    ])
}

/// What was published is reported after a while.
async fn at_rest(tool: &Tool) -> Result<()> {
    let expected = json!([true, true, 1, 1, 0, 1, 1]);
    let status = wait_for("the member has published", DEADLINE, async || {
        let status = tool.run(&["status", "-o", "json"]).await?.succeeds()?.json()?;
        let mut members = status["members"].as_array().into_iter().flatten();
        let east = members.find(|member| member["name"] == "member-1").cloned();
        let standard = east.unwrap_or_default()["standard"].clone();
        let fields =
            ["accepted", "published", "exports", "exported", "conflicts", "imports", "ready"];
        let found = Value::from(fields.map(|field| standard[field].clone()).to_vec());
        ensure!(found == expected, "{standard}");
        Ok(Some(status))
    })
    .await?;
    let service = &status["standardServices"][0];
    ensure!(service["importers"] == json!(["member-1", "west"]), "{status}");
    ensure!(service["exporters"] == json!(["member-1"]), "{status}");
    let wide = tool.run(&["status", "-o", "wide"]).await?.succeeds()?;
    wide.tells(&["MULTICLUSTER", "READY IN"])?;
    let diff = tool.run(&["diff"]).await?.succeeds()?;
    ensure!(diff.out.is_empty(), "{}", diff.out);
    Ok(())
}

/// One change, through both APIs; the exporter's own clients reach it by a slice that never was on the hub.
async fn traced(tool: &Tool, web: &ManualService) -> Result<()> {
    let trace = tool.start(&["trace", SERVICE, "-o", "json"])?;
    let trace = trace.until("change its endpoints now").await?;
    web.set_addresses(&[next_address(), next_address(), next_address()]).await?;
    let said = trace.end().await?.succeeds()?;
    let hops: Vec<Value> = said.out.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let mut clusters: Vec<_> =
        hops.iter().map(|hop| hop["cluster"].as_str().unwrap_or_default()).collect();
    clusters.sort_unstable();
    let expected = ["hub", "hub", "member-1", "member-1", "west", "west"];
    ensure!(clusters == expected, "{}", said.out);
    let imported = |hop: &&Value| hop["stage"] == "imported through multicluster.x-k8s.io";
    ensure!(hops.iter().filter(imported).count() == 2, "{}", said.out);
    Ok(())
}
