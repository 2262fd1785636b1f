//! The testbed itself, on real control planes: what its credentials reach, what its controllers do, what it leaves.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy takes only #[test] functions for tests"
)]

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fleet_api::names::member_namespace;
use fleet_api::{ResourceKind, kinds};
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::audit::AuditReader;
use fleet_testbed::client::client_from_file;
use fleet_testbed::fleet::{ExistingClusters, Fleet};
use fleet_testbed::kubeconfig::{self, Credential};
use fleet_testbed::objects::api;
use fleet_testbed::observer::{Observation, Observer, What};
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::{ServiceSpec, Workload};
use fleet_testbed::{Options, Testbed, state};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, DynamicObject, ListParams, PostParams};
use kube::{Api, Client, Error};
use serde_json::json;

const DEADLINE: Duration = Duration::from_mins(2);

/// One testbed serves all checks: starting it is the slow part, and the last check is about its end.
#[tokio::test(flavor = "multi_thread")]
async fn a_testbed_is_a_fleet_with_limited_credentials_and_leaves_nothing() {
    let testbed = Testbed::start(Options::members(1)).await.unwrap();
    let run = testbed.run_path().to_owned();
    testbed.user_namespace("team").await.unwrap();

    a_member_reaches_its_own_hub_namespace_only(&testbed).await;
    a_member_agent_reads_services_and_writes_only_its_own(&testbed).await;
    a_hub_agent_does_not_read_secrets(&testbed).await;
    pods_with_a_filled_in_status_get_a_slice(&testbed).await;
    audit_logs_name_the_service_account(&testbed).await;
    an_api_server_comes_back_with_its_data(&testbed).await;
    an_agent_that_ends_at_once_is_reported_with_its_words(&testbed).await;
    the_clusters_can_be_joined_by_their_kubeconfigs_alone(&testbed).await;

    let processes = state::read_processes(&run);
    assert!(processes.len() >= 6, "two control planes are six processes: {processes:?}");
    assert!(processes.iter().any(state::ProcessRecord::runs));
    drop(testbed);
    let left: Vec<_> = processes.iter().filter(|process| process.runs()).collect();
    assert!(left.is_empty(), "still running: {left:?}");
    assert!(!run.exists(), "{} is left", run.display());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_to_start_is_reported_with_its_words() {
    let options =
        Options { apiserver_arguments: vec!["--no-such-flag".to_owned()], ..Options::members(0) };
    let error = format!("{:#}", Testbed::start(options).await.unwrap_err());
    assert!(error.contains("control plane of hub"), "{error}");
    assert!(error.contains("unknown flag: --no-such-flag"), "{error}");
}

async fn a_member_reaches_its_own_hub_namespace_only(testbed: &Testbed) {
    let member = member_on_hub(testbed).await;
    let own = member_namespace("member-1");

    let imc = api(member.clone(), kinds::INTERNAL_MEMBER_CLUSTER, Some(&own));
    let imc = imc.get("member-1").await.unwrap();
    assert_eq!(imc.data["spec"], json!({ "state": "Join", "heartbeatPeriodSeconds": 60 }));

    list(&member, kinds::INTERNAL_SERVICE_EXPORT, Some(&own)).await.unwrap();
    for (kind, namespace) in [
        (kinds::INTERNAL_SERVICE_EXPORT, Some("fleet-member-other")),
        (kinds::INTERNAL_SERVICE_EXPORT, None),
        (kinds::SERVICE_IMPORT, Some("team")),
        (kinds::SERVICE, Some("team")),
        (kinds::NAMESPACE, None),
    ] {
        assert_forbidden(list(&member, kind, namespace).await);
    }
}

async fn a_member_agent_reads_services_and_writes_only_its_own(testbed: &Testbed) {
    let agent = agent_client(testbed, Agent::Member(0)).await;
    list(&agent, kinds::SERVICE, None).await.unwrap();
    list(&agent, kinds::ENDPOINT_SLICE, None).await.unwrap();
    let service: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": { "name": "derived" }, "spec": { "ports": [{ "port": 80 }] },
    }))
    .unwrap();
    let create = async |namespace| {
        let services = api(agent.clone(), kinds::SERVICE, Some(namespace));
        services.create(&PostParams::default(), &service).await
    };
    assert_forbidden(create("team").await);
    create("fleet-system").await.unwrap();
    let services = api(agent.clone(), kinds::SERVICE, Some("fleet-system"));
    services.delete("derived", &DeleteParams::default()).await.unwrap();
}

async fn a_hub_agent_does_not_read_secrets(testbed: &Testbed) {
    let agent = agent_client(testbed, Agent::Hub).await;
    list(&agent, kinds::INTERNAL_SERVICE_EXPORT, None).await.unwrap();
    list(&agent, kinds::NAMESPACE, None).await.unwrap();
    let secrets: Api<Secret> = Api::namespaced(agent, "fleet-system");
    assert_forbidden(secrets.list(&ListParams::default()).await);
}

async fn pods_with_a_filled_in_status_get_a_slice(testbed: &Testbed) {
    let member = testbed.member(0);
    let mut observer = Observer::start(testbed).await.unwrap();
    let mut web = Workload::deploy(member, ServiceSpec::http("team", "web"), 2).await.unwrap();
    web.wait_for_slices().await.unwrap();
    let slices = web.slices().await.unwrap();
    let ports = slices[0].ports.as_ref().unwrap();
    assert_eq!(ports[0].port, Some(8080));

    web.scale(3).await.unwrap();
    web.wait_for_slices().await.unwrap();
    web.scale(1).await.unwrap();
    web.wait_for_slices().await.unwrap();
    assert!(testbed.leftovers().await.unwrap().is_empty(), "a Service that nobody exported");
    web.delete().await.unwrap();
    let fits = |seen: &Observation| seen.is("member-1", kinds::ENDPOINT_SLICE, What::Gone);
    let seen = observer.until("the slice is gone", DEADLINE, fits).await.unwrap();
    assert!(seen[0].is("member-1", kinds::SERVICE, What::Appeared), "{}", seen[0]);
    let appeared =
        seen.iter().find(|seen| seen.is("member-1", kinds::ENDPOINT_SLICE, What::Appeared));
    assert!(appeared.is_some_and(|slice| slice.at < seen.last().unwrap().at));
}

async fn audit_logs_name_the_service_account(testbed: &Testbed) {
    let mut log = AuditReader::at_end(testbed.hub().audit_log_path().unwrap()).unwrap();
    let member = member_on_hub(testbed).await;
    let exports = api(member, kinds::INTERNAL_SERVICE_EXPORT, Some("fleet-member-other"));
    assert_forbidden(exports.delete("x", &DeleteParams::default()).await);
    let mut found = Vec::new();
    wait_until("the refused write in the audit log", DEADLINE, async || {
        found.extend(log.read()?.into_iter().filter(|write| write.code == 403));
        Ok(!found.is_empty())
    })
    .await
    .unwrap();
    assert_eq!(found[0].user, "system:serviceaccount:fleet-member-member-1:member-agent");
    assert_eq!(found[0].object, "fleet-member-other/x");
}

async fn an_api_server_comes_back_with_its_data(testbed: &Testbed) {
    let member = testbed.member(0);
    let before = member.compact().await.unwrap();
    member.stop_apiserver().await.unwrap();
    assert!(list(&member.new_client().await.unwrap(), kinds::NAMESPACE, None).await.is_err());
    member.start_apiserver().await.unwrap();
    let namespaces = list(&member.client(), kinds::NAMESPACE, None).await.unwrap();
    assert!(namespaces.contains(&"team".to_owned()));
    assert!(member.compact().await.unwrap() >= before);
}

async fn an_agent_that_ends_at_once_is_reported_with_its_words(testbed: &Testbed) {
    let programs = testbed.run_path().join("programs");
    std::fs::create_dir(&programs).unwrap();
    for name in ["hub-agent", "member-agent"] {
        let script = "#!/bin/sh\necho \"no way, ${MEMBER_CLUSTER_NAME:-hub}, with $@\"\nexit 3\n";
        let path = programs.join(name);
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    }
    let options = AgentOptions {
        programs: Some(programs),
        arguments: vec!["--extra".to_owned()],
        ..AgentOptions::default()
    };
    let mut agents = Agents::prepare(testbed, &options).unwrap();
    agents.launch(Agent::Member(0)).unwrap();
    let error = agents.wait_ready().await.unwrap_err().to_string();
    assert!(error.contains("no way, member-1, with --metrics-bind-address=127.0.0.1:"), "{error}");
    assert!(error.contains("--extra") && error.contains('3'), "{error}");
}

async fn the_clusters_can_be_joined_by_their_kubeconfigs_alone(testbed: &Testbed) {
    let member = testbed.member(0);
    let existing = ExistingClusters {
        hub: testbed.hub().kubeconfig_path().to_owned(),
        members: vec![("east".to_owned(), member.kubeconfig_path().to_owned())],
    };
    let fleet = Fleet::connect(&existing).await.unwrap();
    let environment = fleet.agent_env(Agent::Member(0));
    let same = |name: &str| {
        let find = |all: &[(String, String)]| all.iter().find(|(key, _)| key == name).cloned();
        assert_eq!(find(&environment), find(&testbed.agent_env(Agent::Member(0))), "{name}");
    };
    same("HUB_SERVER_URL");
    same("HUB_CERTIFICATE_AUTHORITY");
    assert!(environment.contains(&("MEMBER_CLUSTER_NAME".to_owned(), "east".to_owned())));
    let clusters =
        api(fleet.hub().client(), kinds::INTERNAL_MEMBER_CLUSTER, Some(&member_namespace("east")));
    clusters.get("east").await.unwrap();
}

/// The member's agent as the hub sees it: with the token of its file.
async fn member_on_hub(testbed: &Testbed) -> Client {
    let hub = testbed.hub();
    let token = std::fs::read_to_string(testbed.hub_token_path(0)).unwrap();
    let ca = hub.ca_pem();
    let credential = Credential::Token(&token);
    let value = kubeconfig::render("hub", &hub.server_url(), ca.as_deref(), "member", credential);
    let path: PathBuf = testbed.run_path().join("member-on-hub.kubeconfig");
    kubeconfig::write(&path, &value).unwrap();
    client_from_file(&path).await.unwrap()
}

async fn agent_client(testbed: &Testbed, agent: Agent) -> Client {
    let environment = testbed.agent_env(agent);
    let (_, path) = environment.iter().find(|(name, _)| name == "KUBECONFIG").unwrap();
    client_from_file(Path::new(path)).await.unwrap()
}

async fn list(
    client: &Client,
    kind: ResourceKind,
    namespace: Option<&str>,
) -> Result<Vec<String>, Error> {
    // One look: a refused connection must not be retried for minutes.
    let parameters = ListParams::default();
    let list = api(client.clone(), kind, namespace).list(&parameters).await?;
    Ok(list.items.into_iter().filter_map(|object| object.metadata.name).collect())
}

fn assert_forbidden<T: std::fmt::Debug>(result: Result<T, Error>) {
    match result {
        Err(Error::Api(status)) if status.code == 403 => {}
        other => panic!("must be forbidden: {other:?}"),
    }
}
