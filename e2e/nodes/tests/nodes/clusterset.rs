//! Names in `clusterset.local` of what the agents import: of a Service with addresses, of headless ones, and of what is not
//! imported, or no more.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_api::{annotations, kinds};
use fleet_nodes::dns::Zones;
use fleet_nodes::lookup::Found;
use fleet_nodes::pods::{POD_PORT, PORT, Servers, Shell};
use fleet_nodes::whole::WholeFleet;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::multicluster::{export, unexport};
use fleet_testbed::objects::find;
use fleet_testbed::wait::wait_for;
use kube::api::DynamicObject;

use crate::names::ClusterLocal;
use crate::questions::{Asker, Question, both_families, no_such_names};
use crate::steps::Steps;

const DEADLINE: Duration = Duration::from_mins(1);
const NAMESPACE: &str = "shop";
const WEB: &str = "web.shop.svc.clusterset.local";
const PEERS: &str = "peers.shop.svc.clusterset.local";
const STORE: &str = "store.shop.svc.clusterset.local";
/// The cluster that exports.
const SOURCE: &str = "member-2";
/// Names that do not exist while nothing is imported.
const NOTHING_IMPORTED: [&str; 4] =
    [WEB, PEERS, "web.none.svc.clusterset.local", "kubernetes.default.svc.clusterset.local"];
/// Names that do not exist while `web` is imported: it has no name in the cluster itself, and a Service that is not headless
/// has none for a single cluster.
const WEB_IMPORTED: [&str; 6] = [
    "none.shop.svc.clusterset.local",
    "web.none.svc.clusterset.local",
    "_none._tcp.web.shop.svc.clusterset.local",
    "web.shop.svc.cluster.local",
    "member-1.web.shop.svc.clusterset.local",
    "member-2.web.shop.svc.clusterset.local",
];

/// The fleet is a clusterset, and its agents serve it.
pub(crate) async fn check(fleet: &WholeFleet, own: &ClusterLocal, steps: &mut Steps) -> Result<()> {
    fleet.fleet().user_namespace(NAMESPACE).await?;
    let (here, there) = (fleet.fleet().member(0), fleet.fleet().member(1));
    ensure!(there.name() == SOURCE, "{} exports", there.name());
    let shell = fleet.shell(0, NAMESPACE, "shell").await?;
    let asker = Asker::new(&shell, fleet.node(0)).await?;
    let unknown = nothing_table();
    steps.take("names of what nobody imports do not exist", asker.ask(&unknown)).await?;
    let clusters = Clusters { here, there, asker, shell: &shell };
    let web = Servers::deploy(there, NAMESPACE, "web", 2).await?;
    steps.take("an imported Service has names", clusters.web()).await?;
    steps.take("packets reach the Pods of the other cluster by it", clusters.packets(&web)).await?;
    steps.take("a headless Service and each of its Pods have names", clusters.peers()).await?;
    steps.take("Pods with host names have names by these", clusters.store()).await?;
    steps.take("names of the cluster are unchanged", own.check(fleet)).await?;
    steps.take("names without endpoints, and without such", clusters.empty(fleet, &web)).await?;
    steps.take("names of what is withdrawn do not exist any more", clusters.withdrawn()).await
}

struct Clusters<'a> {
    here: &'a Cluster,
    there: &'a Cluster,
    asker: Asker<'a>,
    shell: &'a Shell,
}

impl Clusters<'_> {
    async fn web(&self) -> Result<()> {
        export(self.there, NAMESPACE, "web").await?;
        let import = imported(self.here, "web", 2).await?;
        let derived = import.metadata.annotations.as_ref();
        let derived = derived.and_then(|all| all.get(annotations::MULTICLUSTER_DERIVED_SERVICE));
        let derived = derived.context("an import names its derived Service")?;
        self.asker.ask(&web_table(&addresses(&import), derived)).await
    }

    async fn packets(&self, servers: &Servers) -> Result<()> {
        self.shell.wait_for_pods(WEB, PORT, &servers.pod_names(self.there).await?).await?;
        let by_address = addresses(&imported(self.here, "web", 2).await?);
        for host in by_address.iter().map(String::as_str).chain([WEB]) {
            self.shell.wait_for_answer(host, PORT).await?;
            let answer = self.shell.get(host, PORT).await?;
            ensure!(answer.cluster == self.there.name(), "by {host}: {answer:?}");
        }
        Ok(())
    }

    /// Names of Pods are made of their addresses. Without a Pod that is ready, the Service has no name.
    async fn peers(&self) -> Result<()> {
        let servers = Servers::deploy_headless(self.there, NAMESPACE, "peers", 2).await?;
        export(self.there, NAMESPACE, "peers").await?;
        self.asker.ask(&headless_table(PEERS, &servers.hosts(self.there).await?)).await?;
        servers.scale(self.there, 0).await?;
        self.asker.ask(&no_such_names(&[PEERS]).collect::<Vec<_>>()).await?;
        servers.scale(self.there, 1).await?;
        self.asker.ask(&headless_table(PEERS, &servers.hosts(self.there).await?)).await
    }

    async fn store(&self) -> Result<()> {
        let servers = Servers::deploy_set(self.there, NAMESPACE, "store", 2).await?;
        export(self.there, NAMESPACE, "store").await?;
        let hosts = servers.hosts(self.there).await?;
        ensure!(hosts.iter().any(|(host, _)| host == "store-0"), "{hosts:?}");
        self.asker.ask(&headless_table(STORE, &hosts)).await?;
        for (host, _) in &hosts {
            let answer = self.shell.get(&format!("{host}.{SOURCE}.{STORE}"), POD_PORT).await?;
            ensure!(answer.pod == *host, "{answer:?}");
        }
        Ok(())
    }

    /// A Service without endpoints keeps its name, unless CoreDNS ignores it.
    async fn empty(&self, fleet: &WholeFleet, servers: &Servers) -> Result<()> {
        servers.scale(self.there, 0).await?;
        let addresses = addresses(&imported(self.here, "web", 2).await?);
        self.asker.ask(&both_families(WEB, &addresses)).await?;
        fleet.set_zones(Zones::ClustersetWithEndpoints).await?;
        self.asker.ask(&no_such_names(&[WEB]).collect::<Vec<_>>()).await?;
        servers.scale(self.there, 1).await?;
        self.asker.ask(&both_families(WEB, &addresses)).await?;
        fleet.set_zones(Zones::Clusterset).await
    }

    async fn withdrawn(&self) -> Result<()> {
        for name in ["web", "peers", "store"] {
            unexport(self.there, NAMESPACE, name).await?;
        }
        self.asker.ask(&nothing_table()).await
    }
}

fn nothing_table() -> Vec<Question> {
    let version = ("TXT", "dns-version.clusterset.local".to_owned(), Found::records(["\"1.1.0\""]));
    no_such_names(&NOTHING_IMPORTED).chain([version]).collect()
}

/// Of an import with these addresses. The derived Service has no name in the clusterset.
fn web_table(addresses: &[String], derived: &str) -> Vec<Question> {
    let service = |name: String| ("SRV", name, Found::records([format!("{WEB}:{PORT}")]));
    let mut table = Vec::from(both_families(WEB, addresses));
    // Without a port in the question, ports of one number are one record.
    table.extend(["", "_http._tcp.", "_echo._udp."].map(|port| service(format!("{port}{WEB}"))));
    table.extend(no_such_names(&WEB_IMPORTED));
    table.extend(no_such_names(&[&format!("{derived}.{NAMESPACE}.svc.clusterset.local")]));
    table
}

/// Of a headless import from [`SOURCE`], by the addresses of each host.
fn headless_table(service: &str, hosts: &[(String, Vec<String>)]) -> Vec<Question> {
    let all: Vec<String> = hosts.iter().flat_map(|(_, addresses)| addresses).cloned().collect();
    let name = |host: &str| format!("{host}.{SOURCE}.{service}");
    let ports = || hosts.iter().map(|(host, _)| format!("{}:{POD_PORT}", name(host)));
    let mut table = Vec::from(both_families(service, &all));
    for port in ["", "_http._tcp.", "_echo._udp."] {
        table.push(("SRV", format!("{port}{service}"), Found::records(ports())));
    }
    table.extend(hosts.iter().flat_map(|(host, own)| both_families(&name(host), own)));
    let local = service.replace("clusterset.local", "cluster.local");
    table.extend(no_such_names(&[&name("none"), &format!("{SOURCE}.{service}"), &local]));
    table
}

/// The ServiceImport, once it has that many addresses.
async fn imported(cluster: &Cluster, name: &str, count: usize) -> Result<DynamicObject> {
    let what = format!("the import of {name} has {count} addresses");
    wait_for(&what, DEADLINE, async || {
        let found = find(cluster, kinds::MCS_SERVICE_IMPORT, (NAMESPACE, name)).await?;
        Ok(found.filter(|import| addresses(import).len() == count))
    })
    .await
}

fn addresses(import: &DynamicObject) -> Vec<String> {
    let ips = import.data["spec"]["ips"].as_array().into_iter().flatten();
    ips.filter_map(|ip| ip.as_str().map(str::to_owned)).collect()
}
