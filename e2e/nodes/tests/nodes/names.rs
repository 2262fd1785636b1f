//! Names in `cluster.local`.

use anyhow::{Result, ensure};
use fleet_nodes::lookup::Found;
use fleet_nodes::pods::{POD_PORT, PORT, Servers};
use fleet_nodes::whole::WholeFleet;

use crate::questions::{Asker, Question, both_families, no_such_names};
use crate::steps::Steps;

const NAMESPACE: &str = "names";
const WEB: &str = "web.names.svc.cluster.local";
const HEADLESS: &str = "headless.names.svc.cluster.local";
/// Of the first range of ClusterIPs, which is IPv4.
const KUBERNETES: (&str, &str) = ("kubernetes.default.svc.cluster.local", "10.96.0.1");
const ABSENT: [&str; 4] = [
    "none.names.svc.cluster.local",
    "web.none.svc.cluster.local",
    "_none._tcp.web.names.svc.cluster.local",
    "web.names.pod.cluster.local",
];

/// What names in `cluster.local` answer, which another zone beside it must not change.
pub(crate) struct ClusterLocal {
    table: Vec<Question>,
}

impl ClusterLocal {
    /// Deploys what has names in the first member.
    pub(crate) async fn deploy(fleet: &WholeFleet) -> Result<Self> {
        fleet.fleet().user_namespace(NAMESPACE).await?;
        let cluster = fleet.fleet().member(0);
        let web = Servers::deploy(cluster, NAMESPACE, "web", 1).await?;
        let headless = Servers::deploy_headless(cluster, NAMESPACE, "headless", 2).await?;
        let web = web.cluster_ips(cluster).await?;
        let web: Vec<String> = web.iter().map(ToString::to_string).collect();
        let pods: Vec<String> = headless.addresses(cluster).await?.into_iter().collect();
        Ok(Self { table: table(&web, &pods) })
    }

    /// Asks for all of them, and for a short name through the search list of a Pod.
    pub(crate) async fn check(&self, fleet: &WholeFleet) -> Result<()> {
        let shell = fleet.shell(0, NAMESPACE, "shell").await?;
        Asker::new(&shell, fleet.node(0)).await?.ask(&self.table).await?;
        shell.wait_for_answer("web", PORT).await?;
        let answer = shell.get("web", PORT).await?;
        ensure!(answer.cluster == fleet.fleet().member(0).name(), "{answer:?}");
        Ok(())
    }
}

pub(crate) async fn check(fleet: &WholeFleet, steps: &mut Steps) -> Result<ClusterLocal> {
    let own = steps.take("what has names is deployed", ClusterLocal::deploy(fleet)).await?;
    let what = "names of the cluster: A, AAAA, SRV, headless, Pods, none";
    steps.take(what, own.check(fleet)).await?;
    Ok(own)
}

/// Of a Service with these ClusterIPs, and of a headless one with Pods of these addresses.
fn table(web: &[String], pods: &[String]) -> Vec<Question> {
    let (kubernetes, address) = KUBERNETES;
    let pod = |address: &String| format!("{}.{HEADLESS}", address.replace(['.', ':'], "-"));
    let of_pods = pods.iter().map(|address| format!("{}:{POD_PORT}", pod(address)));
    let services: [Question; 3] = [
        ("SRV", format!("_http._tcp.{WEB}"), Found::records([format!("{WEB}:{PORT}")])),
        ("SRV", format!("_echo._udp.{WEB}"), Found::records([format!("{WEB}:{PORT}")])),
        ("SRV", format!("_http._tcp.{HEADLESS}"), Found::records(of_pods)),
    ];
    let mut table = Vec::from(both_families(WEB, web));
    table.extend(both_families(HEADLESS, pods));
    table.extend(pods.iter().flat_map(|own| both_families(&pod(own), std::slice::from_ref(own))));
    table.extend(both_families(kubernetes, &[address.to_owned()]));
    table.extend(services);
    table.extend(no_such_names(&ABSENT));
    table
}
