//! Packets: through ClusterIPs inside of a cluster, and from Pod to Pod between clusters.

use anyhow::{Context, Result, ensure};
use fleet_nodes::pods::{POD_PORT, PORT, Servers, Shell};
use fleet_nodes::whole::WholeFleet;

use crate::steps::Steps;

const NAMESPACE: &str = "routing";

pub(crate) async fn check(fleet: &WholeFleet, steps: &mut Steps) -> Result<()> {
    fleet.fleet().user_namespace(NAMESPACE).await?;
    let (here, there) = (fleet.fleet().member(0), fleet.fleet().member(1));
    let shell = steps.take("a Pod for commands runs", fleet.shell(0, NAMESPACE, "shell")).await?;
    let deployed = Servers::deploy(here, NAMESPACE, "web", 2);
    let own = steps.take("two servers run", deployed).await?;
    let other = Servers::deploy(there, NAMESPACE, "web", 1).await?;

    let addresses = own.cluster_ips(here).await?;
    ensure!(addresses.len() == 2, "the Service has one address of each family: {addresses:?}");
    for address in addresses {
        let host = address.to_string();
        let what = format!("ClusterIP {host} in the same cluster, TCP and UDP");
        steps.take(&what, through_cluster_ip(&shell, &host, here.name())).await?;
    }
    steps
        .take("both servers of a ClusterIP answer", async {
            let host = own.cluster_ips(here).await?.first().context("an address")?.to_string();
            shell.wait_for_pods(&host, PORT, &own.pod_names(here).await?).await
        })
        .await?;
    let own_address = shell.run(&["hostname", "-i"]).await?;
    for host in other.addresses(there).await? {
        let what = format!("Pod {host} of another cluster by address");
        steps.take(&what, across(&shell, &host, there.name(), &own_address)).await?;
    }
    Ok(())
}

async fn through_cluster_ip(shell: &Shell, host: &str, cluster: &str) -> Result<()> {
    shell.wait_for_answer(host, PORT).await?;
    let answer = shell.get(host, PORT).await?;
    ensure!(answer.cluster == cluster, "{answer:?}");
    let answer = shell.ask_by_udp(host, PORT).await?;
    ensure!(answer.cluster == cluster, "by UDP: {answer:?}");
    Ok(())
}

/// The other Pod sees the address of the Pod that asks, not of a node: nothing on the way hides it.
async fn across(shell: &Shell, host: &str, cluster: &str, own: &str) -> Result<()> {
    let answer = shell.get(host, POD_PORT).await?;
    ensure!(answer.cluster == cluster, "{answer:?}");
    let family = |address: &str| address.contains(':');
    let of_family = own.split_whitespace().find(|address| family(address) == family(host));
    ensure!(of_family.is_none_or(|own| own == answer.client), "asked from {own}: {answer:?}");
    Ok(())
}
