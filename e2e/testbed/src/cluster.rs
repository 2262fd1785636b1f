//! One cluster of a fleet, seen by its admin.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fleet_runtime::clients::certificates_to_pem;

use kube::config::Kubeconfig;
use kube::{Client, Config};
use rustix::process::Signal;

use super::client::{client, load};
use super::controlplane::ControlPlane;

/// A cluster that tests and the demo work on as its admin. Agents get credentials of their own.
#[derive(Debug)]
pub struct Cluster {
    name: String,
    kubeconfig: PathBuf,
    config: Config,
    client: ClientDebug,
    control_plane: Option<ControlPlane>,
}

/// [`Client`] has no `Debug`.
struct ClientDebug(Client);

impl std::fmt::Debug for ClientDebug {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}

impl Cluster {
    /// A cluster that exists already.
    pub async fn connect(name: &str, kubeconfig: &Path) -> Result<Self> {
        let config = load(kubeconfig).await?;
        let client = ClientDebug(client(&config).await?);
        let kubeconfig = kubeconfig.to_owned();
        Ok(Self { name: name.to_owned(), kubeconfig, config, client, control_plane: None })
    }

    /// A cluster whose control plane this process runs.
    pub async fn own(name: &str, control_plane: ControlPlane) -> Result<Self> {
        let cluster = Self::connect(name, &control_plane.kubeconfig()).await?;
        Ok(Self { control_plane: Some(control_plane), ..cluster })
    }

    /// `hub`, or the member's name in the fleet.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// An admin client. It belongs to the tokio runtime that started the testbed; another runtime needs
    /// [`Self::new_client`].
    pub fn client(&self) -> Client {
        self.client.0.clone()
    }

    /// A new admin client with connections of its own, for the current tokio runtime.
    pub async fn new_client(&self) -> Result<Client> {
        client(&self.config).await
    }

    /// How the admin's clients reach the API server.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The admin's kubeconfig file, for `kubectl` and for people.
    pub fn kubeconfig_path(&self) -> &Path {
        &self.kubeconfig
    }

    /// The API server's address without a trailing slash.
    pub fn server_url(&self) -> String {
        self.config.cluster_url.to_string().trim_end_matches('/').to_owned()
    }

    /// The certificates that its API server is verified with, PEM; `None` if the system's roots do.
    pub fn ca_pem(&self) -> Option<String> {
        let certificates = self.config.root_cert.as_ref()?;
        Some(certificates_to_pem(certificates))
    }

    /// The control plane, if this process runs it: to restart its API server, to compact its etcd, for its logs.
    pub fn control_plane(&self) -> Option<&ControlPlane> {
        self.control_plane.as_ref()
    }

    /// The audit log, where this process runs the control plane with auditing on.
    pub fn audit_log_path(&self) -> Option<PathBuf> {
        self.control_plane().map(ControlPlane::audit_log).filter(|path| path.exists())
    }

    fn own_control_plane(&self) -> Result<&ControlPlane> {
        self.control_plane().with_context(|| format!("{} is not run by this testbed", self.name))
    }

    /// Ends the API server gracefully. An error on a cluster that the testbed does not run.
    pub async fn stop_apiserver(&self) -> Result<()> {
        self.own_control_plane()?.stop_apiserver().await;
        Ok(())
    }

    /// Ends the API server at once. An error on a cluster that the testbed does not run.
    pub async fn kill_apiserver(&self) -> Result<()> {
        self.own_control_plane()?.kill_apiserver().await;
        Ok(())
    }

    /// Freezes the API server: connections stay, and nothing answers. An error on a cluster that the testbed does not run.
    pub async fn freeze_apiserver(&self) -> Result<()> {
        self.own_control_plane()?.signal_apiserver(Signal::STOP).await;
        Ok(())
    }

    /// Lets a frozen API server go on.
    pub async fn thaw_apiserver(&self) -> Result<()> {
        self.own_control_plane()?.signal_apiserver(Signal::CONT).await;
        Ok(())
    }

    /// Starts the API server again where it was, and waits until it is ready.
    pub async fn start_apiserver(&self) -> Result<()> {
        self.own_control_plane()?.start_apiserver().await
    }

    /// Makes etcd forget all history before now; see [`super::controlplane::Etcd::compact`].
    pub async fn compact(&self) -> Result<i64> {
        self.own_control_plane()?.etcd().compact().await
    }
}

/// The admins' kubeconfigs of several clusters in one, with a context for each, named as given.
pub fn merged_kubeconfig(clusters: &[(&Cluster, &str)]) -> Result<Kubeconfig> {
    let mut all = Kubeconfig::default();
    for (cluster, name) in clusters {
        all = all.merge(renamed(cluster, name)?)?;
    }
    Ok(all)
}

/// One cluster's kubeconfig, with all names in it replaced.
fn renamed(cluster: &Cluster, name: &str) -> Result<Kubeconfig> {
    let mut file = Kubeconfig::read_from(cluster.kubeconfig_path())?;
    name.clone_into(&mut file.clusters[0].name);
    name.clone_into(&mut file.auth_infos[0].name);
    let context = &mut file.contexts[0];
    name.clone_into(&mut context.name);
    let inner = context.context.as_mut().context("a context")?;
    name.clone_into(&mut inner.cluster);
    inner.user = Some(name.to_owned());
    Ok(file)
}
