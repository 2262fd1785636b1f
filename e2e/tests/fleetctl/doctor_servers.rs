//! Clocks that differ and releases of Kubernetes that are not supported, as `fleetctl doctor` finds them: all servers here have the same,
//! so proxies in front of the real API servers give answers another time and another version, and then the servers' own again.

use anyhow::{Context as _, Result, ensure};
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_runtime::clock::Clock;
use fleet_testbed::Testbed;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::fault_proxy::FaultProxy;
use fleet_testbed::kubeconfig::{Credential, render};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use kube::api::PostParams;
use kube::config::Kubeconfig;

use crate::doctor::{EAST, is_sound};
use crate::tool::{Said, Tool};

const OF_MEMBER: &str =
    "member-1 clock  the clocks of the member's API server and of the hub's differ by";
const OF_HUB: &str = "hub hub-clock  the hub's clock and that of this computer differ by";

const OF_MEMBERS_RELEASE: &str = "member-1 kubernetes  ";
const OF_HUBS_RELEASE: &str = "hub hub-kubernetes  ";

/// In a fleet that is sound.
pub(crate) async fn what_servers_say_of_themselves_is_examined(
    testbed: &Testbed,
    tool: &Tool,
) -> Result<()> {
    is_sound(tool).await?;
    let scene = Scene::of(testbed, tool).await?;
    scene.is_mended().await?;
    clocks_that_differ_are_found(&scene).await?;
    releases_that_are_not_supported_are_found(&scene).await
}

async fn clocks_that_differ_are_found(scene: &Scene<'_>) -> Result<()> {
    // A clock of a proxy stands still: a difference has room for the time that a look takes.
    for (ahead, code, counts) in
        [(40, 0, "0 failures, 1 warnings"), (600, 1, "1 failures"), (-600, 1, "1 failures")]
    {
        scene.member.set_time(now() + ahead)?;
        let said = scene.examine().await?.exits(code)?;
        said.tells(&["0 not checked", counts, OF_MEMBER])?;
        ensure!(!said.out.contains(OF_HUB), "that of the hub is right: {}", said.out);
        scene.is_mended().await?;
    }
    let at = now() + 600;
    scene.hub.set_time(at)?;
    scene.examine().await?.exits(1)?.tells(&["1 failures", OF_MEMBER, OF_HUB])?;
    // Both are wrong alike, which only the clock of this computer shows.
    scene.member.set_time(at)?;
    let said = scene.examine().await?.exits(0)?;
    said.tells(&["0 failures, 0 warnings", OF_HUB])?;
    ensure!(!said.out.contains(OF_MEMBER), "{}", said.out);
    scene.is_mended().await
}

async fn releases_that_are_not_supported_are_found(scene: &Scene<'_>) -> Result<()> {
    for (release, code, level, words) in [
        ("v1.33.5", 1, "1 failures", "Kubernetes 1.33 is older than 1.34"),
        ("v1.34.1", 0, "0 failures", "Kubernetes 1.34 lacks the promise"),
        ("v1.99.0", 0, "0 failures", "Kubernetes 1.99 is newer than"),
    ] {
        for (proxy, check, other) in [
            (&scene.hub, OF_HUBS_RELEASE, OF_MEMBERS_RELEASE),
            (&scene.member, OF_MEMBERS_RELEASE, OF_HUBS_RELEASE),
        ] {
            proxy.set_release(Some(release));
            let said = scene.examine().await?.exits(code)?;
            said.tells(&[level, "0 warnings, 0 not checked", &format!("{check}{words}")])?;
            said.finds_none_of(&[other])?;
            scene.is_mended().await?;
        }
    }
    Ok(())
}

fn now() -> i64 {
    Clock::system().now().as_second()
}

/// The way of a user to both API servers, through a proxy in front of each.
struct Scene<'a> {
    tool: &'a Tool,
    hub: FaultProxy,
    member: FaultProxy,
    kubeconfig: String,
}

impl<'a> Scene<'a> {
    async fn of(testbed: &Testbed, tool: &'a Tool) -> Result<Self> {
        let (hub, member) = (testbed.hub(), testbed.member(0));
        let proxies = (FaultProxy::to(hub).await?, FaultProxy::to(member).await?);
        let all = through(&proxies.0, hub, "hub").await?;
        let all = all.merge(through(&proxies.1, member, EAST).await?)?;
        let path = tool.folder().join("through-proxies.kubeconfig");
        std::fs::write(&path, serde_saphyr::to_string(&all)?)?;
        let kubeconfig = path.display().to_string();
        Ok(Self { tool, hub: proxies.0, member: proxies.1, kubeconfig })
    }

    async fn examine(&self) -> Result<Said> {
        self.tool.run(&["doctor", "--member", EAST, "--kubeconfig", &self.kubeconfig]).await
    }

    /// Gives both their own clocks and releases back, and nothing is found.
    async fn is_mended(&self) -> Result<()> {
        for proxy in [&self.hub, &self.member] {
            proxy.clear_time();
            proxy.set_release(None);
        }
        let said = self.examine().await?.exits(0)?;
        said.tells(&["0 failures, 0 warnings, 0 not checked"])?;
        said.finds_none_of(&[OF_MEMBER, OF_HUB, OF_MEMBERS_RELEASE, OF_HUBS_RELEASE])
    }
}

/// How an account with all rights reaches a cluster: a proxy hands tokens on, and certificates it cannot.
async fn through(proxy: &FaultProxy, cluster: &Cluster, name: &str) -> Result<Kubeconfig> {
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client(), SYSTEM_NAMESPACE);
    let request = TokenRequest::default();
    let made = accounts.create_token_request("default", &PostParams::default(), &request).await?;
    let token = made.status.context("the token request has no status")?.token;
    let ca = cluster.ca_pem();
    let file = render(name, &proxy.url(), ca.as_deref(), name, Credential::Token(&token));
    Ok(serde_json::from_value(file)?)
}
