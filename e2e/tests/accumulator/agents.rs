//! What the accumulator's care comes to: agents that withdraw nothing because they see less, and write nothing because
//! they see the same again.

use std::collections::BTreeMap;
use std::time::Duration;

use fleet_api::names::member_namespace;
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::audit::WriteMeter;
use fleet_testbed::exchange;
use fleet_testbed::proxy::Proxy;
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::{ServiceSpec, Workload};
use fleet_testbed::{Testbed, rbac};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::json;

use crate::support::{SOON, sample};

const TEAM: &str = "team";
/// No write for so long: everything has had its effect.
const QUIET: Duration = Duration::from_secs(2);
/// The agents wait longer between attempts than the accumulators of the other tests.
const PATIENCE: Duration = Duration::from_mins(1);

const EAST: Agent = Agent::Member(0);
const WEST: Agent = Agent::Member(1);

/// `web` of the first member is used by the second, and `api` the other way round.
pub(crate) async fn agents_keep_what_is_there(testbed: &Testbed) {
    testbed.user_namespace(TEAM).await.unwrap();
    let (east, west) = (testbed.member(0), testbed.member(1));
    let proxy = Proxy::to(&testbed.hub().server_url()).await.unwrap();
    let to_hub = ("HUB_SERVER_URL".to_owned(), proxy.url());
    let options = AgentOptions { environment: vec![to_hub], ..AgentOptions::default() };
    let mut agents = Agents::start(testbed, &options).await.unwrap();

    let mut web = Workload::deploy(east, ServiceSpec::http(TEAM, "web"), 2).await.unwrap();
    let mut api = Workload::deploy(west, ServiceSpec::http(TEAM, "api"), 2).await.unwrap();
    exchange::export(east, TEAM, "web").await.unwrap();
    exchange::export(west, TEAM, "api").await.unwrap();
    exchange::import(west, TEAM, "web", "web").await.unwrap();
    exchange::import(east, TEAM, "api", "api").await.unwrap();
    all_imported(testbed, &web, &api).await;

    a_member_without_rights_withdraws_nothing(testbed, &mut agents, &proxy).await;
    all_imported(testbed, &web, &api).await;
    // What waited for the rights, and what needs them from now on.
    web.scale(3).await.unwrap();
    api.scale(1).await.unwrap();
    all_imported(testbed, &web, &api).await;

    a_hub_that_forgot_its_history_causes_no_writes(testbed, &agents).await;
    web.scale(1).await.unwrap();
    api.scale(3).await.unwrap();
    all_imported(testbed, &web, &api).await;
    agents.check_alive().unwrap();
}

async fn all_imported(testbed: &Testbed, web: &Workload, api: &Workload) {
    for (member, workload) in [(1, web), (0, api)] {
        let (importer, addresses) = (testbed.member(member), workload.addresses());
        let result =
            exchange::wait_imported(importer, TEAM, workload.name(), &addresses, PATIENCE).await;
        testbed.explain(result).await.unwrap();
    }
}

async fn a_member_without_rights_withdraws_nothing(
    testbed: &Testbed,
    agents: &mut Agents,
    proxy: &Proxy,
) {
    let mut meter = WriteMeter::start(testbed).unwrap();
    meter.wait_quiet(QUIET, PATIENCE).await.unwrap();
    meter.take().unwrap();
    let before = everything(testbed).await;

    let hub = testbed.hub().client();
    let account = rbac::member_on_hub("member-2");
    let bindings: Api<RoleBinding> = Api::namespaced(hub.clone(), &member_namespace("member-2"));
    bindings.delete("fleet-rolebinding-member-2", &DeleteParams::default()).await.unwrap();
    // A watch that runs is not asked again.
    proxy.cut();
    wait_until("every kind of the hub is named", SOON, async || {
        let (status, text) = agents.readiness(WEST).await?;
        let kinds = [
            "internalserviceexports",
            "internalserviceimports",
            "endpointsliceexports",
            "endpointsliceimports",
        ];
        let named = |kind: &&str| text.contains(&format!("{kind} of the hub cluster: "));
        let refused = text.lines().all(|line| line.contains(" is forbidden ("));
        Ok(status == 503 && refused && kinds.iter().all(named))
    })
    .await
    .unwrap();
    // It tries again and is refused again: first the watches, then the lists.
    wait_until("three refusals of each kind", SOON, async || {
        let labels = [("cluster", "hub"), ("class", "forbidden")];
        let text = agents.metrics(WEST).await?;
        Ok(sample(&text, "fleet_accumulator_source_errors_total", &labels) >= 12)
    })
    .await
    .unwrap();
    let (status, text) = agents.readiness(EAST).await.unwrap();
    assert_eq!((status, text.as_str()), (200, "ok\n"), "the others work on");

    account.apply(&hub).await.unwrap();
    wait_until("ready again", PATIENCE, async || Ok(agents.readiness(WEST).await?.0 == 200))
        .await
        .unwrap();
    meter.wait_quiet(QUIET, PATIENCE).await.unwrap();
    let (writes, after) = (meter.take().unwrap(), everything(testbed).await);
    assert_eq!(writes.iter().count(), 0, "{writes}");
    assert_eq!(before, after);
}

async fn a_hub_that_forgot_its_history_causes_no_writes(testbed: &Testbed, agents: &Agents) {
    let mut meter = WriteMeter::start(testbed).unwrap();
    meter.wait_quiet(QUIET, PATIENCE).await.unwrap();
    meter.take().unwrap();
    let before = everything(testbed).await;
    let lists = lists_of_the_hub(agents).await;

    // Something that no agent watches happens last: no watch can go on from the newest version.
    let hub = testbed.hub();
    let maps: Api<ConfigMap> = Api::namespaced(hub.client(), TEAM);
    let map = serde_json::from_value(json!({ "metadata": { "name": "news" } })).unwrap();
    maps.create(&PostParams::default(), &map).await.unwrap();
    hub.stop_apiserver().await.unwrap();
    hub.compact().await.unwrap();
    hub.start_apiserver().await.unwrap();

    wait_until("every source was listed again and is live", PATIENCE, async || {
        let again = lists_of_the_hub(agents).await;
        let all = lists.iter().all(|(source, count)| again.get(source) > Some(count));
        Ok(all && agents_are_live(agents).await)
    })
    .await
    .unwrap();
    for agent in [Agent::Hub, EAST, WEST] {
        assert_eq!(agents.readiness(agent).await.unwrap().0, 200, "{agent:?}");
    }
    meter.wait_quiet(QUIET, PATIENCE).await.unwrap();
    let (writes, after) = (meter.take().unwrap(), everything(testbed).await);
    assert_eq!(writes.iter().count(), 0, "{writes}");
    assert_eq!(before, after);
}

/// Uid and version of every object of the fleet.
async fn everything(testbed: &Testbed) -> BTreeMap<String, (Option<String>, Option<String>)> {
    let found = testbed.leftovers().await.unwrap();
    let identity = |found: fleet_testbed::objects::Found| {
        let meta = found.object.metadata.clone();
        (found.to_string(), (meta.uid, meta.resource_version))
    };
    found.into_iter().map(identity).collect()
}

const SOURCES: [(Agent, &[&str]); 3] = [
    (
        Agent::Hub,
        &[
            "internal_exports",
            "internal_imports",
            "service_imports",
            "slice_exports",
            "slice_imports",
            "namespaces",
        ],
    ),
    (EAST, MEMBER_SOURCES),
    (WEST, MEMBER_SOURCES),
];
const MEMBER_SOURCES: &[&str] =
    &["internal_exports", "slice_exports", "internal_imports", "slice_imports"];

/// How often each agent has listed each of the hub's kinds.
async fn lists_of_the_hub(agents: &Agents) -> BTreeMap<(Agent, &'static str), u64> {
    let mut lists = BTreeMap::new();
    for (agent, sources) in SOURCES {
        let text = agents.metrics(agent).await.unwrap();
        for &source in sources {
            let labels = [("cluster", "hub"), ("source", source)];
            let count = sample(&text, "fleet_accumulator_source_relists_total", &labels);
            lists.insert((agent, source), count);
        }
    }
    lists
}

async fn agents_are_live(agents: &Agents) -> bool {
    for (agent, sources) in SOURCES {
        let text = agents.metrics(agent).await.unwrap();
        let live = |source: &&str| {
            let labels = [("cluster", "hub"), ("source", *source), ("state", "live")];
            sample(&text, "fleet_accumulator_source_state", &labels) == 1
        };
        if !sources.iter().all(live) {
            return false;
        }
    }
    true
}
