//! Names of the cluster, asked for inside of a Pod and with dig in its network.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use fleet_nodes::pods::{PORT, Servers, Shell};
use fleet_nodes::whole::WholeFleet;
use fleet_testbed::cluster::Cluster;

use crate::dig::Dig;
use crate::steps::Steps;

pub(crate) const NAMESPACE: &str = "names";

pub(crate) async fn check(fleet: &WholeFleet, steps: &mut Steps) -> Result<()> {
    fleet.fleet().user_namespace(NAMESPACE).await?;
    let cluster = fleet.fleet().member(0);
    let shell = fleet.shell(0, NAMESPACE, "shell").await?;
    let own = Own {
        web: Servers::deploy(cluster, NAMESPACE, "web", 1).await?,
        headless: Servers::deploy_headless(cluster, NAMESPACE, "headless", 2).await?,
    };
    let what = "names of the cluster: A, AAAA, SRV, headless, none";
    steps.take(what, own.check(cluster, &shell)).await?;
    let dig = Dig::beside(&shell, fleet.node(0)).await?;
    steps
        .take("the same with dig, in the network of a Pod", own.check_with_dig(cluster, &dig))
        .await
}

/// What has names.
pub(crate) struct Own {
    pub(crate) web: Servers,
    pub(crate) headless: Servers,
}

impl Own {
    /// What [`check`] has deployed.
    pub(crate) fn existing() -> Self {
        let servers = |name, headless| Servers::existing(NAMESPACE, name, headless);
        Self { web: servers("web", false), headless: servers("headless", true) }
    }

    /// All kinds of names in `cluster.local`.
    pub(crate) async fn check(&self, cluster: &Cluster, shell: &Shell) -> Result<()> {
        let web = format!("web.{NAMESPACE}.svc.cluster.local");
        for address in self.web.cluster_ips(cluster).await? {
            let kind = if address.is_ipv4() { "A" } else { "AAAA" };
            shell.wait_for_records(kind, &web, &BTreeSet::from([address.to_string()])).await?;
        }
        // Through the search list of the Pod.
        shell.wait_for_answer("web", PORT).await?;
        ensure!(shell.get("web", PORT).await?.cluster == cluster.name());
        let service = BTreeSet::from([format!("{web}:{PORT}")]);
        shell.wait_for_records("SRV", &format!("_http._tcp.{web}"), &service).await?;

        let headless = format!("headless.{NAMESPACE}.svc.cluster.local");
        let addresses = self.headless.addresses(cluster).await?;
        for (kind, colon) in [("A", false), ("AAAA", true)] {
            let of_family = addresses.iter().filter(|address| address.contains(':') == colon);
            shell.wait_for_records(kind, &headless, &of_family.cloned().collect()).await?;
        }
        let none = format!("none.{NAMESPACE}.svc.cluster.local");
        ensure!(shell.lookup("A", &none).await?.is_empty(), "{none} has an address");
        Ok(())
    }

    async fn check_with_dig(&self, cluster: &Cluster, dig: &Dig<'_>) -> Result<()> {
        let web = format!("web.{NAMESPACE}.svc.cluster.local");
        for address in self.web.cluster_ips(cluster).await? {
            let kind = if address.is_ipv4() { "A" } else { "AAAA" };
            dig.finds(kind, &web, &[address.to_string()]).await?;
        }
        dig.finds("SRV", &format!("_http._tcp.{web}"), &[format!("0 50 {PORT} {web}.")]).await?;
        dig.finds_nothing(&format!("none.{NAMESPACE}.svc.cluster.local")).await
    }
}
