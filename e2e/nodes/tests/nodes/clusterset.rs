//! Names of the clusterset, of ServiceImports made by hand as an implementation of the MCS API makes them: one with a
//! derived Service and an imported EndpointSlice, one that is headless.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use fleet_nodes::dns::Zones;
use fleet_nodes::pods::{POD_PORT, PORT, Servers, Shell, cluster_ips};
use fleet_nodes::whole::WholeFleet;
use fleet_testbed::apply::apply;
use fleet_testbed::cluster::Cluster;
use futures::future::try_join_all;
use serde_json::{Value, json};

use crate::dig::Dig;
use crate::names::Own;
use crate::steps::Steps;

const NAMESPACE: &str = "shop";
const NAME: &str = "web.shop.svc.clusterset.local";
const DERIVED: &str = "derived-web";
const HEADLESS: &str = "peers.shop.svc.clusterset.local";

pub(crate) async fn check(fleet: &WholeFleet, steps: &mut Steps) -> Result<()> {
    fleet.fleet().user_namespace(NAMESPACE).await?;
    let (here, there) = (fleet.fleet().member(0), fleet.fleet().member(1));
    steps
        .take("DNS answers for the clusterset", async {
            try_join_all(
                fleet
                    .fleet()
                    .members()
                    .iter()
                    .map(async |member| apply(&member.client(), definition()).await),
            )
            .await?;
            fleet.set_zones(Zones::Clusterset).await
        })
        .await?;
    let shell = fleet.shell(0, NAMESPACE, "shell").await?;
    let servers = Servers::deploy(there, NAMESPACE, "web", 2).await?;
    let import = Import { here, there, servers: &servers };
    steps.take("a derived Service has a name", derived(&import, &shell)).await?;
    steps
        .take("packets reach the Pods of the other cluster by it", packets(&import, &shell))
        .await?;
    steps.take("scaled down, one Pod answers", scaled(&import, &shell)).await?;
    steps.take("headless: addresses and names of Pods", headless(&import, &shell)).await?;
    let dig = Dig::beside(&shell, fleet.node(0)).await?;
    steps.take("names that do not exist, by dig too", absent(&shell, &dig)).await?;
    steps.take("names of the cluster are unchanged", unchanged(fleet, here)).await
}

/// What one cluster imports from another.
struct Import<'a> {
    here: &'a Cluster,
    there: &'a Cluster,
    servers: &'a Servers,
}

impl Import<'_> {
    /// One imported slice for each family, with the Pods as they are now.
    async fn write_slices(&self, name: &str, label: Value) -> Result<()> {
        let addresses = self.servers.addresses(self.there).await?;
        for (kind, colon) in [("IPv4", false), ("IPv6", true)] {
            let of_family = addresses.iter().filter(|address| address.contains(':') == colon);
            let mut labels = json!({
                "multicluster.kubernetes.io/service-name": name,
                "multicluster.kubernetes.io/source-cluster": self.there.name(),
                "endpointslice.kubernetes.io/managed-by": "by-hand",
            });
            labels.as_object_mut().zip(label.as_object()).context("labels").map(
                |(all, more)| {
                    all.extend(more.clone());
                },
            )?;
            let endpoint = |(number, address): (usize, &String)| {
                json!({
                    "addresses": [address],
                    "hostname": format!("{name}-{number}"),
                    "conditions": { "ready": true },
                })
            };
            let endpoints: Vec<_> = of_family.enumerate().map(endpoint).collect();
            let slice = json!({
                "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
                "metadata": {
                    "name": format!("imported-{name}-{}", kind.to_lowercase()),
                    "namespace": NAMESPACE, "labels": labels,
                },
                "addressType": kind,
                "endpoints": endpoints,
                "ports": [{ "name": "http", "protocol": "TCP", "port": POD_PORT }],
            });
            apply(&self.here.client(), slice).await?;
        }
        Ok(())
    }

    async fn write_derived_slices(&self) -> Result<()> {
        self.write_slices("web", json!({ "kubernetes.io/service-name": DERIVED })).await
    }

    async fn write_import(&self, name: &str, kind: &str, addresses: &[String]) -> Result<()> {
        let import = json!({
            "apiVersion": "multicluster.x-k8s.io/v1beta1", "kind": "ServiceImport",
            "metadata": { "name": name, "namespace": NAMESPACE },
            "spec": {
                "type": kind,
                "ips": addresses,
                "ports": [{ "name": "http", "protocol": "TCP", "port": PORT }],
            },
        });
        apply(&self.here.client(), import).await
    }
}

async fn derived(import: &Import<'_>, shell: &Shell) -> Result<()> {
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": { "name": DERIVED, "namespace": NAMESPACE },
        "spec": {
            "ipFamilyPolicy": "PreferDualStack",
            "ports": [{ "name": "http", "protocol": "TCP", "port": PORT, "targetPort": POD_PORT }],
        },
    });
    apply(&import.here.client(), service).await?;
    import.write_derived_slices().await?;
    let addresses = cluster_ips(import.here, NAMESPACE, DERIVED).await?;
    let texts: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    import.write_import("web", "ClusterSetIP", &texts).await?;
    for address in addresses {
        let kind = if address.is_ipv4() { "A" } else { "AAAA" };
        shell.wait_for_records(kind, NAME, &BTreeSet::from([address.to_string()])).await?;
    }
    let service = BTreeSet::from([format!("{NAME}:{PORT}")]);
    shell.wait_for_records("SRV", &format!("_http._tcp.{NAME}"), &service).await
}

async fn packets(import: &Import<'_>, shell: &Shell) -> Result<()> {
    let pods = import.servers.pod_names(import.there).await?;
    shell.wait_for_pods(NAME, PORT, &pods).await?;
    let answer = shell.get(NAME, PORT).await?;
    ensure!(answer.cluster == import.there.name(), "{answer:?}");
    for address in cluster_ips(import.here, NAMESPACE, DERIVED).await? {
        let host = address.to_string();
        shell.wait_for_answer(&host, PORT).await?;
        let answer = shell.get(&host, PORT).await?;
        ensure!(answer.cluster == import.there.name(), "by {host}: {answer:?}");
    }
    Ok(())
}

async fn scaled(import: &Import<'_>, shell: &Shell) -> Result<()> {
    import.servers.scale(import.there, 1).await?;
    import.write_derived_slices().await?;
    shell.wait_for_pods(NAME, PORT, &import.servers.pod_names(import.there).await?).await
}

async fn headless(import: &Import<'_>, shell: &Shell) -> Result<()> {
    import.servers.scale(import.there, 2).await?;
    import.write_slices("peers", json!({ "service.kubernetes.io/headless": "" })).await?;
    import.write_import("peers", "Headless", &[]).await?;
    let addresses = import.servers.addresses(import.there).await?;
    let v4: Vec<_> = addresses.iter().filter(|address| !address.contains(':')).cloned().collect();
    shell.wait_for_records("A", HEADLESS, &v4.iter().cloned().collect()).await?;
    let v6 = addresses.iter().filter(|address| address.contains(':')).cloned().collect();
    shell.wait_for_records("AAAA", HEADLESS, &v6).await?;
    let one = format!("peers-0.{}.{HEADLESS}", import.there.name());
    let found = shell.lookup("A", &one).await?;
    ensure!(
        found.len() == 1 && found.iter().all(|address| v4.contains(address)),
        "{one}: {found:?}"
    );
    ensure!(shell.get(&one, POD_PORT).await?.cluster == import.there.name());
    let names = shell.lookup("SRV", &format!("_http._tcp.{HEADLESS}")).await?;
    let wanted = |number| format!("peers-{number}.{}.{HEADLESS}:{POD_PORT}", import.there.name());
    ensure!(names == BTreeSet::from([wanted(0), wanted(1)]), "SRV: {names:?}");
    Ok(())
}

/// A name of the clusterset is neither one of the cluster nor the other way round.
async fn absent(shell: &Shell, dig: &Dig<'_>) -> Result<()> {
    let names = [
        "none.shop.svc.clusterset.local",
        "web.none.svc.clusterset.local",
        "derived-web.shop.svc.clusterset.local",
        "web.shop.svc.cluster.local",
    ];
    for name in names {
        let found = shell.lookup("A", &format!("{name}.")).await?;
        ensure!(found.is_empty(), "{name} has {found:?}");
        dig.finds_nothing(name).await?;
    }
    Ok(())
}

async fn unchanged(fleet: &WholeFleet, cluster: &Cluster) -> Result<()> {
    let shell = fleet.shell(0, crate::names::NAMESPACE, "shell").await?;
    Own::existing().check(cluster, &shell).await
}

/// ServiceImports as upstream's definition serves them: both versions, without its rules.
fn definition() -> Value {
    let version = |name: &str, storage: bool| {
        json!({
            "name": name, "served": true, "storage": storage,
            "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
            "subresources": { "status": {} },
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "serviceimports.multicluster.x-k8s.io",
            "annotations": { "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/mcs-api/pull/108" },
        },
        "spec": {
            "group": "multicluster.x-k8s.io",
            "scope": "Namespaced",
            "names": { "kind": "ServiceImport", "plural": "serviceimports", "singular": "serviceimport" },
            "versions": [version("v1alpha1", false), version("v1beta1", true)],
        },
    })
}
