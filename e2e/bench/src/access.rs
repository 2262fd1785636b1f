//! Clients of the bench: the agents' client stack with the credentials of users, agents and relays.

use std::path::Path;

use anyhow::{Context, Result};
use fleet_runtime::clients::{ClientSet, from_config};
use kube::Config;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};

use fleet_testbed::agents::Agent;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::fleet::Fleet;
use fleet_testbed::join;
use fleet_testbed::kubeconfig::write_secret;
use fleet_testbed::{policies, rbac};

async fn config(kubeconfig: &Path) -> Result<Config> {
    let file = Kubeconfig::read_from(kubeconfig)
        .with_context(|| format!("read {}", kubeconfig.display()))?;
    Ok(Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?)
}

/// Clients of a cluster's admin.
pub(super) async fn admin(cluster: &Cluster) -> Result<ClientSet> {
    Ok(from_config("bench", config(cluster.kubeconfig_path()).await?).await?)
}

/// Clients with an agent's credential for its own cluster.
pub(super) async fn as_agent(fleet: &Fleet, agent: Agent) -> Result<ClientSet> {
    let environment = fleet.agent_env(agent);
    let kubeconfig = environment.iter().find(|(name, _)| name == "KUBECONFIG");
    let (_, path) = kubeconfig.context("an agent is started without KUBECONFIG")?;
    Ok(from_config("bench", config(Path::new(path)).await?).await?)
}

/// Makes a member's place on the hub, and clients that read its token from a file as the agents do. It may export at once.
pub(super) async fn on_hub(fleet: &Fleet, member: &str) -> Result<ClientSet> {
    let (hub, account) = (fleet.hub().client(), rbac::member_on_hub(member));
    join::member_home(&hub, &account.namespace).await?;
    account.apply(&hub).await?;
    policies::wait_allowed(fleet.hub(), member).await?;
    let token = fleet.run_path().join(format!("{}-token", account.namespace));
    write_secret(&token, &account.token(&hub).await?)?;
    let mut config = config(fleet.hub().kubeconfig_path()).await?;
    config.auth_info =
        AuthInfo { token_file: Some(token.display().to_string()), ..AuthInfo::default() };
    Ok(from_config("bench", config).await?)
}
