//! The standard API of SIG Multicluster on real control planes: what members export and import.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy takes only #[test] functions for tests"
)]

mod clusters;
mod failures;
mod hub;
mod imports;
mod user;
mod writes;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_api::multicluster::standard::{CLUSTER_ID, CLUSTERSET_ID};
use fleet_api::{kinds, labels};
use fleet_oracle::Recording;
use fleet_oracle::recorder::Recorder;
use fleet_oracle::rights::refused;
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::multicluster::{MODE, SETTLE, prepare};
use fleet_testbed::objects::{api, edit, find, remove};
use fleet_testbed::turn::turn;
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address};
use fleet_testbed::{Options, Testbed};
use kube::api::ListParams;
use serde_json::{Value, json};

use hub::HubSide;
use user::{conditions, export, service};

const DEADLINE: Duration = Duration::from_mins(2);
const SHOP: &str = "shop";
const WEB: &str = "web";
/// The member that exports.
const EAST: Agent = Agent::Member(0);
/// Another one.
const WEST: Agent = Agent::Member(1);

#[tokio::test(flavor = "multi_thread")]
async fn members_import_through_the_standard_api() {
    let _turn = turn().await;
    let testbed = Testbed::start(Options::members(3)).await.unwrap();
    let result = imports::story(&testbed).await;
    testbed.explain(result).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn members_export_through_the_standard_api() {
    let _turn = turn().await;
    let testbed = Testbed::start(Options::members(2)).await.unwrap();
    let result = async {
        story(&testbed).await?;
        // On the same clusters: to start others costs more than all of this.
        failures::story(&testbed).await
    };
    let result = result.await;
    testbed.explain(result).await.unwrap();
}

/// The chapters build on each other: each needs what the one before has left.
async fn story(testbed: &Testbed) -> Result<()> {
    prepare(testbed).await?;
    let hub = testbed.hub();
    let recorder = Recorder::start(testbed).await?;
    testbed.user_namespace(SHOP).await?;
    let mut agents = Agents::prepare(testbed, &options())?;
    let side = HubSide { hub, member: testbed.member(0) };

    nothing_is_exported_before_the_hub_has_accepted(&side, &mut agents).await?;
    a_service_and_its_endpoints_are_on_the_hub(&side).await?;
    a_changed_export_is_changed_on_the_hub(&side).await?;
    both_versions_are_read_and_conflicts_reported(&side, testbed.member(1)).await?;
    what_cannot_be_exported_is_reported(&side).await?;
    all_of_it_goes_with_the_export(&side).await?;
    a_clean_up_leaves_what_users_made(&side, &mut agents).await?;

    drop(agents);
    recorder.stop().await?;
    let recording = Recording::read(testbed.run_path())?;
    let refused = refused(&recording);
    ensure!(refused.is_empty(), "{refused:?}");
    Ok(())
}

/// All agents serve the API.
fn options() -> AgentOptions {
    let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let environment = vec![set(MODE, "on"), set(SETTLE, "1s")];
    AgentOptions { environment, ..AgentOptions::default() }
}

/// The claim comes first, then the properties and the export.
async fn nothing_is_exported_before_the_hub_has_accepted(
    side: &HubSide<'_>,
    agents: &mut Agents,
) -> Result<()> {
    let spec = ServiceSpec::http(SHOP, WEB);
    ManualService::deploy(side.member, &spec, &[next_address()]).await?;
    export(side.member, "v1beta1", WEB, &json!({})).await?;
    agents.launch(EAST)?;
    reported(side.member, WEB, ["True Valid", "Unknown Pending", "-"]).await?;
    ensure!(side.exported(WEB).await?.is_none(), "the hub has not accepted the cluster");
    for name in [CLUSTER_ID, CLUSTERSET_ID] {
        ensure!(property(side.member, name).await?.is_none(), "{name}");
    }
    agents.launch(Agent::Hub)?;
    agents.launch(WEST)?;
    agents.wait_ready().await
}

/// ServiceExport, ExportedService, ResolvedService, EndpointSliceExport with label; then the mark.
async fn a_service_and_its_endpoints_are_on_the_hub(side: &HubSide<'_>) -> Result<()> {
    wait_until("its slices are on the hub", DEADLINE, async || {
        Ok(slices(side, WEB).await?.len() == 1)
    })
    .await?;
    reported(side.member, WEB, ["True Valid", "True Exported", "False NoConflicts"]).await?;
    wait_until("the cluster has its properties", DEADLINE, async || {
        let id = property(side.member, CLUSTER_ID).await?;
        let set = property(side.member, CLUSTERSET_ID).await?;
        Ok(id.as_deref() == Some(side.member.name()) && set.as_deref() == Some("fleet"))
    })
    .await?;
    wait_until("the mark of the member", DEADLINE, async || {
        let report = side.report().await?;
        let published = &report["spec"]["publishedTo"];
        Ok(published.is_string() && *published == report["status"]["incarnation"])
    })
    .await
}

async fn a_changed_export_is_changed_on_the_hub(side: &HubSide<'_>) -> Result<()> {
    let labels = json!({ "spec": { "exportedLabels": { "team": "b" } } });
    edit(side.member, kinds::MCS_SERVICE_EXPORT, (SHOP, WEB), labels).await?;
    wait_until("the label is on the hub", DEADLINE, async || {
        Ok(side.exported(WEB).await?.is_some_and(|found| found["spec"]["labels"]["team"] == "b"))
    })
    .await
}

/// An export of the old version is the same object, and both users read that their clusters differ.
async fn both_versions_are_read_and_conflicts_reported(
    side: &HubSide<'_>,
    west: &Cluster,
) -> Result<()> {
    let spec = ServiceSpec::http(SHOP, "api");
    ManualService::deploy(side.member, &spec, &[next_address()]).await?;
    export(side.member, "v1alpha1", "api", &json!({ "exportedLabels": { "team": "a" } })).await?;
    wait_until("the Service is on the hub", DEADLINE, async || {
        Ok(side.exported("api").await?.is_some_and(|found| found["spec"]["labels"]["team"] == "a"))
    })
    .await?;
    let other = ServiceSpec::new(SHOP, "api").port("other", "TCP", 81, 8081);
    ManualService::deploy(west, &other, &[next_address()]).await?;
    export(west, "v1beta1", "api", &json!({})).await?;
    let differ = ["True Valid", "True Exported", "True PortConflict,LabelsConflict"];
    reported(side.member, "api", differ).await?;
    reported(west, "api", differ).await
}

async fn what_cannot_be_exported_is_reported(side: &HubSide<'_>) -> Result<()> {
    export(side.member, "v1beta1", "absent", &json!({})).await?;
    reported(side.member, "absent", ["False NoService", "False Failed", "-"]).await?;
    let external = json!({ "type": "ExternalName", "externalName": "example.com" });
    service(side.member, "elsewhere", &external).await?;
    export(side.member, "v1beta1", "elsewhere", &json!({})).await?;
    reported(side.member, "elsewhere", ["False InvalidServiceType", "False Failed", "-"]).await?;
    let headless = json!({ "clusterIP": "None", "ports": [{ "name": "http", "port": 80 }] });
    service(side.member, "headless", &headless).await?;
    export(side.member, "v1beta1", "headless", &json!({})).await?;
    reported(side.member, "headless", ["True Valid", "True Exported", "False NoConflicts"]).await?;
    let exported = side.exported("headless").await?.context("it is on the hub")?;
    ensure!(exported["spec"]["type"] == "Headless", "{exported}");
    Ok(())
}

async fn all_of_it_goes_with_the_export(side: &HubSide<'_>) -> Result<()> {
    remove(side.member, kinds::MCS_SERVICE_EXPORT, (SHOP, "api")).await?;
    wait_until("nothing of the Service is on the hub", DEADLINE, async || {
        let slices = slices(side, "api").await?;
        let own = |slice: &Value| {
            slice["spec"]["endpointSliceReference"]["clusterId"] == side.member.name()
        };
        Ok(side.exported("api").await?.is_none() && !slices.iter().any(own))
    })
    .await
}

/// The mode `clean-up`: the hub and the properties are cleaned, users keep their objects.
async fn a_clean_up_leaves_what_users_made(side: &HubSide<'_>, agents: &mut Agents) -> Result<()> {
    agents.set_variable(EAST, MODE, "clean-up")?;
    agents.restart(EAST).await?;
    reported(side.member, WEB, ["True Valid", "False Failed", "-"]).await?;
    wait_until("nothing is left on the hub", DEADLINE, async || {
        let none = side.exported(WEB).await?.is_none() && slices(side, WEB).await?.is_empty();
        Ok(none && side.report().await?["spec"]["publishedTo"].is_null())
    })
    .await?;
    wait_until("the cluster is in no clusterset", DEADLINE, async || {
        Ok(property(side.member, CLUSTERSET_ID).await?.is_none())
    })
    .await?;
    ensure!(property(side.member, CLUSTER_ID).await?.is_some(), "the cluster keeps its id");
    let kept = find(side.member, kinds::MCS_SERVICE_EXPORT, (SHOP, WEB)).await?;
    kept.map(drop).context("the user's ServiceExport")
}

/// Waits until a ServiceExport has these conditions.
async fn reported(member: &Cluster, name: &str, expected: [&str; 3]) -> Result<()> {
    let what = format!("the conditions {expected:?} of {name}");
    wait_until(&what, DEADLINE, async || Ok(conditions(member, name).await? == expected)).await
}

/// The slices of a Service on the hub that members read.
async fn slices(side: &HubSide<'_>, service: &str) -> Result<Vec<Value>> {
    let labelled = format!("{}={SHOP}", labels::MULTICLUSTER_NAMESPACE);
    let all = api(side.hub.client(), kinds::ENDPOINT_SLICE_EXPORT, None);
    let all = all.list(&ListParams::default().labels(&labelled)).await?.items;
    let of = all.into_iter().map(|slice| slice.data);
    Ok(of.filter(|slice| slice["spec"]["ownerServiceReference"]["name"] == service).collect())
}

async fn property(member: &Cluster, name: &str) -> Result<Option<String>> {
    let found = api(member.client(), kinds::CLUSTER_PROPERTY, None).get_opt(name).await?;
    Ok(found.and_then(|found| found.data["spec"]["value"].as_str().map(str::to_owned)))
}
