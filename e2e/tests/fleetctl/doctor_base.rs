//! What `fleetctl doctor` finds of definitions, rights, policies, namespaces, ranges and kube-proxy on real API servers: each broken,
//! and mended.

use anyhow::{Context, Result, ensure};
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{ResourceKind, kinds};
use fleet_testbed::Testbed;
use fleet_testbed::apply::apply;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::multicluster::{MODE, export, unexport};
use fleet_testbed::objects::{edit, find, remove};
use fleet_testbed::rbac;
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address};
use k8s_openapi::api::core::v1::Service;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::TEAM;
use crate::doctor::{DAEMON_SET, DEFINITION, DNS, EAST, finds, is_sound};
use crate::tool::{DEPLOYMENT, Tool, deployment};

const RBAC: &str = "rbac.authorization.k8s.io";
const BINDING: ResourceKind = ResourceKind {
    group: RBAC,
    version: "v1",
    kind: "ClusterRoleBinding",
    plural: "clusterrolebindings",
    namespaced: false,
};
const POLICY: ResourceKind = ResourceKind {
    group: "admissionregistration.k8s.io",
    version: "v1",
    kind: "ValidatingAdmissionPolicy",
    plural: "validatingadmissionpolicies",
    namespaced: false,
};
/// Binds the account of the Deployments here, which run no Pod.
const AGENT: &str = "agent-under-examination";

/// Shows a Deployment of the hub agent, and gives the accounts of both agents all rights.
pub(crate) async fn agents_have_their_rights(testbed: &Testbed) -> Result<()> {
    let mut hub = deployment();
    let labels = json!({
        "app.kubernetes.io/name": "hub-agent",
        "app.kubernetes.io/instance": "my-hub",
        "app.kubernetes.io/part-of": "fleet-networking",
    });
    hub["metadata"]["labels"] = labels.clone();
    hub["spec"]["selector"]["matchLabels"] = labels.clone();
    hub["spec"]["template"]["metadata"]["labels"] = labels;
    apply(&testbed.hub().client(), hub).await?;
    bind(testbed.hub()).await?;
    bind(testbed.member(0)).await
}

async fn bind(cluster: &Cluster) -> Result<()> {
    let binding = json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRoleBinding", "metadata": { "name": AGENT },
        "roleRef": { "apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": [{ "kind": "ServiceAccount", "name": "default", "namespace": SYSTEM_NAMESPACE }],
    });
    apply(&cluster.client(), binding).await
}

pub(crate) async fn what_agents_stand_on_is_examined(testbed: &Testbed, tool: &Tool) -> Result<()> {
    let (hub, east) = (testbed.hub(), testbed.member(0));
    is_sound(tool).await?;
    a_missing_right_is_found(tool, east).await?;
    another_definition_is_found(tool, east).await?;
    an_old_policy_is_found(tool, east).await?;
    a_member_that_directs_traffic_may_do_so(hub).await?;
    an_old_kube_proxy_is_found(tool, east).await?;
    a_missing_namespace_is_found(tool, hub).await?;
    a_cluster_with_two_names_is_found(tool, hub).await?;
    equal_ranges_are_found(testbed, tool).await?;
    addresses_that_are_used_up_are_found(tool, east).await?;
    is_sound(tool).await
}

async fn a_missing_right_is_found(tool: &Tool, east: &Cluster) -> Result<()> {
    remove(east, BINDING, ("", AGENT)).await?;
    finds(
        tool,
        1,
        &["member-1 rights", "fleet-system/default, lacks", "rights that the chart grants"],
    )
    .await?;
    bind(east).await?;
    is_sound(tool).await
}

async fn another_definition_is_found(tool: &Tool, east: &Cluster) -> Result<()> {
    let name = "serviceexports.networking.fleet.azure.com";
    let found = find(east, DEFINITION, ("", name)).await?.context("the definition")?;
    let versions = found.data["spec"]["versions"].clone();
    let mut wider = versions.clone();
    for version in wider.as_array_mut().into_iter().flatten() {
        version["served"] = json!(version["name"] != "v1alpha1");
    }
    edit(east, DEFINITION, ("", name), json!({ "spec": { "versions": wider } })).await?;
    finds(tool, 1, &["member-1 kinds", &format!("the definition {name} does not serve v1alpha1")])
        .await?;
    edit(east, DEFINITION, ("", name), json!({ "spec": { "versions": versions } })).await?;
    is_sound(tool).await
}

async fn an_old_policy_is_found(tool: &Tool, east: &Cluster) -> Result<()> {
    let policy = |version: &str| {
        json!({
            "apiVersion": POLICY.api_version(), "kind": POLICY.kind,
            "metadata": { "name": "old.fleet", "labels": {
                "app.kubernetes.io/part-of": "fleet-networking",
                "app.kubernetes.io/name": "member-agent",
                "app.kubernetes.io/version": version,
            } },
            "spec": {
                "matchConstraints": { "resourceRules": [{
                    "apiGroups": ["nothing.example"], "apiVersions": ["v1"], "resources": ["nothings"], "operations": ["CREATE"],
                }] },
                "validations": [{ "expression": "true" }],
            },
        })
    };
    apply(&east.client(), policy("0.0.9")).await?;
    let words = [
        "2 warnings",
        "are of another release than",
        "have no binding, and refuse nothing: old.fleet",
    ];
    finds(tool, 0, &words).await?;
    apply(&east.client(), policy(env!("CARGO_PKG_VERSION"))).await?;
    finds(tool, 0, &["1 warnings", "have no binding"]).await?;
    remove(east, POLICY, ("", "old.fleet")).await?;
    is_sound(tool).await
}

/// As far as the hub is concerned, where it needs rights for that.
async fn a_member_that_directs_traffic_may_do_so(hub: &Cluster) -> Result<()> {
    let client = hub.client();
    rbac::hub_leases().apply(&client).await?;
    rbac::hub_traffic().apply(&client).await?;
    rbac::lease_on_hub(EAST).apply(&client).await?;
    rbac::traffic_on_hub(EAST).apply(&client).await
}

/// It counts where traffic is directed by hints.
async fn an_old_kube_proxy_is_found(tool: &Tool, east: &Cluster) -> Result<()> {
    let labels = json!({ "k8s-app": "kube-proxy" });
    let proxy = |image: &str| {
        json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": { "name": "kube-proxy", "namespace": DNS },
            "spec": { "selector": { "matchLabels": labels }, "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "kube-proxy", "image": image }] } } },
        })
    };
    apply(&east.client(), proxy("registry.k8s.io/kube-proxy:v1.33.2")).await?;
    is_sound(tool).await?;
    let directs = |value: &str| {
        let traffic = json!({ "name": "TRAFFIC", "value": value });
        let environment = json!([{ "name": MODE, "value": "on" }, traffic]);
        let container = json!({ "name": "agent", "image": "agent", "env": environment });
        json!({ "spec": { "template": { "spec": { "containers": [container] } } } })
    };
    edit(east, DEPLOYMENT, (SYSTEM_NAMESPACE, "agent"), directs("true")).await?;
    finds(tool, 0, &["1 warnings", "kube-proxy is 1.33", "--set traffic.dataPlane=conditions"])
        .await?;
    apply(&east.client(), proxy("registry.k8s.io/kube-proxy:v1.34.0")).await?;
    is_sound(tool).await?;
    remove(east, DAEMON_SET, (DNS, "kube-proxy")).await?;
    finds(tool, 0, &["1 warnings", "has no DaemonSet kube-proxy"]).await?;
    edit(east, DEPLOYMENT, (SYSTEM_NAMESPACE, "agent"), directs("false")).await?;
    is_sound(tool).await
}

/// The plan has the command that mends it.
async fn a_missing_namespace_is_found(tool: &Tool, hub: &Cluster) -> Result<()> {
    let kind = kinds::INTERNAL_SERVICE_EXPORT;
    let namespace = "fleet-member-member-1";
    let export = json!({
        "apiVersion": kind.api_version(), "kind": kind.kind,
        "metadata": { "name": "ghost-web", "namespace": namespace },
        "spec": {
            "ports": [{ "name": "http", "protocol": "TCP", "port": 80, "targetPort": 80 }],
            "serviceReference": {
                "clusterId": EAST, "apiVersion": "v1", "kind": "Service", "namespace": "ghost", "name": "web",
                "resourceVersion": "1", "generation": 0, "uid": "u", "namespacedName": "ghost/web",
                "exportedSince": "2026-01-01T00:00:00Z",
            },
        },
    });
    // The agents must not mend it first.
    apply(&hub.client(), export).await?;
    let said = tool.run(&["doctor", "--member", EAST, "--fix-plan"]).await?;
    if find(hub, kind, (namespace, "ghost-web")).await?.is_some() {
        let said = said.exits(1)?;
        said.tells(&["#!/bin/sh", "in the namespace ghost, which the hub does not have"])?;
        let command = "kubectl --context hub create namespace ghost\n";
        ensure!(said.out.contains(command), "{}", said.out);
        let named =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "ghost" } });
        apply(&hub.client(), named).await?;
        is_sound(tool).await?;
        edit(hub, kind, (namespace, "ghost-web"), json!({ "metadata": { "finalizers": null } }))
            .await?;
        remove(hub, kind, (namespace, "ghost-web")).await?;
    }
    is_sound(tool).await
}

/// Which name it keeps is a decision, which has no command.
async fn a_cluster_with_two_names_is_found(tool: &Tool, hub: &Cluster) -> Result<()> {
    let kind = kinds::CLUSTER_REPORT;
    let report = find(hub, kind, ("fleet-member-member-1", EAST)).await?.context("a report")?;
    let mut twin = json!({
        "apiVersion": kind.api_version(), "kind": kind.kind,
        "metadata": { "name": "member-2", "namespace": "fleet-member-member-2" },
    });
    twin["spec"] = report.data["spec"].clone();
    apply(&hub.client(), twin).await?;
    let words = "the members member-1, member-2 are one and the same cluster";
    finds(tool, 1, &["hub cluster-ids", words, "fleetctl leave member-2"]).await?;
    remove(hub, kind, ("fleet-member-member-2", "member-2")).await?;
    is_sound(tool).await
}

async fn equal_ranges_are_found(testbed: &Testbed, tool: &Tool) -> Result<()> {
    let node = |range: &str| -> Value {
        json!({
            "apiVersion": "v1", "kind": "Node", "metadata": { "name": "doctor-node" },
            "spec": { "podCIDR": range, "podCIDRs": [range] },
        })
    };
    let both = ["doctor", "--member", EAST, "--member", "member-2=west"];
    apply(&testbed.member(0).client(), node("10.244.7.0/24")).await?;
    apply(&testbed.member(1).client(), node("10.244.0.0/16")).await?;
    let said = tool.run(&both).await?.exits(1)?;
    said.tells(&[
        "Pods of two members have the same addresses",
        "10.244.7.0/24 (Pods of member-1)",
    ])?;
    remove(testbed.member(1), kinds::NODE, ("", "doctor-node")).await?;
    apply(&testbed.member(1).client(), node("10.245.0.0/16")).await?;
    let said = tool.run(&both).await?;
    ensure!(!said.out.contains("have the same addresses"), "{}", said.out);
    remove(testbed.member(1), kinds::NODE, ("", "doctor-node")).await?;
    remove(testbed.member(0), kinds::NODE, ("", "doctor-node")).await.map(drop)
}

/// The last one is taken, and then another range is added.
async fn addresses_that_are_used_up_are_found(tool: &Tool, east: &Cluster) -> Result<()> {
    const API: &str = "api";
    ManualService::deploy(east, &ServiceSpec::http(TEAM, API), &[next_address()]).await?;
    let services: Api<Service> = Api::namespaced(east.client(), TEAM);
    let filler = json!({
        "metadata": { "generateName": "filler-" },
        "spec": { "ports": [{ "name": "http", "port": 80 }] },
    });
    let filler: Service = serde_json::from_value(filler)?;
    let mut fillers = Vec::new();
    while let Some(made) = unless_full(services.create(&PostParams::default(), &filler).await)? {
        fillers.push(made.name_any());
    }
    export(east, TEAM, API).await?;
    let words = "member-1 service-addresses  1 Services are still to be imported that need an IPv4 address, and the ServiceCIDRs \
                 have 0 free ones";
    finds(tool, 1, &["1 failures", words]).await?;
    let more = json!({
        "apiVersion": kinds::SERVICE_CIDR.api_version(), "kind": kinds::SERVICE_CIDR.kind,
        "metadata": { "name": "more" }, "spec": { "cidrs": ["10.97.0.0/28"] },
    });
    apply(&east.client(), more).await?;
    is_sound(tool).await?;
    unexport(east, TEAM, API).await?;
    for name in fillers.iter().map(String::as_str).chain([API]) {
        services.delete(name, &DeleteParams::default()).await?;
    }
    Ok(())
}

/// `None` once there is no address left.
fn unless_full(made: kube::Result<Service>) -> Result<Option<Service>> {
    match made {
        Err(kube::Error::Api(status)) if status.message.contains("range is full") => Ok(None),
        made => Ok(Some(made?)),
    }
}
