//! Names in `clusterset.local`, of ServiceImports made by hand as an implementation of the MCS API makes them: one with a
//! derived Service and an imported EndpointSlice, one that is headless.

use anyhow::{Context, Result, ensure};
use fleet_nodes::dns::Zones;
use fleet_nodes::lookup::Found;
use fleet_nodes::pods::{POD_PORT, PORT, Servers, Shell, cluster_ips};
use fleet_nodes::whole::WholeFleet;
use fleet_testbed::apply::apply;
use fleet_testbed::cluster::Cluster;
use futures::future::try_join_all;
use serde_json::{Value, json};

use crate::names::ClusterLocal;
use crate::questions::{Asker, Question, both_families, no_such_names};
use crate::steps::Steps;

const NAMESPACE: &str = "shop";
const WEB: &str = "web.shop.svc.clusterset.local";
const DERIVED: &str = "derived-web";
const PEERS: &str = "peers.shop.svc.clusterset.local";
/// The cluster that exports.
const SOURCE: &str = "member-2";
/// Names that do not exist while nothing is imported.
const NOTHING_IMPORTED: [&str; 3] =
    [WEB, "web.none.svc.clusterset.local", "kubernetes.default.svc.clusterset.local"];
/// Names that do not exist while `web` is imported: it has no name in the cluster itself, the derived Service has none in
/// the clusterset, and a Service that is not headless has none for a single cluster.
const WEB_IMPORTED: [&str; 5] = [
    "none.shop.svc.clusterset.local",
    "web.none.svc.clusterset.local",
    "derived-web.shop.svc.clusterset.local",
    "web.shop.svc.cluster.local",
    "member-2.web.shop.svc.clusterset.local",
];

pub(crate) async fn check(fleet: &WholeFleet, own: &ClusterLocal, steps: &mut Steps) -> Result<()> {
    fleet.fleet().user_namespace(NAMESPACE).await?;
    let (here, there) = (fleet.fleet().member(0), fleet.fleet().member(1));
    ensure!(there.name() == SOURCE, "{} exports", there.name());
    steps
        .take("DNS answers for the clusterset", async {
            let members = fleet.fleet().members().iter();
            try_join_all(members.map(async |one| apply(&one.client(), definition()).await)).await?;
            fleet.set_zones(Zones::Clusterset).await
        })
        .await?;
    let shell = fleet.shell(0, NAMESPACE, "shell").await?;
    let asker = Asker::new(&shell, fleet.node(0)).await?;
    let unknown: Vec<_> = no_such_names(&NOTHING_IMPORTED).collect();
    steps.take("names of what nobody imports do not exist", asker.ask(&unknown)).await?;
    let servers = Servers::deploy(there, NAMESPACE, "web", 2).await?;
    let import = Import { here, there, servers: &servers };
    steps
        .take("a derived Service has names", async {
            let addresses = import.derive().await?;
            asker.ask(&web_table(&addresses)).await
        })
        .await?;
    steps
        .take("packets reach the Pods of the other cluster by it", packets(&import, &shell))
        .await?;
    steps.take("scaled down, one Pod answers", scaled(&import, &shell)).await?;
    steps.take("headless: names of the Service and of its Pods", headless(&import, &asker)).await?;
    steps.take("and packets reach a Pod by its name", one_pod(&import, &shell)).await?;
    steps.take("names of the cluster are unchanged", own.check(fleet)).await
}

/// Of an import with these ClusterIPs.
fn web_table(addresses: &[String]) -> Vec<Question> {
    let service = Found::records([format!("{WEB}:{PORT}")]);
    let mut table = Vec::from(both_families(WEB, addresses));
    table.push(("SRV", format!("_http._tcp.{WEB}"), service));
    table.extend(no_such_names(&WEB_IMPORTED));
    table
}

/// Of a headless import from [`SOURCE`], by the addresses of each host.
fn peers_table(hosts: &[(String, Vec<String>)]) -> Vec<Question> {
    let all: Vec<String> = hosts.iter().flat_map(|(_, addresses)| addresses).cloned().collect();
    let name = |host: &str| format!("{host}.{SOURCE}.{PEERS}");
    let services = hosts.iter().map(|(host, _)| format!("{}:{POD_PORT}", name(host)));
    let mut table = Vec::from(both_families(PEERS, &all));
    table.push(("SRV", format!("_http._tcp.{PEERS}"), Found::records(services)));
    table.extend(hosts.iter().flat_map(|(host, own)| both_families(&name(host), own)));
    table.extend(no_such_names(&[&name("none"), "peers.shop.svc.cluster.local"]));
    table
}

/// What one cluster imports from another.
struct Import<'a> {
    here: &'a Cluster,
    there: &'a Cluster,
    servers: &'a Servers,
}

impl Import<'_> {
    /// Names for the Pods as they are now, each with an address of both families.
    async fn hosts(&self, name: &str) -> Result<Vec<(String, Vec<String>)>> {
        let pods = self.servers.addresses_of_pods(self.there).await?;
        ensure!(pods.iter().all(|own| own.len() == 2), "Pods have {pods:?}");
        let numbered = pods.into_iter().enumerate();
        Ok(numbered.map(|(number, own)| (format!("{name}-{number}"), own)).collect())
    }

    /// One imported slice for each family, with the Pods as they are now.
    async fn write_slices(&self, name: &str, label: (&str, &str)) -> Result<()> {
        let hosts = self.hosts(name).await?;
        for (position, kind) in ["IPv4", "IPv6"].into_iter().enumerate() {
            let endpoint = |(host, addresses): &(String, Vec<String>)| {
                json!({
                    "addresses": [addresses[position]],
                    "hostname": host,
                    "conditions": { "ready": true },
                })
            };
            let slice = json!({
                "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
                "metadata": {
                    "name": format!("imported-{name}-{}", kind.to_lowercase()),
                    "namespace": NAMESPACE,
                    "labels": {
                        "multicluster.kubernetes.io/service-name": name,
                        "multicluster.kubernetes.io/source-cluster": SOURCE,
                        "endpointslice.kubernetes.io/managed-by": "by-hand",
                        label.0: label.1,
                    },
                },
                "addressType": kind,
                "endpoints": hosts.iter().map(endpoint).collect::<Vec<_>>(),
                "ports": [{ "name": "http", "protocol": "TCP", "port": POD_PORT }],
            });
            apply(&self.here.client(), slice).await?;
        }
        Ok(())
    }

    async fn write_derived_slices(&self) -> Result<()> {
        self.write_slices("web", ("kubernetes.io/service-name", DERIVED)).await
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

    /// Imports `web`; the addresses of its derived Service.
    async fn derive(&self) -> Result<Vec<String>> {
        let service = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": { "name": DERIVED, "namespace": NAMESPACE },
            "spec": {
                "ipFamilyPolicy": "PreferDualStack",
                "ports": [{ "name": "http", "protocol": "TCP", "port": PORT, "targetPort": POD_PORT }],
            },
        });
        apply(&self.here.client(), service).await?;
        self.write_derived_slices().await?;
        let addresses = self.derived_addresses().await?;
        ensure!(addresses.len() == 2, "one of each family: {addresses:?}");
        self.write_import("web", "ClusterSetIP", &addresses).await?;
        Ok(addresses)
    }

    async fn derived_addresses(&self) -> Result<Vec<String>> {
        let addresses = cluster_ips(self.here, NAMESPACE, DERIVED).await?;
        Ok(addresses.iter().map(ToString::to_string).collect())
    }
}

async fn packets(import: &Import<'_>, shell: &Shell) -> Result<()> {
    let pods = import.servers.pod_names(import.there).await?;
    shell.wait_for_pods(WEB, PORT, &pods).await?;
    let by_address = import.derived_addresses().await?;
    for host in by_address.iter().map(String::as_str).chain([WEB]) {
        shell.wait_for_answer(host, PORT).await?;
        let answer = shell.get(host, PORT).await?;
        ensure!(answer.cluster == import.there.name(), "by {host}: {answer:?}");
    }
    Ok(())
}

async fn scaled(import: &Import<'_>, shell: &Shell) -> Result<()> {
    import.servers.scale(import.there, 1).await?;
    import.write_derived_slices().await?;
    shell.wait_for_pods(WEB, PORT, &import.servers.pod_names(import.there).await?).await
}

async fn headless(import: &Import<'_>, asker: &Asker<'_>) -> Result<()> {
    import.servers.scale(import.there, 2).await?;
    import.write_slices("peers", ("service.kubernetes.io/headless", "")).await?;
    import.write_import("peers", "Headless", &[]).await?;
    asker.ask(&peers_table(&import.hosts("peers").await?)).await
}

async fn one_pod(import: &Import<'_>, shell: &Shell) -> Result<()> {
    let hosts = import.hosts("peers").await?;
    let (host, _) = hosts.first().context("a Pod")?;
    let answer = shell.get(&format!("{host}.{SOURCE}.{PEERS}"), POD_PORT).await?;
    ensure!(answer.cluster == import.there.name(), "{answer:?}");
    Ok(())
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
