//! One node: a sandbox with containerd, kubelet and kube-proxy, registered with a control plane of the testbed.

mod files;
mod mode;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::controlplane::ControlPlane;
use fleet_testbed::process::Launch;
use fleet_testbed::state::RunDir;
use fleet_testbed::wait::wait_for;
use k8s_openapi::api::core::v1::Node as NodeObject;
use kube::Api;

use crate::network::{Addresses, Network};
use crate::programs::Programs;
use crate::sandbox::{Inside, Sandbox};
pub use mode::ProxyMode;

const SOCKET: &str = "/run/containerd/containerd.sock";
const DEADLINE: Duration = Duration::from_mins(2);

/// A running node. Dropping it ends everything on it, its containers too.
#[derive(Debug)]
pub struct Node {
    // Before the sandbox: they are inside.
    servers: Vec<Inside>,
    sandbox: Sandbox,
    name: String,
    addresses: Addresses,
    folder: PathBuf,
    programs: Programs,
    run: Arc<RunDir>,
}

impl Node {
    /// Starts a node, and the scheduler of its cluster, and waits until the API server calls the node ready.
    pub async fn start(
        cluster: &Cluster,
        network: &Network,
        number: u8,
        mode: ProxyMode,
        programs: &Programs,
        run: &Arc<RunDir>,
    ) -> Result<Self> {
        let plane = cluster.control_plane().context("nodes are of clusters of the testbed")?;
        let folder = plane.folder().to_owned();
        let addresses = network.addresses(number);
        let name = format!("{}-node", cluster.name());
        let script = files::sandbox_script(&folder, &network.cgroup());
        let sandbox = Sandbox::start("node", &folder, &script, run).await?;
        network.plug_in(&sandbox, number).await?;
        sandbox.run("sh", &["-c", &files::addresses_script(&addresses)]).await?;
        let mut node = Self {
            servers: Vec::new(),
            sandbox,
            name,
            addresses,
            folder,
            programs: programs.clone(),
            run: Arc::clone(run),
        };
        node.start_containerd().await?;
        node.start_kubelet(plane, &network.cgroup())?;
        node.start_proxy(mode, &plane.kubeconfig_of("kube-proxy", "system:kube-proxy", None)?)?;
        node.start_scheduler(plane)?;
        node.wait_ready(cluster).await?;
        Ok(node)
    }

    /// Its name in the cluster.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its addresses, and those of its Pods.
    pub fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// Its namespaces.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Starts a program on the node, which does not belong to what the node runs.
    pub fn start_program(
        &self,
        name: &str,
        program: PathBuf,
        arguments: Vec<String>,
    ) -> Result<Inside> {
        self.start_server(name, program, arguments)
    }

    /// A file in the folder of its cluster.
    pub fn path(&self, name: &str) -> PathBuf {
        self.file(name)
    }

    /// Adds a route to the Pods of another node.
    pub async fn route_to(&self, other: &Addresses) -> Result<()> {
        let routes = files::routes_script(other);
        self.sandbox.run("sh", &["-c", &routes]).await.map(drop)
    }

    /// Runs a command of the machine in the network of the Pod with this address; its output.
    pub async fn run_in_pod_network(&self, address: &str, command: &str) -> Result<String> {
        let script = format!(
            "for network in /run/netns/*; do
                if nsenter --net=$network ip -o address | grep -qF ' {address}/'; then
                    exec nsenter --net=$network {command}
                fi
            done
            echo 'no Pod has the address {address}' >&2
            exit 1"
        );
        self.sandbox.run("sh", &["-c", &script]).await
    }

    fn start_proxy(&mut self, mode: ProxyMode, kubeconfig: &Path) -> Result<()> {
        let config = self.file("kube-proxy.yaml");
        let text = files::proxy(&self.name, mode, &self.addresses, kubeconfig);
        std::fs::write(&config, text)?;
        let arguments = vec![flag("config", &config)];
        let program = self.programs.proxy.clone();
        let server = self.start_server("kube-proxy", program, arguments)?;
        self.servers.push(server);
        Ok(())
    }

    /// An error with the end of its log if a program of the node has ended.
    pub fn check_alive(&mut self) -> Result<()> {
        self.servers.iter_mut().try_for_each(Inside::check_alive)
    }

    async fn start_containerd(&mut self) -> Result<()> {
        let config = self.file("containerd.toml");
        let plugins = self.folder.join("cni");
        std::fs::create_dir_all(&plugins)?;
        std::fs::write(plugins.join("10-pods.conflist"), files::pod_network(&self.addresses))?;
        std::fs::write(&config, files::containerd(&self.folder, &plugins, &self.programs.plugins))?;
        let program = self.programs.containerd.clone();
        let mut containerd =
            self.start_server("containerd", program, vec![flag("config", &config)])?;
        let images = self.programs.images.display().to_string();
        wait_for("containerd listens", DEADLINE, async || {
            containerd.check_alive()?;
            let listens = self.sandbox.run("ctr", &["--address", SOCKET, "version"]).await;
            Ok(listens.ok())
        })
        .await?;
        let import = ["--address", SOCKET, "--namespace", "k8s.io", "images", "import", &images];
        self.sandbox.run("ctr", &import).await.context("import the images")?;
        self.servers.push(containerd);
        Ok(())
    }

    fn start_kubelet(&mut self, plane: &ControlPlane, cgroup: &str) -> Result<()> {
        let config = self.file("kubelet.yaml");
        let text = files::kubelet(&self.folder, &plane.ca_file(), &self.addresses, cgroup);
        std::fs::write(&config, text)?;
        let user = format!("system:node:{}", self.name);
        let kubeconfig = plane.kubeconfig_of("kubelet", &user, Some("system:nodes"))?;
        let Addresses { node, node_v6, .. } = &self.addresses;
        let arguments = vec![
            flag("config", &config),
            flag("kubeconfig", &kubeconfig),
            flag("root-dir", &self.file("kubelet")),
            format!("--hostname-override={}", self.name),
            format!("--node-ip={node},{node_v6}"),
        ];
        let server = self.start_server("kubelet", self.programs.kubelet.clone(), arguments)?;
        self.servers.push(server);
        Ok(())
    }

    fn start_scheduler(&mut self, plane: &ControlPlane) -> Result<()> {
        let kubeconfig = plane.kubeconfig_of("scheduler", "system:kube-scheduler", None)?;
        let kinds = ["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"];
        let fixed = ["--leader-elect=false", "--secure-port=0"].map(str::to_owned);
        let arguments = kinds.map(|kind| flag(kind, &kubeconfig)).into_iter().chain(fixed);
        let program = self.programs.scheduler.clone();
        let server = self.start_server("kube-scheduler", program, arguments.collect())?;
        self.servers.push(server);
        Ok(())
    }

    async fn wait_ready(&mut self, cluster: &Cluster) -> Result<()> {
        let nodes: Api<NodeObject> = Api::all(cluster.client());
        let name = self.name.clone();
        wait_for(&format!("{name} is ready"), DEADLINE, async || {
            self.check_alive()?;
            let node = nodes.get_opt(&name).await?;
            Ok(node.filter(is_ready).map(drop))
        })
        .await
    }

    fn start_server(&self, name: &str, program: PathBuf, arguments: Vec<String>) -> Result<Inside> {
        let launch = Launch {
            name: name.to_owned(),
            program,
            arguments: arguments.into_iter().map(OsString::from).collect(),
            // Of two processors a program of a node needs none for long.
            environment: vec![("GOMAXPROCS".to_owned(), "2".to_owned())],
            without: Vec::new(),
            log: self.file(&format!("{name}.log")),
        };
        self.sandbox.start_server(launch, &self.run)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

fn flag(name: &str, path: &Path) -> String {
    format!("--{name}={}", path.display())
}

/// Ready, and no taint keeps Pods away.
fn is_ready(node: &NodeObject) -> bool {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let ready = conditions.filter(|one| one.type_ == "Ready").any(|one| one.status == "True");
    let tainted = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    ready && tainted.is_none_or(Vec::is_empty)
}
