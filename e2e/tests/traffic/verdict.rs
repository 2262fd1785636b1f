//! Ports of a member that ends yield to those of another one, through either API.

use anyhow::{Context, Result, ensure};
use fleet_api::kinds;
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::traffic::{SilenceState, VERDICTS};
use fleet_testbed::Testbed;
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::exchange::{derived_service, export, import, wait_imported};
use fleet_testbed::objects::{api, find};
use fleet_testbed::wait::{wait_for, wait_until};
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address};
use fleet_testbed::{multicluster, traffic};
use serde_json::{Value, json};

use crate::hub_side::HubSide;
use crate::shared::noted;
use crate::{DEADLINE, EAST, NORTH, SHOP, WEB, WEST};

/// The ports of both exporters, by the same name.
const PORTS: [u16; 2] = [80, 81];

pub(crate) async fn story(testbed: &Testbed) -> Result<()> {
    let side = HubSide { fleet: testbed, restarts: false, standard: false };
    side.prepare().await?;
    side.prepare_members().await?;
    multicluster::prepare(testbed).await?;
    let spec =
        json!({ "silentAfterSeconds": 30, "returnAfterSeconds": 10, "returnOverSeconds": 3 });
    traffic::prepare(testbed, &spec).await?;
    let mut agents = Agents::start(testbed, &options()).await?;

    let addresses = [EAST, NORTH].map(|_| next_address());
    for ((member, port), address) in [EAST, NORTH].into_iter().zip(PORTS).zip(&addresses) {
        let cluster = testbed.member(member);
        let spec = ServiceSpec::new(SHOP, WEB).port("http", "TCP", port, 8080);
        ManualService::deploy(cluster, &spec, std::slice::from_ref(address)).await?;
        export(cluster, SHOP, WEB).await?;
        multicluster::export(cluster, SHOP, WEB).await?;
        // Both have the oldest export in the east: that of the north is made once that is in force.
        wait_until("the first export is in force", DEADLINE, async || {
            Ok(winner(testbed).await?.is_some())
        })
        .await?;
    }
    let importer = testbed.member(WEST);
    import(importer, SHOP, WEB, WEB).await?;
    wait_imported(importer, SHOP, WEB, &[addresses[0].clone()].into(), DEADLINE).await?;
    wait_in_force(testbed, [PORTS[0]; 2], EAST).await?;

    for member in [EAST, NORTH, WEST] {
        side.wait_published(member, DEADLINE).await?;
    }

    agents.kill(Agent::Member(EAST))?;
    wait_verdict(testbed, EAST, SilenceState::Silent).await?;
    wait_in_force(testbed, [PORTS[1]; 2], NORTH).await?;
    wait_imported(importer, SHOP, WEB, &[addresses[1].clone()].into(), DEADLINE).await?;
    let message = conflict(testbed, EAST).await?;
    ensure!(message.contains("is silent"), "{message}");

    // A process of the hub agent that has just begun moves nothing.
    agents.restart(Agent::Hub).await?;
    wait_in_force(testbed, [PORTS[1]; 2], NORTH).await?;

    // And one of the importer's agent goes on counting.
    let (before, seconds) = wait_applied(testbed, |_, seconds| seconds >= 5).await?;
    ensure!(agents.stop(Agent::Member(WEST)).await?, "it had to be killed, and gave nothing back");
    agents.launch(Agent::Member(WEST))?;
    let (_, later) = wait_applied(testbed, |holder, _| holder != before).await?;
    ensure!(later >= seconds, "the verdict is applied for {later} s, after {seconds} s");

    // Once it has returned, its age counts where ports are united; where one set is in force, that stays.
    agents.launch(Agent::Member(EAST))?;
    wait_verdict(testbed, EAST, SilenceState::Heard).await?;
    wait_in_force(testbed, [PORTS[1], PORTS[0]], EAST).await?;
    agents.check_alive()
}

fn options() -> AgentOptions {
    let set = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let environment = [
        ("TRAFFIC", "true"),
        ("MEMBER_LEASE", "true"),
        ("MULTICLUSTER", "on"),
        ("MULTICLUSTER_SETTLE", "1s"),
    ];
    // Its Lease has for how long it applies a verdict.
    let of_agents = [(Agent::Member(WEST), vec![set(("LEADER_ELECT", "true"))])].into();
    AgentOptions { environment: environment.map(set).into(), of_agents, ..AgentOptions::default() }
}

/// The cluster whose properties are in force by the standard API.
async fn winner(testbed: &Testbed) -> Result<Option<String>> {
    Ok(resolved(testbed).await?.and_then(|it| it["spec"]["winner"].as_str().map(str::to_owned)))
}

async fn resolved(testbed: &Testbed) -> Result<Option<Value>> {
    let name = format!("{SHOP}-{WEB}");
    let found = find(testbed.hub(), kinds::RESOLVED_SERVICE, (SYSTEM_NAMESPACE, &name)).await?;
    Ok(found.map(|found| found.data))
}

/// Waits until the ports are those of the derived Service of the fleet's API, and of the standard one.
async fn wait_in_force(testbed: &Testbed, ports: [u16; 2], winner: usize) -> Result<()> {
    let [fleet, standard] = ports.map(i64::from);
    let winner = testbed.member(winner).name();
    wait_until(&format!("ports {ports:?}, by the standard API of {winner}"), DEADLINE, async || {
        let importer = testbed.member(WEST);
        let Some(derived) = derived_service(importer, SHOP, WEB).await? else { return Ok(false) };
        let derived = find(importer, kinds::SERVICE, (SYSTEM_NAMESPACE, &derived)).await?;
        let derived = derived.map(|it| it.data["spec"]["ports"][0]["port"].clone());
        let resolved = resolved(testbed).await?.unwrap_or_default();
        Ok(derived == Some(json!(fleet))
            && resolved["spec"]["ports"][0]["port"] == standard
            && resolved["spec"]["winner"] == winner)
    })
    .await
}

async fn wait_verdict(testbed: &Testbed, member: usize, state: SilenceState) -> Result<()> {
    let name = testbed.member(member).name();
    wait_until(&format!("{name} is {}", state.as_str()), DEADLINE, async || {
        let object = api(testbed.hub().client(), kinds::MEMBER_TRAFFIC, None).get_opt(name).await?;
        let silence = object.map(|object| object.data["status"]["silence"].clone());
        let silence = silence.unwrap_or_default();
        let is_whole = state != SilenceState::Heard || silence["percent"] == 0;
        Ok(silence["state"] == state.as_str() && is_whole)
    })
    .await
}

/// Waits for who leads in the importer, and for how many seconds it applies the verdict about the east, as its Lease has it.
async fn wait_applied(
    testbed: &Testbed,
    holds: impl Fn(&str, u64) -> bool,
) -> Result<(String, u64)> {
    wait_for("the Lease in west has the verdict", DEADLINE, async || {
        let found = applied(testbed).await?;
        Ok(found.filter(|(holder, seconds)| holds(holder, *seconds)))
    })
    .await
}

async fn applied(testbed: &Testbed) -> Result<Option<(String, u64)>> {
    let Some((holder, noted)) = noted(testbed.member(WEST), VERDICTS).await? else {
        return Ok(None);
    };
    let noted: Value = serde_json::from_str(&noted)?;
    let seconds = noted[testbed.member(EAST).name()]["seconds"].as_u64();
    Ok(seconds.map(|seconds| (holder, seconds)))
}

/// What the hub reports to the export of a member.
async fn conflict(testbed: &Testbed, member: usize) -> Result<String> {
    let namespace = format!("fleet-member-{}", testbed.member(member).name());
    let name = (&*namespace, &*format!("{SHOP}-{WEB}"));
    let found = find(testbed.hub(), kinds::INTERNAL_SERVICE_EXPORT, name).await?;
    let export = found.context("its export")?.data;
    let conditions = export["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let conflict = conditions.into_iter().find(|condition| condition["type"] == "Conflict");
    Ok(conflict.unwrap_or_default()["message"].as_str().unwrap_or_default().to_owned())
}
