//! Two hubs behind one address: each connection leads to another one.

use std::time::Duration;

use anyhow::{Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fleet_api::kinds;
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::fleet::Fleet;
use fleet_testbed::observer::Observer;
use fleet_testbed::proxy::Proxy;
use fleet_testbed::scrape::Scrape;
use fleet_testbed::wait::wait_until;
use fleet_testbed::{Options, Testbed, exchange, join, multicluster, rbac, traffic};
use serde_json::json;

use crate::held::wait_held;
use crate::hub_side::HubSide;
use crate::known_tokens::KnownTokens;
use crate::shared::{self, Exported, FLEET};
use crate::{EAST, SHOP};

const DEADLINE: Duration = Duration::from_mins(4);
/// The member that imports.
const IMPORTER: usize = 1;

pub(crate) async fn story() -> Result<()> {
    let tokens = KnownTokens::make("two-hubs", 2)?;
    let options = |members| Options {
        apiserver_arguments: vec![tokens.argument()],
        ..Options::members(members).without_audit()
    };
    let testbed = Testbed::start(options(2)).await?;
    let second = Testbed::start(options(0)).await?;
    let result = Box::pin(alternating(&testbed, &second, &tokens)).await;
    testbed.explain(result).await
}

async fn alternating(testbed: &Fleet, second: &Fleet, tokens: &KnownTokens) -> Result<()> {
    let side = HubSide { fleet: testbed, restarts: false, standard: true };
    side.prepare().await?;
    side.prepare_members().await?;
    let (east, west) = (testbed.member(EAST), testbed.member(IMPORTER));
    prepare_second(testbed, second).await?;
    let urls = [testbed.hub().server_url(), second.hub().server_url()];
    let proxy = Proxy::to_each(&[&urls[0], &urls[1]]).await?;
    let mut agents = Agents::prepare(testbed, &options(testbed, second, &proxy)?)?;
    tokens.give(&mut agents)?;
    for agent in testbed.agents() {
        agents.launch(agent)?;
    }
    let of_second = AgentOptions { environment: shared::environment(), ..AgentOptions::default() };
    let mut second_agent = Agents::start(second, &of_second).await?;
    agents.wait_ready().await?;

    let mut exported = Exported::by(east).await?;
    exchange::import(west, SHOP, FLEET, FLEET).await?;
    shared::wait_imported(west, &[&exported]).await?;
    for member in [EAST, IMPORTER] {
        side.wait_published(member, DEADLINE).await?;
    }
    wait_held(&agents, Agent::Member(IMPORTER), "OtherHub", 0, DEADLINE).await?;
    let watched = [(west, kinds::ENDPOINT_SLICE), (west, kinds::SERVICE)];
    let mut observer = Observer::start_for(watched).await?;

    proxy.spread(2);
    proxy.cut();
    wait_held(&agents, Agent::Member(IMPORTER), "HubInconsistent", 1, DEADLINE).await?;
    for _ in 0..3 {
        let changed = changed_servers(&agents).await?;
        proxy.cut();
        wait_until("sources are connected to the other hub", DEADLINE, async || {
            Ok(changed_servers(&agents).await? > changed)
        })
        .await?;
        agents.wait_ready().await?;
        wait_held(&agents, Agent::Member(IMPORTER), "HubInconsistent", 1, DEADLINE).await?;
    }
    let seen = observer.take();
    ensure!(seen.is_empty(), "the importer wrote: {seen:?}");

    proxy.spread(1);
    proxy.cut();
    wait_held(&agents, Agent::Member(IMPORTER), "HubInconsistent", 0, DEADLINE).await?;
    wait_held(&agents, Agent::Member(IMPORTER), "OtherHub", 0, DEADLINE).await?;
    let seen = observer.take();
    ensure!(seen.is_empty(), "the importer wrote: {seen:?}");
    exported.change().await?;
    shared::wait_imported(west, &[&exported]).await?;
    second_agent.check_alive()?;
    agents.check_alive()
}

/// Members trust the authorities of both hubs, and reach either through the proxy.
fn options(testbed: &Fleet, second: &Fleet, proxy: &Proxy) -> Result<AgentOptions> {
    let authorities = [testbed.hub(), second.hub()].map(Cluster::ca_pem);
    let both: String = authorities.into_iter().flatten().collect::<Vec<_>>().join("\n");
    ensure!(!both.is_empty(), "the hubs have authorities");
    let of_member = || {
        vec![
            ("HUB_SERVER_URL".to_owned(), proxy.url()),
            ("HUB_CERTIFICATE_AUTHORITY".to_owned(), STANDARD.encode(&both)),
        ]
    };
    let of_agents = [EAST, IMPORTER].map(|member| (Agent::Member(member), of_member()));
    Ok(AgentOptions {
        environment: shared::environment(),
        of_agents: of_agents.into(),
        ..AgentOptions::default()
    })
}

/// The other hub has the same members, and an agent of its own.
async fn prepare_second(testbed: &Fleet, second: &Fleet) -> Result<()> {
    let (hub, folder) = (second.hub(), second.run().folder("agents")?);
    let client = hub.client();
    join::namespace(&client, SHOP).await?;
    for member in testbed.members() {
        join::join_hub(hub, member.name(), &folder).await?;
    }
    traffic::prepare(second, &json!({})).await?;
    multicluster::prepare_hub(hub).await?;
    for member in testbed.members() {
        let name = member.name();
        let rights =
            [rbac::traffic_on_hub(name), rbac::lease_on_hub(name), rbac::multicluster_on_hub(name)];
        for account in rights {
            account.apply(&client).await?;
        }
    }
    Ok(())
}

/// How often another server than before has answered a source of the importer.
async fn changed_servers(agents: &Agents) -> Result<f64> {
    let scrape = Scrape::of(agents, Agent::Member(IMPORTER)).await?;
    let labels = [("class", "another_server")];
    Ok(scrape.sum("fleet_accumulator_source_errors_total", &labels))
}
