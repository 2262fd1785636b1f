//! Joining clusters into a fleet the way their admins would, with nothing but the API: it works on any clusters.

use std::path::{Path, PathBuf};

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace};
use kube::Client;
use serde_json::json;

use super::apply::apply;
use super::cluster::Cluster;
use super::crds;
use super::kubeconfig::{self, Credential};
use super::member_policy;
use super::rbac::{self, Account};

/// How often KubeFleet asks members for a heartbeat by default, in seconds.
const HEARTBEAT_SECONDS: i32 = 60;

/// Files that the hub agent is started with.
#[derive(Clone, Debug)]
pub struct HubAccess {
    /// Kubeconfig with the hub agent's own token.
    pub kubeconfig: PathBuf,
}

/// Files that a member agent is started with.
#[derive(Clone, Debug)]
pub struct MemberAccess {
    /// Kubeconfig for its own cluster with the agent's own token.
    pub kubeconfig: PathBuf,
    /// File with the bearer token for the hub.
    pub hub_token: PathBuf,
}

/// Installs what the hub agent needs on the hub.
pub async fn prepare_hub(hub: &Cluster, folder: &Path) -> Result<HubAccess> {
    let client = hub.client();
    namespace(&client, SYSTEM_NAMESPACE).await?;
    let account = rbac::hub_agent();
    account.apply(&client).await?;
    let kubeconfig = folder.join("hub-agent.kubeconfig");
    write_access(hub, &account, &kubeconfig).await?;
    Ok(HubAccess { kubeconfig })
}

/// Installs what a member agent needs in its own cluster, and joins the member to the hub.
pub async fn join_member(hub: &Cluster, member: &Cluster, folder: &Path) -> Result<MemberAccess> {
    namespace(&member.client(), SYSTEM_NAMESPACE).await?;
    let kubeconfig = own_access(member, &rbac::member_agent(), folder).await?;
    let hub_token = join_hub(hub, member.name(), folder).await?;
    Ok(MemberAccess { kubeconfig, hub_token })
}

/// Makes a member's place on the hub, as for a cluster that need not exist. Returns the file with its token.
pub async fn join_hub(hub: &Cluster, name: &str, folder: &Path) -> Result<PathBuf> {
    member_home(&hub.client(), &member_namespace(name)).await?;
    let hub_token = hub_access(hub, name, &rbac::member_on_hub(name), folder).await?;
    apply(
        &hub.client(),
        json!({
            "apiVersion": "cluster.kubernetes-fleet.io/v1beta1",
            "kind": "InternalMemberCluster",
            "metadata": { "name": name, "namespace": member_namespace(name) },
            "spec": { "state": "Join", "heartbeatPeriodSeconds": HEARTBEAT_SECONDS },
        }),
    )
    .await?;
    Ok(hub_token)
}

/// Makes the namespace of a member, with a policy that lists everything. On a strict hub, as it is shipped, a member without a
/// policy exports and imports nothing.
pub async fn member_home(hub: &Client, member_namespace: &str) -> Result<()> {
    namespace(hub, member_namespace).await?;
    member_policy::allow_all(hub, member_namespace).await
}

/// Accounts of their own for a further agent of a member that has joined.
pub async fn join_replica(
    hub: &Cluster,
    member: &Cluster,
    number: usize,
    folder: &Path,
) -> Result<MemberAccess> {
    let on_hub = rbac::member_on_hub(member.name()).replica(number);
    let kubeconfig = own_access(member, &rbac::member_agent().replica(number), folder).await?;
    let hub_token = hub_access(hub, member.name(), &on_hub, folder).await?;
    Ok(MemberAccess { kubeconfig, hub_token })
}

async fn own_access(member: &Cluster, account: &Account, folder: &Path) -> Result<PathBuf> {
    account.apply(&member.client()).await?;
    let kubeconfig = folder.join(format!("{}-{}.kubeconfig", member.name(), account.name));
    write_access(member, account, &kubeconfig).await?;
    Ok(kubeconfig)
}

async fn hub_access(
    hub: &Cluster,
    member: &str,
    account: &Account,
    folder: &Path,
) -> Result<PathBuf> {
    account.apply(&hub.client()).await?;
    let token = folder.join(format!("{member}-{}-hub-token", account.name));
    kubeconfig::write_secret(&token, &account.token(&hub.client()).await?)?;
    Ok(token)
}

/// Variables for a member agent: where the hub is and which member it is there (the original's names).
pub fn member_environment(
    hub: &Cluster,
    member: &Cluster,
    access: &MemberAccess,
) -> Vec<(String, String)> {
    let mut environment = vec![
        ("KUBECONFIG".to_owned(), access.kubeconfig.display().to_string()),
        ("HUB_SERVER_URL".to_owned(), hub.server_url()),
        ("CONFIG_PATH".to_owned(), access.hub_token.display().to_string()),
        ("MEMBER_CLUSTER_NAME".to_owned(), member.name().to_owned()),
    ];
    if let Some(pem) = hub.ca_pem() {
        environment.push(("HUB_CERTIFICATE_AUTHORITY".to_owned(), STANDARD.encode(pem)));
    }
    environment
}

/// Installs the CRDs of a hub.
pub async fn install_hub_crds(hub: &Cluster) -> Result<()> {
    crds::install(&hub.client(), &crds::load(&crds::HUB)?).await
}

/// Installs the CRDs of a member.
pub async fn install_member_crds(member: &Cluster) -> Result<()> {
    crds::install(&member.client(), &crds::load(&crds::MEMBER)?).await
}

/// Makes a namespace unless it exists.
pub async fn namespace(client: &Client, name: &str) -> Result<()> {
    apply(client, json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }))
        .await
}

async fn write_access(cluster: &Cluster, account: &Account, path: &Path) -> Result<()> {
    let token = account.token(&cluster.client()).await?;
    let value = kubeconfig::render(
        cluster.name(),
        &cluster.server_url(),
        cluster.ca_pem().as_deref(),
        &account.name,
        Credential::Token(&token),
    );
    kubeconfig::write(path, &value)
}
