//! `fleetctl doctor` on real control planes: a sound cluster, and the same cluster with one thing broken after the other. What CoreDNS
//! would run with are objects alone: nothing here resolves a name.

use anyhow::{Context, Result, ensure};
use fleet_api::multicluster::standard::CLUSTER_ID;
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{ResourceKind, kinds};
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::apply::apply;
use fleet_testbed::cluster::{Cluster, merged_kubeconfig};
use fleet_testbed::multicluster::{MODE, SETTLE, export, prepare};
use fleet_testbed::objects::{edit, find, remove};
use fleet_testbed::turn::turn;
use fleet_testbed::wait::wait_for;
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address};
use fleet_testbed::{Options, Testbed};
use serde_json::{Value, json};

use super::{doctor_base, doctor_claim, doctor_definitions, doctor_servers};
use crate::tool::{DEPLOYMENT, Said, Tool, deployment, of_kubefleet};
use crate::{DEADLINE, TEAM, WEB};

/// The member that is looked at.
pub(crate) const EAST: &str = "member-1";
/// The namespace of CoreDNS.
pub(crate) const DNS: &str = "kube-system";
pub(crate) const DEFINITION: ResourceKind = ResourceKind {
    group: "apiextensions.k8s.io",
    version: "v1",
    kind: "CustomResourceDefinition",
    plural: "customresourcedefinitions",
    namespaced: false,
};
const BINDING: ResourceKind = ResourceKind {
    group: "rbac.authorization.k8s.io",
    version: "v1",
    kind: "ClusterRoleBinding",
    plural: "clusterrolebindings",
    namespaced: false,
};
pub(crate) const DAEMON_SET: ResourceKind =
    ResourceKind { kind: "DaemonSet", plural: "daemonsets", ..DEPLOYMENT };
/// As kubeadm writes it.
const USUAL: &str = ".:53 {
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
    }
    forward . /etc/resolv.conf
}
";

#[tokio::test(flavor = "multi_thread")]
async fn a_doctor_finds_what_is_broken() {
    let _turn = turn().await;
    // So that addresses of Services can be used up.
    let small = vec!["--service-cluster-ip-range=10.96.0.0/28".to_owned()];
    let options = Options { apiserver_arguments: small, ..Options::members(2).without_audit() };
    let testbed = Testbed::start(options).await.unwrap();
    let result = story(&testbed).await;
    testbed.explain(result).await.unwrap();
}

/// Each chapter mends what it has broken.
async fn story(testbed: &Testbed) -> Result<()> {
    prepare(testbed).await?;
    let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let environment = vec![set(MODE, "on"), set(SETTLE, "1s")];
    let options = AgentOptions { environment, ..AgentOptions::default() };
    let mut agents = Agents::prepare(testbed, &options)?;
    agents.launch(Agent::Hub)?;
    agents.launch(Agent::Member(0))?;
    let tool = Tool::new(testbed, agents.program(Agent::Hub)?)?;
    testbed.user_namespace(TEAM).await?;
    let east = testbed.member(0);
    ManualService::deploy(east, &ServiceSpec::http(TEAM, WEB), &[next_address()]).await?;
    export(east, TEAM, WEB).await?;

    doctor_base::agents_have_their_rights(testbed).await?;
    a_corefile_is_changed_once_coredns_can_read_it(&tool, east).await?;
    a_sound_cluster_has_nothing_to_mend(&tool, east).await?;
    what_dns_lacks_is_found(&tool, east).await?;
    other_implementations_are_found(&tool, east).await?;
    a_version_that_is_not_served_is_found(&tool, east).await?;
    doctor_base::what_agents_stand_on_is_examined(testbed, &tool).await?;
    doctor_servers::what_servers_say_of_themselves_is_examined(testbed, &tool).await?;
    doctor_definitions::definitions_that_lack_something_are_found(testbed, &tool).await?;
    a_member_that_never_connected_is_found(&tool).await?;
    doctor_claim::what_hub_and_members_know_is_compared(testbed, &tool, &mut agents).await?;
    doctor_definitions::a_kind_that_the_hub_does_not_serve_is_found(testbed.hub(), &tool).await?;
    what_may_not_be_read_is_not_checked(testbed, &tool).await?;
    what_an_agent_has_left_is_found(&tool, east).await
}

/// Waits until a run has nothing of these: what is good to know is not counted.
pub(crate) async fn finds_nothing_of(tool: &Tool, checks: &[&str]) -> Result<()> {
    wait_for(&format!("nothing of {checks:?}"), DEADLINE, async || {
        examine(tool).await?.finds_none_of(checks)?;
        Ok(Some(()))
    })
    .await
}

async fn examine(tool: &Tool) -> Result<Said> {
    tool.run(&["doctor", "--member", EAST]).await
}

/// Waits until a run has this code and these words: agents need a moment.
pub(crate) async fn finds(tool: &Tool, code: i32, words: &[&str]) -> Result<()> {
    wait_for(&format!("{words:?} and exit code {code}"), DEADLINE, async || {
        let said = examine(tool).await?.exits(code)?;
        said.tells(words)?;
        Ok(Some(()))
    })
    .await
}

pub(crate) async fn is_sound(tool: &Tool) -> Result<()> {
    finds(tool, 0, &["0 failures, 0 warnings, 0 not checked"]).await
}

fn coredns(image: &str) -> Value {
    let labels = json!({ "k8s-app": "kube-dns" });
    let config = json!({ "name": "coredns", "items": [{ "key": "Corefile", "path": "Corefile" }] });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": "coredns", "namespace": DNS, "labels": labels },
        "spec": { "selector": { "matchLabels": labels }, "template": {
            "metadata": { "labels": labels },
            "spec": {
                "serviceAccountName": "coredns",
                "containers": [{ "name": "coredns", "image": image }],
                "volumes": [{ "name": "config-volume", "configMap": config }],
            } } },
    })
}

fn config_map(name: &str, corefile: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": DNS },
        "data": { "Corefile": corefile },
    })
}

/// The rights that the chart of the member agent grants.
async fn grant(cluster: &Cluster) -> Result<()> {
    let named = json!({ "name": "coredns-imports" });
    let may_read = json!({
        "apiGroups": [kinds::MCS_SERVICE_IMPORT.group], "resources": ["serviceimports"],
        "verbs": ["list", "watch"],
    });
    let api = "rbac.authorization.k8s.io";
    let role = json!({
        "apiVersion": format!("{api}/v1"), "kind": "ClusterRole", "metadata": named, "rules": [may_read],
    });
    let binding = json!({
        "apiVersion": format!("{api}/v1"), "kind": "ClusterRoleBinding", "metadata": named,
        "roleRef": { "apiGroup": api, "kind": "ClusterRole", "name": "coredns-imports" },
        "subjects": [{ "kind": "ServiceAccount", "name": "coredns", "namespace": DNS }],
    });
    apply(&cluster.client(), role).await?;
    apply(&cluster.client(), binding).await
}

/// A cluster as kubeadm makes it. The change is printed, and not to be applied before the rights are there.
async fn a_corefile_is_changed_once_coredns_can_read_it(tool: &Tool, east: &Cluster) -> Result<()> {
    let print = ["doctor", "--print-corefile", "--member", EAST];
    let said = tool.run(&print).await?.exits(2)?;
    said.tells(&["no Deployment in kube-system with the label k8s-app=kube-dns runs CoreDNS"])?;
    apply(&east.client(), coredns("registry.k8s.io/coredns/coredns:v1.13.1")).await?;
    apply(&east.client(), config_map("coredns", USUAL)).await?;
    finds(
        tool,
        1,
        &[
            "does not serve the zone clusterset.local",
            "lacks the option multicluster clusterset.local",
            "--member member-1 --print-corefile",
            "kube-system/coredns, may not list or watch serviceimports",
            "no Deployment with the labels app.kubernetes.io/name=member-agent,app.kubernetes.io/part-of=",
        ],
    )
    .await?;
    let said = tool.run(&print).await?.exits(1)?;
    said.tells(&["Do not apply it yet: CoreDNS, as ServiceAccount kube-system/coredns, may not"])?;
    grant(east).await?;
    let said = wait_for("the rights count", DEADLINE, async || {
        tool.run(&print).await?.succeeds().map(Some)
    })
    .await?;
    ensure!(
        said.out.contains("kubernetes cluster.local clusterset.local in-addr.arpa"),
        "{said:?}"
    );
    tool.mend("corefile").await?;
    tool.run(&print).await?.succeeds()?.tells(&["Unchanged"])
}

async fn a_sound_cluster_has_nothing_to_mend(tool: &Tool, east: &Cluster) -> Result<()> {
    mode(east, "on").await?;
    is_sound(tool).await?;
    let wide = ["doctor", "--member", EAST, "-o", "wide"];
    tool.run(&wide).await?.succeeds()?.tells(&["ok ", "rights of CoreDNS on ServiceImports"])?;
    let json = tool.run(&["doctor", "--member", EAST, "-o", "json"]).await?.succeeds()?.json()?;
    ensure!(json["failures"] == 0, "{json}");
    let results = json["results"].as_array().context("results")?;
    let claim = results.iter().find(|line| line["check"] == "claim").context("the claim")?;
    ensure!(claim["level"] == "ok" && claim["cluster"] == EAST, "{claim}");
    let yaml = tool.run(&["doctor", "--member", EAST, "-o", "yaml"]).await?.succeeds()?;
    ensure!(serde_saphyr::from_str::<Value>(&yaml.out)? == json, "{}", yaml.out);
    Ok(())
}

/// What the flags of the agent are by its Deployment, which runs no Pod here.
async fn mode(east: &Cluster, mode: &str) -> Result<()> {
    let mut shown = deployment();
    let container = &mut shown["spec"]["template"]["spec"]["containers"][0];
    container["env"] = json!([{ "name": MODE, "value": mode }]);
    // The kubelet renews its token: what is in a Secret would be compared with the hub.
    let token = json!({ "serviceAccountToken": { "path": "token" } });
    let volume = json!({ "name": "hub", "projected": { "sources": [token] } });
    shown["spec"]["template"]["spec"]["volumes"] = json!([volume]);
    apply(&east.client(), of_kubefleet()).await?;
    apply(&east.client(), shown).await
}

async fn what_dns_lacks_is_found(tool: &Tool, east: &Cluster) -> Result<()> {
    apply(&east.client(), coredns("registry.k8s.io/coredns/coredns:v1.12.1")).await?;
    finds(tool, 1, &["1 failures", "coredns:v1.12.1, which does not know the option"]).await?;
    apply(&east.client(), coredns("registry.k8s.io/coredns/coredns:v1.13.1")).await?;

    remove(east, BINDING, ("", "coredns-imports")).await?;
    finds(tool, 1, &["1 failures", "may not list or watch"]).await?;
    grant(east).await?;

    let good = find(east, kinds::CONFIG_MAP, (DNS, "coredns")).await?.context("its Corefile")?;
    let good = good.data["data"]["Corefile"].as_str().context("a text")?.to_owned();
    for (option, code, words) in [
        ("namespace_labels team=a", 1, "has the option namespace_labels"),
        ("ignore empty_service", 0, "has ignore empty_service"),
    ] {
        let bad = good.replace("pods insecure", option);
        apply(&east.client(), config_map("coredns", &bad)).await?;
        finds(tool, code, &[words]).await?;
    }
    // There is a search list to speak of only where names resolve.
    apply(&east.client(), config_map("coredns", USUAL)).await?;
    finds(tool, 1, &["does not serve the zone clusterset.local"]).await?;
    finds_nothing_of(tool, &["search-list"]).await?;
    apply(&east.client(), config_map("coredns", &good)).await?;
    finds(tool, 0, &["member-1 search-list  with the usual ndots:5"]).await?;

    apply(&east.client(), config_map("kubeadm-config", "")).await?;
    finds(tool, 0, &["member-1 kubeadm  kubeadm made the cluster"]).await?;
    remove(east, kinds::CONFIG_MAP, (DNS, "kubeadm-config")).await?;
    finds_nothing_of(tool, &["member-1 kubeadm"]).await?;

    let labels = json!({ "k8s-app": "node-local-dns" });
    let cache = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": { "name": "node-local-dns", "namespace": DNS },
        "spec": { "selector": { "matchLabels": labels }, "template": {
            "metadata": { "labels": labels },
            "spec": { "containers": [{ "name": "cache", "image": "cache" }] } } },
    });
    apply(&east.client(), cache).await?;
    let forward = ".:53 {\n    forward . /etc/resolv.conf\n}\n";
    apply(&east.client(), config_map("node-local-dns", forward)).await?;
    finds(tool, 1, &["1 failures", "NodeLocal DNSCache has no block for clusterset.local"]).await?;
    remove(east, DAEMON_SET, (DNS, "node-local-dns")).await?;
    is_sound(tool).await
}

async fn other_implementations_are_found(tool: &Tool, east: &Cluster) -> Result<()> {
    let kind = kinds::MCS_SERVICE_IMPORT;
    let foreign = json!({
        "apiVersion": kind.api_version(), "kind": kind.kind,
        "metadata": { "name": "other", "namespace": TEAM },
        "spec": { "type": "ClusterSetIP", "ports": [] },
    });
    apply(&east.client(), foreign).await?;
    let words = "another implementation made ServiceImports: team/other (written by fleet-testbed)";
    finds(tool, 0, &["1 warnings", words]).await?;
    remove(east, kind, (TEAM, "other")).await?;

    let property = |value: &str| json!({ "spec": { "value": value } });
    edit(east, kinds::CLUSTER_PROPERTY, ("", CLUSTER_ID), property("paris")).await?;
    finds(tool, 1, &["1 failures", "has the value \"paris\", and the hub knows the cluster as"])
        .await?;
    edit(east, kinds::CLUSTER_PROPERTY, ("", CLUSTER_ID), property(EAST)).await?;

    let cilium = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "cilium-config", "namespace": DNS },
        "data": { "clustermesh-enable-mcs-api": "true" },
    });
    apply(&east.client(), cilium).await?;
    finds(tool, 0, &["1 warnings", "Cilium serves the standard API in this cluster"]).await?;
    remove(east, kinds::CONFIG_MAP, (DNS, "cilium-config")).await?;
    is_sound(tool).await
}

async fn a_version_that_is_not_served_is_found(tool: &Tool, east: &Cluster) -> Result<()> {
    let name = "serviceimports.multicluster.x-k8s.io";
    let found = find(east, DEFINITION, ("", name)).await?.context("the definition")?;
    let mut versions = found.data["spec"]["versions"].clone();
    let served = versions.clone();
    for version in versions.as_array_mut().into_iter().flatten() {
        version["served"] = json!(version["name"] != "v1alpha1");
    }
    edit(east, DEFINITION, ("", name), json!({ "spec": { "versions": versions } })).await?;
    finds(tool, 1, &["1 failures", "v1alpha1, which CoreDNS reads"]).await?;
    let older = json!({ "multicluster.x-k8s.io/release-version": "v0.4.0" });
    let older = json!({ "metadata": { "labels": older }, "spec": { "versions": served } });
    edit(east, DEFINITION, ("", name), older).await?;
    finds(tool, 0, &["1 warnings", "is of v0.4.0 (revision 0), older than"]).await?;
    let newer =
        json!({ "metadata": { "labels": { "multicluster.x-k8s.io/release-version": "v9.0.0" } } });
    edit(east, DEFINITION, ("", name), newer).await?;
    finds(tool, 0, &["0 warnings", "is of v9.0.0 (revision 0), newer than"]).await?;
    let labels = found.metadata.labels.context("its labels")?;
    edit(east, DEFINITION, ("", name), json!({ "metadata": { "labels": labels } })).await?;
    finds_nothing_of(tool, &["member-1 definition-release"]).await
}

/// Its cluster has all definitions, and no agent.
async fn a_member_that_never_connected_is_found(tool: &Tool) -> Result<()> {
    let said = tool.run(&["doctor", "--member", "member-2=west"]).await?.exits(1)?;
    said.tells(&["the hub has no ClusterReport of member-2: its agent has not connected"])?;
    // Without --member, all that the hub knows: the kubeconfig has another name for this one.
    let said = tool.run(&["doctor"]).await?.succeeds()?;
    said.tells(&["member-2 access", "no context of that name", "--member member-2=CONTEXT"])
}

/// A user who may do nothing but what everyone may.
async fn what_may_not_be_read_is_not_checked(testbed: &Testbed, tool: &Tool) -> Result<()> {
    let mut all = merged_kubeconfig(&[(testbed.hub(), "hub"), (testbed.member(0), EAST)])?;
    for user in &mut all.auth_infos {
        user.auth_info.get_or_insert_default().impersonate = Some("guest".to_owned());
    }
    let path = tool.folder().join("guest.kubeconfig");
    std::fs::write(&path, serde_saphyr::to_string(&all)?)?;
    let path = path.display().to_string();
    let said = tool.run(&["doctor", "--member", EAST, "--kubeconfig", &path]).await?.exits(0)?;
    said.tells(&[
        "member-1 claim  not checked, because you may not list clusterreports",
        "member-1 corefile  not checked, because you may not list deployments",
        "ask for the right to list serviceimports.multicluster.x-k8s.io",
        "0 failures, 0 warnings",
    ])
}

async fn what_an_agent_has_left_is_found(tool: &Tool, east: &Cluster) -> Result<()> {
    mode(east, "clean-up").await?;
    finds(tool, 0, &["member-1 mode  the member agent deletes what it made for the standard API"])
        .await?;
    mode(east, "off").await?;
    finds(tool, 0, &[
        "--multicluster=off and keeps no longer right what it made: 1 ServiceImports (team/web)",
        "member-1 mode  the member takes no part in the standard API",
    ])
    .await?;
    mode(east, "on").await?;
    finds_nothing_of(tool, &["member-1 mode", "member-1 leftovers"]).await?;
    is_sound(tool).await?;
    remove(east, DEPLOYMENT, (SYSTEM_NAMESPACE, "agent")).await
}
