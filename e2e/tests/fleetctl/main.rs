//! The command line tool on real control planes: it joins a member, whose agent runs with the credentials that it made,
//! shows what goes on while things work and while they do not, and takes the member out again.
//!
//! A testbed for each test. Here one member is joined by the testbed, the other cluster by the tool, as `west`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "clippy takes only #[test] functions for tests, and actions are printed"
)]

mod doctor;
mod doctor_base;
mod doctor_claim;
mod doctor_definitions;
mod doctor_offload;
mod doctor_servers;
mod offload;
mod own_identity;
mod standard;
mod standard_path;
mod tool;
mod what_if;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_api::events::BLOCKED;
use fleet_api::kinds;
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_runtime::clock::Clock;
use fleet_runtime::credential::Claims;
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::cluster::{Cluster, merged_kubeconfig};
use fleet_testbed::exchange::{export, import, unexport, wait_condition, wait_imported};
use fleet_testbed::join::namespace;
use fleet_testbed::kubeconfig::write_secret;
use fleet_testbed::objects::{api, edit, find, remove};
use fleet_testbed::rbac;
use fleet_testbed::turn::turn;
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address};
use fleet_testbed::{Options, Testbed};
use k8s_openapi::api::core::v1::{Namespace, Secret, ServiceAccount};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::{Value, json};

use tool::Tool;

const DEADLINE: Duration = Duration::from_mins(2);
const TEAM: &str = "team";
const WEB: &str = "web";
const HELD_UP: &str = "held-up";
const SERVICE: &str = "team/web";
/// How many exports need a confirmation before the member leaves.
const MUCH: usize = 21;
/// The testbed's second cluster.
const WEST: Agent = Agent::Member(1);

#[tokio::test(flavor = "multi_thread")]
async fn a_fleet_is_made_watched_and_explained() {
    let _turn = turn().await;
    let testbed = Testbed::start(Options::members(2).without_audit()).await.unwrap();
    let result = story(&testbed).await;
    testbed.explain(result).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "ten minutes: make soak-what-if"]
async fn what_is_foreseen_happens_on_real_servers() {
    let _turn = turn().await;
    what_if::story(what_if::actions(49), true).await.unwrap();
}

/// The chapters build on each other.
async fn story(testbed: &Testbed) -> Result<()> {
    let mut agents = Agents::prepare(testbed, &AgentOptions::default())?;
    agents.launch(Agent::Hub)?;
    agents.launch(Agent::Member(0))?;
    let tool = Tool::new(testbed, agents.program(Agent::Hub)?)?;
    testbed.user_namespace(TEAM).await?;

    joining_is_safe_to_repeat(testbed, &tool).await?;
    the_agent_runs_with_what_joining_made(testbed, &tool, &mut agents).await?;
    let web = a_service_is_followed_until_it_crosses(testbed, &tool).await?;
    a_fleet_at_rest_is_told(&tool).await?;
    who_may_not_look_is_told_so(&tool).await?;
    a_change_is_traced(&tool, &web).await?;
    what_the_user_breaks_is_explained(testbed, &tool).await?;
    what_an_agent_owes_is_told(testbed, &tool, &mut agents, &web).await?;
    a_revoked_token_is_mended_by_joining_again(testbed, &tool, &mut agents).await?;
    a_token_that_never_expires_is_asked_for(testbed, &tool).await?;
    standard::joining_grants_what_the_hub_serves(testbed, &tool).await?;
    standard_path::a_service_of_both_apis_is_followed(testbed, &tool, &mut agents, &web).await?;
    a_member_leaves(testbed, &tool).await?;
    standard::nothing_is_granted_any_more(testbed).await?;
    a_member_is_cleaned_up_without_its_hub(testbed, &tool, &mut agents).await?;
    a_vanished_member_is_removed(testbed, &tool, &mut agents).await?;
    two_people_join_a_member(testbed, &tool, &mut agents).await?;
    own_identity::who_brings_an_identity_keeps_it(testbed, &tool).await
}

fn home(member: &str) -> String {
    format!("fleet-member-{member}")
}

async fn home_of(testbed: &Testbed, member: &str) -> Result<Option<Namespace>> {
    let namespaces: Api<Namespace> = Api::all(testbed.hub().client());
    Ok(namespaces.get_opt(&home(member)).await?)
}

async fn joining_is_safe_to_repeat(testbed: &Testbed, tool: &Tool) -> Result<()> {
    let said = tool.run(&["join", "west", "--dry-run"]).await?.succeeds()?;
    said.tells(&[
        "Would create Namespace fleet-member-west",
        "Would create Role fleet-role-west",
        "Would create ConfigMap member-policy: cidrs 0.0.0.0/0,::/0; exports *; imports *",
    ])?;
    ensure!(home_of(testbed, "west").await?.is_none(), "a dry run changes nothing");

    let join = ["join", "west", "--secret", "--print", "nothing"];
    let said = tool.run(&join).await?.succeeds()?;
    said.tells(&[
        "Applied Namespace fleet-member-west",
        "Applied InternalMemberCluster west",
        "Applied ConfigMap member-policy: cidrs 0.0.0.0/0,::/0; exports *; imports *. Restrict it",
        "Applied Secret",
    ])?;
    let said = tool.run(&join).await?.succeeds()?;
    said.tells(&[
        "Unchanged: Role fleet-role-west",
        "Unchanged: ConfigMap member-policy",
        "Member west is asked to join",
    ])?;
    let again = said.err.lines().filter(|line| line.starts_with("Applied")).collect::<Vec<_>>();
    ensure!(again == ["Applied Secret hub-kubeconfig-secret"], "only the token is new: {again:?}");
    tool.run(&["status"]).await?.succeeds()?.tells(&["west", "Joining"])
}

/// The token comes from the Secret in the member's own cluster, everything else from the chart's values.
async fn the_agent_runs_with_what_joining_made(
    testbed: &Testbed,
    tool: &Tool,
    agents: &mut Agents,
) -> Result<()> {
    let said = tool.run(&["join", "west"]).await?.succeeds()?;
    let values: Value = serde_saphyr::from_str(&said.out).context("values are YAML")?;
    let config = |field: &str| values["config"][field].as_str().unwrap_or_default().to_owned();
    ensure!(config("provider") == "secret" && !said.out.contains("token"), "{}", said.out);
    let name = values["secret"]["name"].as_str().context("a name")?;
    let secrets: Api<Secret> = Api::namespaced(testbed.member(1).client(), SYSTEM_NAMESPACE);
    let token = secrets.get(name).await?.data.and_then(|mut data| data.remove("token"));
    let token = String::from_utf8(token.context("the Secret has a token")?.0)?;
    let path = tool.folder().join("west-token");
    write_secret(&path, &token)?;
    for (variable, value) in [
        ("MEMBER_CLUSTER_NAME", config("memberClusterName")),
        ("HUB_SERVER_URL", config("hubURL")),
        ("HUB_CERTIFICATE_AUTHORITY", config("hubCA")),
        ("CONFIG_PATH", path.display().to_string()),
    ] {
        agents.set_variable(WEST, variable, &value)?;
    }
    agents.launch(WEST)?;
    agents.wait_ready().await
}

async fn a_service_is_followed_until_it_crosses(
    testbed: &Testbed,
    tool: &Tool,
) -> Result<ManualService> {
    let (east, west) = (testbed.member(0), testbed.member(1));
    tool.stops("NotExported", "no member that could be read has a Service of that name").await?;
    let spec = ServiceSpec::http(TEAM, WEB);
    let addresses = [next_address()];
    let web = ManualService::deploy(east, &spec, &addresses).await?;
    tool.stops("NotExported", "there is no ServiceExport for the Service in member-1").await?;
    export(east, TEAM, WEB).await?;
    wait_condition(east, kinds::SERVICE_EXPORT, (TEAM, WEB), ("Conflict", "False"), DEADLINE)
        .await?;
    tool.stops("NotImported", "it is exported, and no member that could be read imports it")
        .await?;
    import(west, TEAM, WEB, WEB).await?;
    wait_imported(west, TEAM, WEB, &addresses.into(), DEADLINE).await?;
    let story = tool.explain().await?.succeeds()?;
    story.tells(&[
        "team/web works from member-1 to west",
        "bound to Service fleet-system/team-web",
    ])?;
    Ok(web)
}

async fn a_fleet_at_rest_is_told(tool: &Tool) -> Result<()> {
    let said = tool.run(&["diff"]).await?.succeeds()?;
    ensure!(said.out.is_empty(), "{}", said.out);
    let status = tool.run(&["status", "-o", "json"]).await?.succeeds()?.json()?;
    let member = |name: &str| {
        let mut members = status["members"].as_array().into_iter().flatten();
        members.find(|member| member["name"] == name).cloned().unwrap_or_default()
    };
    let fields = ["state", "exports", "conflicts", "imports", "granted"];
    for (name, expected) in [
        ("member-1", json!(["Joined", 1, 0, 0, 0])),
        ("west", json!(["Joined", 0, 0, 1, 1])),
        ("member-2", json!(["Joining", 0, 0, 0, 0])),
    ] {
        let found = fields.map(|field| member(name)[field].clone());
        ensure!(json!(found) == expected, "{name}: {found:?}");
        ensure!(member(name)["lag"]["slices"] == 0, "{status}");
    }
    ensure!(status["services"][0]["importers"] == json!(["west"]), "{status}");
    let wide = tool.run(&["status", "-o", "wide", "--color", "always"]).await?.succeeds()?;
    wide.tells(&["\u{1b}[1mMEMBER", "SERVICE", "team/web"])?;
    // No terminal: no colour.
    ensure!(!tool.run(&["status"]).await?.out.contains('\u{1b}'), "colours");
    let yaml = tool.run(&["status", "-o", "yaml"]).await?.succeeds()?;
    ensure!(
        serde_saphyr::from_str::<Value>(&yaml.out)? == status_like(&status, &yaml.out)?,
        "{}",
        yaml.out
    );
    Ok(())
}

/// A member's own credentials are good for its own namespace alone.
async fn who_may_not_look_is_told_so(tool: &Tool) -> Result<()> {
    let said = tool.run(&["join", "west", "--print", "kubeconfig"]).await?.succeeds()?;
    let path = tool.folder().join("west.kubeconfig");
    write_secret(&path, &said.out)?;
    let path = path.display().to_string();
    let said = tool.run(&["explain", "service", SERVICE, "--kubeconfig", &path]).await?.exits(1)?;
    said.tells(&[
        "team/web stops on the hub: you may not list",
        "ask for the right to list and watch",
    ])?;
    tool.run(&["diff", "--kubeconfig", &path]).await?.exits(2)?.tells(&["incomplete result"])
}

/// Heartbeats grow older between two calls.
fn status_like(json: &Value, yaml: &str) -> Result<Value> {
    let read: Value = serde_saphyr::from_str(yaml)?;
    let mut json = json.clone();
    for (at, member) in read["members"].as_array().into_iter().flatten().enumerate() {
        json["members"][at]["heartbeatSeconds"] = member["heartbeatSeconds"].clone();
    }
    Ok(json)
}

async fn a_change_is_traced(tool: &Tool, web: &ManualService) -> Result<()> {
    let trace = tool.start(&["trace", SERVICE, "-o", "json"])?;
    let trace = trace.until("change its endpoints now").await?;
    web.set_addresses(&[next_address(), next_address()]).await?;
    let said = trace.end().await?.succeeds()?;
    let hops: Vec<Value> = said.out.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let clusters: Vec<_> =
        hops.iter().map(|hop| hop["cluster"].as_str().unwrap_or_default()).collect();
    let mut sorted = clusters.clone();
    sorted.sort_unstable();
    ensure!(sorted == ["hub", "hub", "member-1", "west"], "{}", said.out);
    ensure!(hops.last().is_some_and(|hop| hop["last"] == true), "{}", said.out);
    ensure!(
        hops.iter().all(|hop| hop["addresses"].as_array().map(Vec::len) == Some(2)),
        "{}",
        said.out
    );

    let said = tool.run(&["trace", SERVICE, "--deadline", "1"]).await?;
    said.exits(1)?.tells(&["No endpoint of team/web changed within 1 s"])
}

async fn what_the_user_breaks_is_explained(testbed: &Testbed, tool: &Tool) -> Result<()> {
    let (east, west) = (testbed.member(0), testbed.member(1));
    let weight = |value: Value| json!({ "metadata": { "annotations": { "networking.fleet.azure.com/weight": value } } });
    edit(east, kinds::SERVICE_EXPORT, (TEAM, WEB), weight(json!("0"))).await?;
    tool.stops("WeightZero", "stops in member-1: its weight is 0").await?;
    edit(east, kinds::SERVICE_EXPORT, (TEAM, WEB), weight(Value::Null)).await?;
    tool.crosses().await?;

    // Another port than the fleet's.
    let other = ServiceSpec::new(TEAM, WEB).port("http", "TCP", 81, 8080);
    let rival = ManualService::deploy(west, &other, &[next_address()]).await?;
    export(west, TEAM, WEB).await?;
    wait_condition(west, kinds::SERVICE_EXPORT, (TEAM, WEB), ("Conflict", "True"), DEADLINE)
        .await?;
    let wanted = "works from member-1 to west, but stops in west: ports of service team/web differ from those of \
                  cluster member-1, which has exported it since ";
    tool.stops("Conflict", wanted).await?;
    let status = tool.run(&["status", "-o", "json"]).await?.succeeds()?.json()?;
    ensure!(status["services"][0]["conflicts"] == json!(["west"]), "{status}");
    unexport(west, TEAM, WEB).await?;
    rival.delete().await?;
    tool.crosses().await?;

    // A Service that the member policy does not list.
    let join = ["join", "west", "--print", "nothing", "--imports"];
    let said = tool.run(&[&join[..], &["shop/*", "--dry-run"]].concat()).await?.succeeds()?;
    said.tells(&[
        "Would update ConfigMap member-policy: cidrs 0.0.0.0/0,::/0; exports *; imports shop/*",
    ])?;
    let said = tool.run(&[&join[..], &["shop/*"]].concat()).await?.succeeds()?;
    said.tells(&["Applied ConfigMap member-policy", "exports *; imports shop/*"])?;
    let wanted = "the member policy does not list team/web among its imports";
    tool.stops("PolicyDenied", wanted).await?;
    let said = tool.run(&[&join[..], &["shop"]].concat()).await?.exits(2)?;
    said.tells(&["\"shop\" is none of NAMESPACE/NAME"])?;
    tool.run(&[&join[..], &["*"]].concat()).await?.succeeds()?;
    tool.crosses().await?;

    // A namespace that the hub lacks.
    namespace(&east.client(), "island").await?;
    ManualService::deploy(east, &ServiceSpec::http("island", WEB), &[next_address()]).await?;
    export(east, "island", WEB).await?;
    let said =
        tool.run(&["explain", "service", "island/web", "-o", "json"]).await?.exits(1)?.json()?;
    let verdict = said["verdict"].as_str().unwrap_or_default();
    ensure!(verdict.contains("stops on the hub: the hub has no namespace island"), "{verdict}");
    ensure!(said["advice"] == "kubectl --context hub create namespace island", "{said}");
    unexport(east, "island", WEB).await
}

/// An agent that does not run is seen by what it has not written.
async fn what_an_agent_owes_is_told(
    testbed: &Testbed,
    tool: &Tool,
    agents: &mut Agents,
    web: &ManualService,
) -> Result<()> {
    let west = testbed.member(1);
    agents.kill(WEST)?;
    let address = next_address();
    web.set_addresses(std::slice::from_ref(&address)).await?;
    tool.stops("AgentBehind", "stops in west: its agent has yet to update EndpointSlice").await?;
    hold_up(west).await?;
    tool.stops("AgentBlocked", "and is blocked: the API server is on holiday").await?;
    held_up(west).delete(HELD_UP, &DeleteParams::default()).await?;
    let diff = tool.run(&["diff"]).await?.exits(1)?;
    diff.tells(&[
        "update EndpointSlice fleet-system/",
        "on west, by west's agent (import team/web)",
        &address,
    ])?;
    remove(west, kinds::SERVICE, (SYSTEM_NAMESPACE, "team-web")).await?;
    tool.stops("DerivedServiceMissing", "its derived Service fleet-system/team-web is missing")
        .await?;
    agents.launch(WEST)?;
    wait_imported(west, TEAM, WEB, &[address].into(), DEADLINE).await?;
    tool.crosses().await?;
    agents.kill(Agent::Hub)?;
    remove(testbed.hub(), kinds::SERVICE_IMPORT, (TEAM, WEB)).await?;
    tool.stops("HubAgentBehind", "stops on the hub: the hub agent has yet to").await?;
    agents.launch(Agent::Hub)?;
    tool.crosses().await
}

/// Where the Event of [`hold_up`] is.
fn held_up(cluster: &Cluster) -> Api<Event> {
    Api::namespaced(cluster.client(), TEAM)
}

/// What an agent reports that cannot work.
async fn hold_up(cluster: &Cluster) -> Result<()> {
    let event = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event",
        "metadata": { "name": HELD_UP, "namespace": TEAM },
        "eventTime": MicroTime(Clock::system().now()), "type": "Warning", "reason": BLOCKED, "action": BLOCKED,
        "note": "the API server is on holiday",
        "reportingController": "member-agent", "reportingInstance": "test",
        "regarding": { "kind": "MultiClusterService", "namespace": TEAM, "name": WEB },
    });
    held_up(cluster).create(&PostParams::default(), &serde_json::from_value(event)?).await?;
    Ok(())
}

/// What `status` reports about west's credential.
async fn credential(tool: &Tool) -> Result<Value> {
    let status = tool.run(&["status", "-o", "json"]).await?.succeeds()?.json()?;
    let mut members = status["members"].as_array().into_iter().flatten();
    let west = members.find(|member| member["name"] == "west").context("west")?;
    Ok(west["credential"].clone())
}

/// The account is deleted, as to revoke all of its tokens. The agent takes the new token from its Secret, and is not restarted.
async fn a_revoked_token_is_mended_by_joining_again(
    testbed: &Testbed,
    tool: &Tool,
    agents: &mut Agents,
) -> Result<()> {
    rbac::token_renewal().apply(&testbed.member(1).client()).await?;
    agents.set_variable(WEST, "HUB_TOKEN_SECRET", "fleet-system/hub-kubeconfig-secret")?;
    let join = ["join", "west", "--secret", "--print", "nothing"];
    tool.run(&join).await?.succeeds()?.tells(&["the member agent renews it every hour"])?;
    agents.restart(WEST).await?;
    // There is no Deployment that would show that the agent renews it.
    ensure!(credential(tool).await?["state"] == "kept", "{}", credential(tool).await?);

    let accounts: Api<ServiceAccount> = Api::namespaced(testbed.hub().client(), &home("west"));
    accounts.delete("member-agent", &DeleteParams::default()).await?;
    wait_until("the token is rejected", DEADLINE, async || {
        Ok(credential(tool).await?["state"] == "expired")
    })
    .await?;
    let said = tool.run(&["status"]).await?.succeeds()?;
    said.tells(&["west: CredentialExpired: the hub rejects", "fleetctl join west --secret"])?;
    wait_until("the agent reports it", DEADLINE, async || {
        Ok(agents.readiness(WEST).await?.1.contains("CredentialExpired"))
    })
    .await?;
    tool.run(&join).await?.succeeds()?;
    agents.wait_ready_of(WEST).await?;
    ensure!(credential(tool).await?["state"] == "kept", "{}", credential(tool).await?);
    tool.crosses().await
}

async fn a_token_that_never_expires_is_asked_for(testbed: &Testbed, tool: &Tool) -> Result<()> {
    let secrets: Api<Secret> = Api::namespaced(testbed.hub().client(), &home("west"));
    let is_there = async || anyhow::Ok(secrets.get_opt("member-agent-token").await?.is_some());
    ensure!(!is_there().await?, "only by explicit choice");
    let asked = ["join", "west", "--long-lived-token", "--print", "token"];
    let said = tool.run(&asked).await?.succeeds()?;
    said.tells(&["The token never expires. To revoke it, delete the Secret"])?;
    let claims = Claims::of(&said.out).context("a token")?;
    ensure!(claims.expires.is_none() && claims.account.is_some(), "{claims:?}");
    let said = tool.run(&["join", "west", "--token-hours", "2", "--print", "token"]).await?;
    let said = said.succeeds()?;
    said.tells(&["has a token that never expires: delete it", "no agent renews it"])?;
    let claims = Claims::of(&said.out).context("a token")?;
    let hours = claims.expires.zip(claims.issued).map(|(end, begin)| end.duration_since(begin));
    ensure!(hours.map(|it| it.as_hours()) == Some(2), "{claims:?}");
    ensure!(is_there().await?, "what exists is not taken away");
    Ok(())
}

async fn a_member_leaves(testbed: &Testbed, tool: &Tool) -> Result<()> {
    let said = tool.run(&["leave", "west", "--dry-run"]).await?.succeeds()?;
    said.tells(&["Would delete Namespace fleet-member-west", "Nothing was changed"])?;
    let west = testbed.member(1);
    for number in 0..MUCH {
        export(west, TEAM, &format!("much-{number}")).await?;
        let spec = ServiceSpec::http(TEAM, &format!("much-{number}"));
        ManualService::deploy(west, &spec, &[next_address()]).await?;
    }
    let last = format!("{TEAM}-much-{}", MUCH - 1);
    wait_until("west has much", DEADLINE, async || {
        let kind = kinds::INTERNAL_SERVICE_EXPORT;
        Ok(find(testbed.hub(), kind, (&home("west"), &last)).await?.is_some())
    })
    .await?;
    let said = tool.run(&["leave", "west"]).await?.exits(1)?;
    said.tells(&["west exports 2", "The member was not asked to leave", "--yes"])?;
    let asked = json!({ "spec": { "state": "Leave" } });
    edit(testbed.hub(), kinds::INTERNAL_MEMBER_CLUSTER, (&home("west"), "west"), asked).await?;
    wait_until("west asks back", DEADLINE, async || {
        let said = tool.run(&["status"]).await?;
        Ok(said.out.contains("Unconfirmed") && said.out.contains("confirm-leave="))
    })
    .await?;
    let said = tool.run(&["leave", "west", "--yes"]).await?.succeeds()?;
    said.tells(&["Asked west to leave", "west has left", "west is no longer a member"])?;
    ensure!(home_of(testbed, "west").await?.is_none(), "its namespace is gone");
    let wish = find(testbed.member(1), kinds::MULTI_CLUSTER_SERVICE, (TEAM, WEB)).await?;
    ensure!(wish.is_none(), "its users' imports are gone");
    tool.run(&["leave", "west"]).await?.succeeds()?.tells(&["west is not a member"])
}

/// West joins once more, exports and imports. Then it has no hub any more: what its agent held is released with access to west
/// alone.
async fn a_member_is_cleaned_up_without_its_hub(
    testbed: &Testbed,
    tool: &Tool,
    agents: &mut Agents,
) -> Result<()> {
    let west = testbed.member(1);
    tool.run(&["join", "west", "--secret", "--print", "nothing"]).await?.succeeds()?;
    let token = tool.run(&["join", "west", "--print", "token"]).await?.succeeds()?;
    write_secret(&tool.folder().join("west-token"), token.out.trim())?;
    agents.restart(WEST).await?;
    ManualService::deploy(west, &ServiceSpec::http(TEAM, "own"), &[next_address()]).await?;
    export(west, TEAM, "own").await?;
    import(west, TEAM, WEB, WEB).await?;
    let derived = (SYSTEM_NAMESPACE, "team-web");
    wait_condition(west, kinds::MULTI_CLUSTER_SERVICE, (TEAM, WEB), ("Valid", "True"), DEADLINE)
        .await?;
    agents.kill(WEST)?;
    standard_path::leave_imports(west).await?;
    // A user of the cluster who has nothing but its own kubeconfig.
    let alone = tool.folder().join("alone");
    let kubeconfig = merged_kubeconfig(&[(west, "west")])?;
    std::fs::write(&alone, serde_saphyr::to_string(&kubeconfig)?)?;
    let alone = alone.display().to_string();
    let leave = |more: &'static [&'static str]| {
        [&["leave", "west", "--local", "--kubeconfig", alone.as_str()][..], more].concat()
    };

    let held = tool::lease("a-pod", Clock::system().now());
    let leases = api(west.client(), kinds::LEASE, Some(SYSTEM_NAMESPACE));
    leases.create(&PostParams::default(), &serde_json::from_value(held)?).await?;
    let said = tool.run(&leave(&["--force"])).await?.exits(2)?;
    said.tells(&["a member agent runs", "a-pod holds the Lease"])?;
    leases.delete(tool::LEASE, &DeleteParams::default()).await?;
    let deployments = api(west.client(), tool::DEPLOYMENT, Some(SYSTEM_NAMESPACE));
    for deployment in [tool::of_kubefleet(), tool::deployment()] {
        deployments.create(&PostParams::default(), &serde_json::from_value(deployment)?).await?;
    }
    let said = tool.run(&leave(&["--force"])).await?.exits(2)?;
    said.tells(&[
        "the Deployment fleet-system/agent has replicas",
        "helm uninstall my-agent --kube-context west -n fleet-system",
    ])?;
    deployments.delete("agent", &DeleteParams::default()).await?;

    let wanted = [
        "delete Service fleet-system/team-web",
        "the agent's finalizer from ServiceExport team/own",
        "delete ServiceImport.multicluster.x-k8s.io team/web",
        "delete ClusterProperty clusterset.k8s.io",
    ];
    tool.run(&leave(&[])).await?.exits(1)?.tells(&wanted)?;
    tool.run(&leave(&["--dry-run"])).await?.succeeds()?.tells(&wanted)?;
    ensure!(find(west, kinds::SERVICE, derived).await?.is_some(), "nothing was changed");
    tool.run(&leave(&["--force"])).await?.succeeds()?.tells(&["has left the fleet"])?;
    ensure!(find(west, kinds::SERVICE, derived).await?.is_none(), "the derived Service is left");
    ensure!(find(west, kinds::SERVICE, (TEAM, "own")).await?.is_some(), "it is the user's");
    ensure!(find(west, kinds::SERVICE_IMPORT, (TEAM, WEB)).await?.is_none(), "an import is left");
    standard_path::only_others_are_left(west).await?;
    for (kind, name) in [(kinds::SERVICE_EXPORT, "own"), (kinds::MULTI_CLUSTER_SERVICE, WEB)] {
        remove(west, kind, (TEAM, name)).await?;
        ensure!(find(west, kind, (TEAM, name)).await?.is_none(), "{} is held", kind.kind);
    }
    let said = tool.run(&leave(&["--force"])).await?.succeeds()?;
    said.tells(&["has nothing of the fleet"])?;
    tool.run(&["leave", "west", "--force"]).await?.succeeds()?.tells(&["no longer a member"])
}

/// Its agent is gone. The testbed made its namespace, which stays.
async fn a_vanished_member_is_removed(
    testbed: &Testbed,
    tool: &Tool,
    agents: &mut Agents,
) -> Result<()> {
    agents.kill(Agent::Member(0))?;
    let said = tool.run(&["leave", "member-1", "--deadline", "1"]).await?.exits(1)?;
    said.tells(&["member-1 has not left within 1 s", "sent its last heartbeat at", "--force"])?;
    remove(testbed.hub(), kinds::INTERNAL_MEMBER_CLUSTER, (&home("member-1"), "member-1")).await?;
    let said = tool.run(&["leave", "member-1"]).await?.exits(1)?;
    said.tells(&["member-1 still takes part in the fleet", "without an InternalMemberCluster"])?;
    let said = tool.run(&["leave", "member-1", "--force"]).await?.succeeds()?;
    said.tells(&["Kept namespace fleet-member-member-1", "member-1 is no longer a member"])?;
    ensure!(home_of(testbed, "member-1").await?.is_some(), "its namespace is not ours to delete");
    Ok(())
}

/// One of them has access to west alone, the other one to the hub. What they hand over is public.
async fn two_people_join_a_member(
    testbed: &Testbed,
    tool: &Tool,
    agents: &mut Agents,
) -> Result<()> {
    let west = testbed.member(1);
    let file = |name: &str, text: &str| -> Result<String> {
        let path = tool.folder().join(name);
        std::fs::write(&path, text)?;
        Ok(path.display().to_string())
    };
    let alone = |cluster: &Cluster, name: &str| -> Result<String> {
        let kubeconfig = merged_kubeconfig(&[(cluster, name)])?;
        file(&format!("{name}-alone"), &serde_saphyr::to_string(&kubeconfig)?)
    };
    let (mine, theirs) = (alone(west, "west")?, alone(testbed.hub(), "hub")?);

    let said = tool.run(&["join", "west", "--request", "--kubeconfig", &mine]).await?.succeeds()?;
    said.tells(&["fleetctl join west --approve FILE", "Compare its fingerprint"])?;
    ensure!(home_of(testbed, "west").await?.is_none(), "the hub is not asked");
    let request = file("request", &said.out)?;
    let approve = ["--approve", request.as_str(), "--kubeconfig", &theirs];
    let said = tool.run(&[&["join", "east"][..], &approve].concat()).await?.exits(2)?;
    said.tells(&["it is not for east"])?;
    let said = tool.run(&[&["join", "west"][..], &approve].concat()).await?.succeeds()?;
    said.tells(&["The request has the fingerprint", "fleetctl join west --finish FILE"])?;
    let approval = file("approval", &said.out)?;
    let finish = ["join", "west", "--finish", approval.as_str(), "--kubeconfig", &mine];
    let said = tool.run(&finish).await?.succeeds()?;
    said.tells(&["Applied Secret hub-kubeconfig-secret", "Joined west to the hub"])?;
    // The key is gone, so the approval is of no use any more.
    tool.run(&finish).await?.exits(2)?.tells(&["has no Secret fleet-system/fleet-join-request"])?;

    let secrets: Api<Secret> = Api::namespaced(west.client(), SYSTEM_NAMESPACE);
    let token = secrets.get("hub-kubeconfig-secret").await?.data;
    let token = token.and_then(|mut data| data.remove("token")).context("a token")?;
    write_secret(&tool.folder().join("west-token"), std::str::from_utf8(&token.0)?)?;
    agents.restart(WEST).await
}
