//! Does what a kubelet would do with a Pod of a chart's Deployment: runs the agent as a process, with the arguments,
//! variables, mounted Secrets and the service account's token that the chart gives it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{PodSpec, ServiceAccount};
use kube::Api;
use kube::api::PostParams;

use super::agent::{FOREIGN, find_program};
use super::cluster::Cluster;
use super::kubeconfig::{self, Credential};
use super::ports::free_port;
use super::process::{Launch, Server};
use super::state::RunDir;
use crate::plain_http;
use crate::wait::wait_until;
use mount::Mount;

mod mount;

/// The namespace that the charts are installed in.
pub const NAMESPACE: &str = "fleet-system";

/// Agents of several clusters share this machine, which those of a cluster do not: they cannot all listen where their
/// charts want.
const ADDRESSES: [&str; 2] = ["--metrics-bind-address", "--health-probe-bind-address"];

const READY_DEADLINE: Duration = Duration::from_mins(2);
const STOP_PATIENCE: Duration = Duration::from_secs(15);

/// What the one container of a Pod is started with, and its volumes, on this machine.
#[derive(Clone, Debug)]
pub struct Container {
    /// As in the chart, but for the addresses to listen on.
    pub arguments: Vec<String>,
    /// As in the chart, with paths on this machine, and `KUBECONFIG` for what is mounted into every Pod.
    pub environment: Vec<(String, String)>,
    mounts: Vec<Mount>,
}

impl Container {
    /// Reads the Deployment of a cluster, and puts into the folder what its Pods get to see.
    pub async fn prepare(cluster: &Cluster, deployment: &str, folder: &Path) -> Result<Self> {
        Self::of_pod(cluster, &spec_of(cluster, deployment).await?, folder).await
    }

    /// [`Self::prepare`] for a Pod of this spec.
    async fn of_pod(cluster: &Cluster, spec: &PodSpec, folder: &Path) -> Result<Self> {
        let [container] = &spec.containers[..] else { bail!("an agent's Pod has one container") };
        let mounts = Mount::all(spec, container, folder)?;
        let mut environment = vec![own_access(cluster, spec, folder).await?];
        for variable in container.env.iter().flatten() {
            let value = variable.value.clone().context("a variable with a value")?;
            let value = mounts.iter().fold(value, |value, mount| mount.path_here(&value));
            environment.push((variable.name.clone(), value));
        }
        let arguments = container.args.iter().flatten().filter(|argument| {
            !ADDRESSES.iter().any(|address| argument.starts_with(&format!("{address}=")))
        });
        let container = Self { arguments: arguments.cloned().collect(), environment, mounts };
        container.update(cluster).await?;
        Ok(container)
    }

    /// Writes the mounted Secrets as they are now.
    pub async fn update(&self, cluster: &Cluster) -> Result<()> {
        for mount in &self.mounts {
            mount.update(cluster, NAMESPACE).await?;
        }
        Ok(())
    }
}

/// The process that stands for one Pod of a Deployment. Dropping it kills it.
#[derive(Debug)]
pub struct Running {
    server: Server,
    container: Container,
    health: u16,
}

impl Running {
    /// Starts what the Deployment describes and waits until it is ready.
    pub async fn start(cluster: &Cluster, deployment: &str, run: &Arc<RunDir>) -> Result<Self> {
        Self::start_named(cluster, deployment, &format!("{deployment}-0"), run).await
    }

    /// [`Self::start`] as the Pod of a name, where the Deployment has several.
    pub async fn start_named(
        cluster: &Cluster,
        deployment: &str,
        pod: &str,
        run: &Arc<RunDir>,
    ) -> Result<Self> {
        Self::start_program(cluster, &find_program(deployment)?, (deployment, pod), run).await
    }

    /// [`Self::start_named`] with this program: that of another version.
    pub async fn start_program(
        cluster: &Cluster,
        program: &Path,
        (deployment, pod): (&str, &str),
        run: &Arc<RunDir>,
    ) -> Result<Self> {
        let spec = spec_of(cluster, deployment).await?;
        let mut running = Self::launch(cluster, program, &spec, pod, run).await?;
        running.wait_ready().await?;
        Ok(running)
    }

    /// Starts an agent as a Pod of this spec and name.
    pub(crate) async fn launch(
        cluster: &Cluster,
        program: &Path,
        spec: &PodSpec,
        pod: &str,
        run: &RunDir,
    ) -> Result<Self> {
        let name = format!("{}-{pod}", cluster.name());
        let folder = run.folder(&format!("pod-{name}"))?;
        let container = Container::of_pod(cluster, spec, &folder).await?;
        let health = free_port()?;
        let addresses = ADDRESSES.into_iter().zip([free_port()?, health]);
        let addresses = addresses.map(|(flag, port)| format!("{flag}=127.0.0.1:{port}"));
        // A container's host name is that of its Pod.
        let host = ("HOSTNAME".to_owned(), pod.to_owned());
        let launch = Launch {
            program: program.to_owned(),
            arguments: container
                .arguments
                .iter()
                .cloned()
                .chain(addresses)
                .map(Into::into)
                .collect(),
            environment: container.environment.iter().cloned().chain([host]).collect(),
            without: FOREIGN.iter().map(|&name| name.to_owned()).collect(),
            log: folder.join("agent.log"),
            name,
        };
        Ok(Self { server: Server::start(&launch, run)?, container, health })
    }

    async fn wait_ready(&mut self) -> Result<()> {
        let what = format!("{} is ready", self.server.name());
        let ready = wait_until(&what, READY_DEADLINE, async || self.is_ready().await).await;
        ready.with_context(|| format!("its last lines:\n{}", self.server.log_tail(15)))
    }

    /// Whether it reports that it is ready; an error if it has ended.
    pub(crate) async fn is_ready(&mut self) -> Result<bool> {
        self.server.check_alive()?;
        let url = format!("http://127.0.0.1:{}/readyz", self.health);
        Ok(plain_http::get(&url).await?.0 == 200)
    }

    /// An error with the end of its log if it has ended by itself.
    pub fn check_alive(&mut self) -> Result<()> {
        self.server.check_alive()
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.server.exited().is_some()
    }

    /// What it is started with.
    pub fn container(&self) -> &Container {
        &self.container
    }

    /// Ends it as a kubelet would.
    pub async fn stop(mut self) -> Result<()> {
        let ended = self.server.stop(STOP_PATIENCE).await;
        ensure!(ended, "{} had to be killed", self.server.name());
        Ok(())
    }
}

/// Whether the cluster has the Deployment of a chart.
pub async fn is_deployed(cluster: &Cluster, deployment: &str) -> Result<bool> {
    let api: Api<Deployment> = Api::namespaced(cluster.client(), NAMESPACE);
    let found = api.get_opt(deployment).await;
    Ok(found.with_context(|| format!("look for {deployment} in {}", cluster.name()))?.is_some())
}

/// The Pods' spec in a Deployment of the cluster.
pub async fn spec_of(cluster: &Cluster, deployment: &str) -> Result<PodSpec> {
    let api: Api<Deployment> = Api::namespaced(cluster.client(), NAMESPACE);
    let spec = api.get(deployment).await?.spec.context("a Deployment has a spec")?;
    spec.template.spec.context("a Pod has a spec")
}

/// What stands for the token that is mounted into every Pod.
async fn own_access(cluster: &Cluster, spec: &PodSpec, folder: &Path) -> Result<(String, String)> {
    let account = spec.service_account_name.as_deref().context("a service account")?;
    let api: Api<ServiceAccount> = Api::namespaced(cluster.client(), NAMESPACE);
    let spec = TokenRequestSpec { expiration_seconds: Some(3600), ..TokenRequestSpec::default() };
    let request = TokenRequest { spec, ..TokenRequest::default() };
    let answer = api.create_token_request(account, &PostParams::default(), &request).await?;
    let token = answer.status.context("a token")?.token;
    let (server, ca) = (cluster.server_url(), cluster.ca_pem());
    let token = Credential::Token(&token);
    let path = folder.join("own.kubeconfig");
    kubeconfig::write(
        &path,
        &kubeconfig::render(cluster.name(), &server, ca.as_deref(), account, token),
    )?;
    Ok(("KUBECONFIG".to_owned(), path.display().to_string()))
}
