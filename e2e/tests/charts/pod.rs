//! Does what a kubelet would do with the Pods of a Deployment: runs the agent as a process, with the arguments,
//! variables, mounted Secrets and the service account's token that the chart gave it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_e2e::plain_http;
use fleet_e2e::testbed::agents::{FOREIGN, find_program};
use fleet_e2e::testbed::cluster::Cluster;
use fleet_e2e::testbed::kubeconfig::{self, Credential};
use fleet_e2e::testbed::ports::free_port;
use fleet_e2e::testbed::process::{Launch, Server};
use fleet_e2e::testbed::state::RunDir;
use fleet_e2e::wait::wait_until;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, Secret, ServiceAccount};
use kube::Api;
use kube::api::PostParams;
use serde_json::json;

pub(crate) const NAMESPACE: &str = "fleet-system";
const READY_DEADLINE: Duration = Duration::from_secs(30);
const STOP_PATIENCE: Duration = Duration::from_secs(15);

/// The one process that stands for all replicas of a Deployment. Dropping it kills it.
pub(crate) struct Running(Server);

impl Running {
    /// Starts what the Deployment describes and waits until it is ready.
    pub(crate) async fn start(cluster: &Cluster, name: &str, run: &Arc<RunDir>) -> Result<Self> {
        let spec = pod_of(cluster, name).await?;
        let folder = run.folder(&format!("pod-{}-{name}", cluster.name()))?;
        let health = free_port()?;
        let launch = launch(cluster, &spec, name, &folder, health).await?;
        let mut server = Server::start(&launch, run)?;
        let url = format!("http://127.0.0.1:{health}/readyz");
        let what = format!("{} is ready", launch.name);
        let ready = wait_until(&what, READY_DEADLINE, async || {
            server.check_alive()?;
            Ok(plain_http::get(&url).await?.0 == 200)
        });
        let ready = ready.await;
        ready.with_context(|| format!("its last lines:\n{}", server.log_tail(15)))?;
        Ok(Self(server))
    }

    /// Ends it as a kubelet would.
    pub(crate) async fn stop(mut self) -> Result<()> {
        ensure!(self.0.stop(STOP_PATIENCE).await, "{} had to be killed", self.0.name());
        Ok(())
    }
}

/// The Pods' spec in a Deployment of the cluster.
pub(crate) async fn pod_of(cluster: &Cluster, name: &str) -> Result<PodSpec> {
    let api: Api<Deployment> = Api::namespaced(cluster.client(), NAMESPACE);
    let spec = api.get(name).await?.spec.context("a Deployment has a spec")?;
    spec.template.spec.context("a Pod has a spec")
}

/// The Pod Security Standard that the namespace enforces admits the Pods, and would not admit weaker ones.
pub(crate) async fn is_admitted(cluster: &Cluster, name: &str) -> Result<()> {
    let spec = pod_of(cluster, name).await?;
    try_pod(cluster, spec.clone()).await.context("the Pod is refused")?;
    let mut weaker = spec;
    weaker.security_context = None;
    let refusal = try_pod(cluster, weaker).await.err().context("weaker Pods are admitted")?;
    ensure!(refusal.to_string().contains("violates PodSecurity"), "{refusal}");
    Ok(())
}

async fn try_pod(cluster: &Cluster, spec: PodSpec) -> Result<()> {
    let api: Api<Pod> = Api::namespaced(cluster.client(), NAMESPACE);
    let mut pod = Pod { spec: Some(spec), ..Pod::default() };
    pod.metadata.name = Some("admitted".to_owned());
    api.create(&PostParams { dry_run: true, ..PostParams::default() }, &pod).await?;
    Ok(())
}

async fn launch(
    cluster: &Cluster,
    spec: &PodSpec,
    name: &str,
    folder: &Path,
    health: u16,
) -> Result<Launch> {
    let [container] = &spec.containers[..] else { anyhow::bail!("one container") };
    let mounts = mount(cluster, spec, container, folder).await?;
    let metrics = free_port()?;
    // Agents of several clusters share this machine, which those of a cluster do not.
    let argument = |argument: &String| match argument.split_once('=') {
        Some(("--metrics-bind-address", _)) => {
            format!("--metrics-bind-address=127.0.0.1:{metrics}")
        }
        Some(("--health-probe-bind-address", _)) => {
            format!("--health-probe-bind-address=127.0.0.1:{health}")
        }
        _ => argument.clone(),
    };
    let arguments = container.args.iter().flatten().map(argument);
    let mut environment = vec![own_access(cluster, spec, folder).await?];
    for variable in container.env.iter().flatten() {
        let value = variable.value.as_ref().context("a variable with a value")?;
        let at = |value: String, (path, folder): &(String, PathBuf)| {
            value.replace(path.as_str(), &folder.to_string_lossy())
        };
        environment.push((variable.name.clone(), mounts.iter().fold(value.clone(), at)));
    }
    Ok(Launch {
        name: format!("{}-{name}", cluster.name()),
        program: find_program(name)?,
        arguments: arguments.map(Into::into).collect(),
        environment,
        without: FOREIGN.iter().map(|&name| name.to_owned()).collect(),
        log: folder.join("agent.log"),
    })
}

/// Puts Secrets where they are mounted; paths in the container and here.
async fn mount(
    cluster: &Cluster,
    spec: &PodSpec,
    container: &Container,
    folder: &Path,
) -> Result<Vec<(String, PathBuf)>> {
    let secrets: Api<Secret> = Api::namespaced(cluster.client(), NAMESPACE);
    let mut mounts = Vec::new();
    for mounted in container.volume_mounts.iter().flatten() {
        let mut volumes = spec.volumes.iter().flatten();
        let volume = volumes.find(|volume| volume.name == mounted.name).context("a volume")?;
        let source = volume.secret.as_ref().context("a Secret")?;
        let name = source.secret_name.as_deref().context("a Secret's name")?;
        let data = secrets.get(name).await?.data.unwrap_or_default();
        let here = folder.join(&volume.name);
        std::fs::create_dir_all(&here)?;
        for item in source.items.iter().flatten() {
            let content =
                data.get(&item.key).with_context(|| format!("{name} has {}", item.key))?;
            kubeconfig::write_secret(&here.join(&item.path), std::str::from_utf8(&content.0)?)?;
        }
        mounts.push((mounted.mount_path.clone(), here));
    }
    Ok(mounts)
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

/// A namespace that admits only restricted Pods.
pub(crate) fn restricted_namespace() -> serde_json::Value {
    json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {
            "name": NAMESPACE,
            "labels": { "pod-security.kubernetes.io/enforce": "restricted" },
        },
    })
}
