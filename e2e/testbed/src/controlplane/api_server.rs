//! kube-apiserver, started as close to a real cluster as one process allows: RBAC, verified TLS, default admission.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::Signal;
use tokio::net::TcpStream;

use super::super::ports::free_port;
use super::super::process::{Launch, Server};
use super::super::state::RunDir;
use super::constants::{
    CA, KUBELET_CLIENT_CERTIFICATE, KUBELET_CLIENT_KEY, POLL, READY_DEADLINE, SERVER_CERTIFICATE,
    SERVER_KEY, TOKEN_KEY, TOKEN_PUBLIC_KEY,
};

/// File name of the audit log.
pub(super) const AUDIT_LOG: &str = "audit.jsonl";
const AUDIT_POLICY: &str = "audit-policy.yaml";

/// Who did what to which object; one line per request, when it is answered. Of writes to what the fleet is made of the
/// bodies too: the oracle judges preconditions, and finds out by whom each version of an object was written, and of
/// Leases who held them.
const POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: RequestResponse
  verbs: [create, update, patch, delete]
  resources:
  - group: networking.fleet.azure.com
  - group: multicluster.networking.fleet.azure.com
  - group: multicluster.x-k8s.io
  - group: about.k8s.io
  - group: cluster.kubernetes-fleet.io
  - group: discovery.k8s.io
    resources: [endpointslices]
  - group: ''
    resources: [services, services/status]
- level: RequestResponse
  verbs: [create, update, patch]
  namespaces: [fleet-system]
  resources:
  - group: coordination.k8s.io
    resources: [leases]
- level: Metadata
";

/// A graceful stop waits for running requests and watches; more than this is a hang.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// What tests may vary about an API server.
#[derive(Clone, Debug)]
pub struct ApiServerSettings {
    /// Whether every request is written to the audit log. Off for latency measurements.
    pub audit: bool,
    /// Further arguments, for example `--watch-cache=false`.
    pub arguments: Vec<String>,
    /// How nodes reach it; `None` where there are none, and it listens on loopback.
    pub nodes: Option<NodeAccess>,
}

/// What a control plane with nodes has to know about their network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeAccess {
    /// The address that the API server listens on: one of this machine that nodes reach.
    pub address: Ipv4Addr,
    /// Ranges of ClusterIPs, comma-separated, of which the first has the Service `kubernetes`.
    pub service_ranges: String,
    /// The first address of the first range.
    pub kubernetes: Ipv4Addr,
}

impl NodeAccess {
    /// RBAC alone does not let kubelets read what their Pods need; and the Service `kubernetes` is one that Pods use.
    fn arguments(&self, file: impl Fn(&str) -> String) -> [String; 7] {
        [
            format!("--service-cluster-ip-range={}", self.service_ranges),
            "--authorization-mode=Node,RBAC".to_owned(),
            "--endpoint-reconciler-type=lease".to_owned(),
            format!("--advertise-address={}", self.address),
            "--kubelet-preferred-address-types=InternalIP".to_owned(),
            format!("--kubelet-client-certificate={}", file(KUBELET_CLIENT_CERTIFICATE)),
            format!("--kubelet-client-key={}", file(KUBELET_CLIENT_KEY)),
        ]
    }

    /// What a cluster without nodes has in their place.
    fn without() -> [String; 3] {
        [
            "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
            "--authorization-mode=RBAC".to_owned(),
            // Loopback is not a legal endpoint of the Service `kubernetes`, and no test uses that Service.
            "--endpoint-reconciler-type=none".to_owned(),
        ]
    }
}

impl ApiServerSettings {
    /// The address that the API server listens on.
    pub(super) fn address(&self) -> Ipv4Addr {
        self.nodes.as_ref().map_or(Ipv4Addr::LOCALHOST, |nodes| nodes.address)
    }

    /// Addresses that its certificate names beside those of every API server.
    pub(super) fn addresses(&self) -> Vec<String> {
        let nodes = self.nodes.iter();
        nodes.flat_map(|nodes| [nodes.address.to_string(), nodes.kubernetes.to_string()]).collect()
    }
}

impl Default for ApiServerSettings {
    fn default() -> Self {
        Self { audit: true, arguments: Vec::new(), nodes: None }
    }
}

/// The API server, running or stopped.
#[derive(Debug)]
pub(super) struct ApiServer {
    program: PathBuf,
    folder: PathBuf,
    etcd_url: String,
    settings: ApiServerSettings,
    port: u16,
    server: Option<Server>,
}

impl ApiServer {
    /// Prepares its files; nothing runs yet.
    pub(super) fn new(
        program: &Path,
        folder: &Path,
        etcd_url: &str,
        settings: ApiServerSettings,
    ) -> Result<Self> {
        std::fs::write(folder.join(AUDIT_POLICY), POLICY).context("write the audit policy")?;
        Ok(Self {
            program: program.to_owned(),
            folder: folder.to_owned(),
            etcd_url: etcd_url.to_owned(),
            settings,
            port: 0,
            server: None,
        })
    }

    pub(super) fn url(&self) -> String {
        format!("https://{}:{}", self.settings.address(), self.port)
    }

    /// Starts it and waits until it listens, on another port if the first is taken. `at_url` gets each address
    /// before the start.
    pub(super) async fn start_on_free_port(
        &mut self,
        run: &RunDir,
        at_url: impl Fn(&str) -> Result<()>,
    ) -> Result<()> {
        const ATTEMPTS: usize = 5;
        for _ in 0..ATTEMPTS {
            self.port = free_port()?;
            at_url(&self.url())?;
            self.start_again(run)?;
            if self.listens().await? {
                return Ok(());
            }
        }
        bail!("kube-apiserver lost the race for its port {ATTEMPTS} times")
    }

    /// Starts it on the port it had.
    pub(super) fn start_again(&mut self, run: &RunDir) -> Result<()> {
        self.server = Some(Server::start(&self.launch(), run)?);
        Ok(())
    }

    pub(super) async fn stop(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.stop(STOP_PATIENCE).await;
        }
    }

    pub(super) fn signal(&self, signal: Signal) {
        if let Some(server) = &self.server {
            server.signal(signal);
        }
    }

    pub(super) fn kill(&mut self) {
        self.server = None;
    }

    pub(super) fn check_alive(&mut self) -> Result<()> {
        self.server.as_mut().context("kube-apiserver is stopped")?.check_alive()
    }

    pub(super) fn log_tail(&self) -> String {
        self.server.as_ref().map_or_else(String::new, |server| server.log_tail(15))
    }

    /// True once it accepts connections, false if another process took its port first.
    async fn listens(&mut self) -> Result<bool> {
        let begin = Instant::now();
        loop {
            let server = self.server.as_mut().context("kube-apiserver is stopped")?;
            if server.exited().is_some() && server.output().contains("address already in use") {
                return Ok(false);
            }
            server.check_alive()?;
            if TcpStream::connect((self.settings.address(), self.port)).await.is_ok() {
                return Ok(true);
            }
            if begin.elapsed() > READY_DEADLINE {
                bail!("kube-apiserver does not listen; its last lines:\n{}", server.log_tail(15));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    fn launch(&self) -> Launch {
        let file = |name: &str| self.folder.join(name).display().to_string();
        let mut arguments = vec![
            format!("--etcd-servers={}", self.etcd_url),
            format!("--bind-address={}", self.settings.address()),
            format!("--secure-port={}", self.port),
            format!("--tls-cert-file={}", file(SERVER_CERTIFICATE)),
            format!("--tls-private-key-file={}", file(SERVER_KEY)),
            format!("--client-ca-file={}", file(CA)),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--service-account-key-file={}", file(TOKEN_PUBLIC_KEY)),
            format!("--service-account-signing-key-file={}", file(TOKEN_KEY)),
            // Otherwise a graceful stop waits a minute for its watches.
            "--shutdown-watch-termination-grace-period=1s".to_owned(),
        ];
        match &self.settings.nodes {
            Some(nodes) => arguments.extend(nodes.arguments(file)),
            None => arguments.extend(NodeAccess::without()),
        }
        if self.settings.audit {
            arguments.push(format!("--audit-policy-file={}", file(AUDIT_POLICY)));
            arguments.push(format!("--audit-log-path={}", file(AUDIT_LOG)));
            // Batches would reach the file up to half a minute later.
            arguments.push("--audit-log-mode=blocking".to_owned());
            // In MiB: readers keep a position in the file, so it must not be rotated away under them.
            arguments.push("--audit-log-maxsize=1000000".to_owned());
        }
        arguments.extend(self.settings.arguments.iter().cloned());
        Launch {
            name: "kube-apiserver".to_owned(),
            program: self.program.clone(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            environment: Vec::new(),
            without: Vec::new(),
            log: self.folder.join("kube-apiserver.log"),
        }
    }
}
