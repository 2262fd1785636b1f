//! One control plane: etcd, kube-apiserver and kube-controller-manager on loopback.

mod api_server;
mod bootstrap;
mod constants;
mod etcd;
mod store;

pub use api_server::{ApiServerSettings, NodeAccess};
pub use etcd::Etcd;
pub use store::SavedStore;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kube::Client;
use rustix::process::Signal;
use tokio::sync::Mutex;
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

use super::binaries::Binaries;
use super::client::client_from_file;
use super::kubeconfig::{self, Credential};
use super::pki::{self, Authority, Identity};
use super::process::{Launch, Server};
use super::state::RunDir;
use super::token;
use api_server::ApiServer;
use constants::{
    CA, CA_KEY, KUBELET_CLIENT_CERTIFICATE, KUBELET_CLIENT_KEY, POLL, READY_DEADLINE,
    SERVER_CERTIFICATE, SERVER_KEY, TOKEN_KEY, TOKEN_PUBLIC_KEY,
};
use etcd::EtcdServer;

/// Controllers that the fleet depends on, beside the [maker of slices](SLICE_CONTROLLER): the maker of default service
/// accounts, those that finish deletions, the one that checks types in admission policies, and the one that signs certificates. There is no scheduler, no
/// aggregation of `ClusterRole`s, and a [kubelet](crate::kubelet) only where a test starts one.
const CONTROLLERS: [&str; 7] = [
    "certificatesigningrequest-signing-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "root-ca-certificate-publisher-controller",
    "validatingadmissionpolicy-status-controller",
];

/// Makes EndpointSlices of pods.
pub(super) const SLICE_CONTROLLER: &str = "endpointslice-controller";
/// Those that make pods of Deployments, and EndpointSlices of these.
pub(super) const DEPLOYMENT_CONTROLLERS: [&str; 3] =
    [SLICE_CONTROLLER, "deployment-controller", "replicaset-controller"];

/// The same, and those that take Pods from nodes which are not ready.
pub(super) const NODE_FAILURE_CONTROLLERS: [&str; 5] = [
    SLICE_CONTROLLER,
    "deployment-controller",
    "replicaset-controller",
    "node-lifecycle-controller",
    "taint-eviction-controller",
];

/// Those that count objects for `ResourceQuota`s, and make EndpointSlices of pods.
pub(super) const QUOTA_CONTROLLERS: [&str; 2] = [SLICE_CONTROLLER, "resourcequota-controller"];

/// Those that a cluster with nodes needs beside them: for nodes that come, for Pods of Deployments and StatefulSets, and for Endpoints,
/// of which slices are made where a Service has no selector.
pub const NODE_CONTROLLERS: [&str; 7] = [
    SLICE_CONTROLLER,
    "endpoints-controller",
    "endpointslice-mirroring-controller",
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "node-lifecycle-controller",
];

/// A running control plane. Dropping it kills its servers.
#[derive(Debug)]
pub struct ControlPlane {
    folder: PathBuf,
    binaries: Binaries,
    run: std::sync::Arc<RunDir>,
    name: String,
    // Boxed: a cluster is moved often, and futures hold several.
    authority: Box<Authority>,
    servers: Mutex<Servers>,
    etcd: Etcd,
    api_server_url: String,
}

/// Dropped in this order: an API server whose etcd is gone hangs on its way out.
#[derive(Debug)]
struct Servers {
    controller_managers: Vec<(Launch, Server)>,
    api_server: ApiServer,
    etcd: EtcdServer,
}

/// How a store goes on that was changed at rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Revision {
    /// From its own revision.
    OfStore,
    /// From more than the one before had.
    Ahead,
    /// From nothing, as that of a cluster which starts.
    Anew,
}

impl ControlPlane {
    /// Starts etcd and the API server and waits until the latter is ready. Writes `admin.kubeconfig` into `folder`.
    ///
    /// Call [`Self::start_controllers`] once the cluster's CRDs are there: the garbage collector looks for new kinds
    /// only every 30 s.
    pub async fn start(
        name: &str,
        folder: PathBuf,
        binaries: Binaries,
        run: std::sync::Arc<RunDir>,
        settings: ApiServerSettings,
    ) -> Result<Self> {
        let authority = Box::new(Authority::new(&format!("{name} authority"))?);
        write_identities(&folder, name, &authority, &settings)?;
        let (etcd_server, etcd) = EtcdServer::start(&binaries.etcd, &folder, &run).await?;
        let is_kept = bootstrap::restore(&binaries, &etcd).await?;
        // Another configuration may make others.
        let is_usual = settings.arguments.is_empty() && settings.nodes.is_none();
        let mut api_server = ApiServer::new(&binaries.apiserver, &folder, etcd.url(), settings)?;
        api_server
            .start_on_free_port(&run, |url| write_kubeconfigs(&folder, name, url, &authority))
            .await?;
        let api_server_url = api_server.url();
        let servers = Servers { controller_managers: Vec::new(), api_server, etcd: etcd_server };
        let plane = Self {
            name: name.to_owned(),
            authority,
            servers: Mutex::new(servers),
            folder,
            binaries,
            run,
            etcd,
            api_server_url,
        };
        plane.wait_ready().await?;
        if is_usual
            && !is_kept
            && let Err(error) = bootstrap::save(&plane.binaries, &plane.etcd).await
        {
            // That costs time at each start, and nothing else.
            tracing::warn!(error = format!("{error:#}"), "Nothing is kept for later starts");
        }
        Ok(plane)
    }

    /// The admin's kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.join("admin.kubeconfig")
    }

    /// The API server's address, `https://127.0.0.1:<port>`; the same after a restart.
    pub fn url(&self) -> &str {
        &self.api_server_url
    }

    /// The certificate of the cluster's authority, PEM.
    pub fn ca_pem(&self) -> &str {
        self.authority.pem()
    }

    /// The file with that certificate.
    pub fn ca_file(&self) -> PathBuf {
        self.folder.join(CA)
    }

    /// Writes the kubeconfig of a program that the API server knows as `user`, member of `group`, to `<file>.kubeconfig`
    /// in the cluster's folder.
    pub fn kubeconfig_of(&self, file: &str, user: &str, group: Option<&str>) -> Result<PathBuf> {
        let user = (user, group);
        write_kubeconfig(
            &self.folder,
            &self.name,
            &self.api_server_url,
            &self.authority,
            (file, user),
        )
    }

    /// What the API server shows its clients, for a proxy that stands in for it.
    pub fn server_identity(&self) -> Result<Identity> {
        Ok(Identity { certificate: self.read(SERVER_CERTIFICATE)?, key: self.read(SERVER_KEY)? })
    }

    /// A service account token of this cluster with another end, in seconds since 1970: the API server itself makes
    /// none that lasts less than ten minutes.
    pub fn token_ending_at(&self, token: &str, end: i64) -> Result<String> {
        token::ending_at(token, &self.read(TOKEN_KEY)?, end)
    }

    fn read(&self, name: &str) -> Result<String> {
        let path = self.folder.join(name);
        std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
    }

    /// The audit log, one JSON event a line; the file does not exist where auditing is off.
    pub fn audit_log(&self) -> PathBuf {
        self.folder.join(api_server::AUDIT_LOG)
    }

    /// The cluster's etcd.
    pub fn etcd(&self) -> &Etcd {
        &self.etcd
    }

    /// The folder with the servers' files and logs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts kube-controller-manager, with `further` controllers beside those that the fleet depends on. It is at work
    /// when the first default service account exists. Where nothing makes EndpointSlices,
    /// [`Self::start_slice_controller`] may.
    pub async fn start_controllers(&self, further: &[&str]) -> Result<()> {
        let controllers: Vec<_> = CONTROLLERS.iter().chain(further).copied().collect();
        self.start_controller_manager("kube-controller-manager", &controllers, &[]).await?;
        Ok(())
    }

    /// Starts a kube-controller-manager that makes EndpointSlices of pods and nothing else; its process id.
    pub async fn start_slice_controller(&self, arguments: &[String]) -> Result<u32> {
        self.start_controller_manager(SLICE_CONTROLLER, &[SLICE_CONTROLLER], arguments).await
    }

    async fn start_controller_manager(
        &self,
        name: &str,
        controllers: &[&str],
        further: &[String],
    ) -> Result<u32> {
        let file = |name: &str| self.folder.join(name).display().to_string();
        let arguments = [
            format!("--kubeconfig={}", file("controller-manager.kubeconfig")),
            format!("--controllers={}", controllers.join(",")),
            format!("--service-account-private-key-file={}", file(TOKEN_KEY)),
            format!("--root-ca-file={}", file(CA)),
            format!("--cluster-signing-cert-file={}", file(CA)),
            format!("--cluster-signing-key-file={}", file(CA_KEY)),
            "--use-service-account-credentials=true".to_owned(),
            "--leader-elect=false".to_owned(),
            "--secure-port=0".to_owned(),
            // The default of 20 requests a second would be the slowest part of every test with many Services.
            "--kube-api-qps=1000".to_owned(),
            "--kube-api-burst=2000".to_owned(),
        ];
        let launch = Launch {
            name: name.to_owned(),
            program: self.binaries.controller_manager.clone(),
            arguments: arguments.iter().chain(further).map(Into::into).collect(),
            environment: Vec::new(),
            without: Vec::new(),
            log: self.folder.join(format!("{name}.log")),
        };
        let server = Server::start(&launch, &self.run)?;
        let pid = server.pid();
        self.servers.lock().await.controller_managers.push((launch, server));
        Ok(pid)
    }

    /// An error with the end of its log if a server has ended by itself.
    pub async fn check_alive(&self) -> Result<()> {
        let mut servers = self.servers.lock().await;
        servers.api_server.check_alive()?;
        let managers = &mut servers.controller_managers;
        managers.iter_mut().try_for_each(|(_, manager)| manager.check_alive())
    }

    /// Ends the API server as a rolling update would: SIGTERM, then SIGKILL if it takes long. Its port stays reserved.
    pub async fn stop_apiserver(&self) {
        self.servers.lock().await.api_server.stop().await;
    }

    /// Ends the API server at once.
    pub async fn kill_apiserver(&self) {
        self.servers.lock().await.api_server.kill();
    }

    /// Sends a signal to the API server, for example STOP to freeze it.
    pub async fn signal_apiserver(&self, signal: Signal) {
        self.servers.lock().await.api_server.signal(signal);
    }

    /// Starts the API server again on its old port, with its old data, and waits until it is ready.
    pub async fn start_apiserver(&self) -> Result<()> {
        self.servers.lock().await.api_server.start_again(&self.run)?;
        self.wait_ready().await
    }

    /// Copies the store. All servers end for that, and start again.
    pub async fn save_store(&self) -> Result<SavedStore> {
        self.at_rest(SavedStore::of, Revision::OfStore).await
    }

    /// Goes back to an earlier store, as an operator does: all servers end, and start again with it.
    pub async fn restore_store(&self, saved: &SavedStore) -> Result<()> {
        self.at_rest(|data| saved.restore(data), Revision::OfStore).await
    }

    /// The same, and the store goes on from more than its clients have seen, as after `etcdutl snapshot restore --bump-revision`, or where
    /// they come back late: no version shows that it went back.
    pub async fn restore_store_ahead(&self, saved: &SavedStore) -> Result<()> {
        self.at_rest(|data| saved.restore(data), Revision::Ahead).await
    }

    /// Loses the store: all servers end, and start again with an empty one. Certificates of the cluster's authority stay valid, tokens
    /// of service accounts do not.
    pub async fn lose_store(&self) -> Result<()> {
        self.at_rest(|data| Ok(std::fs::remove_dir_all(data)?), Revision::Anew).await
    }

    /// Does something to the folder of the store while no server runs.
    async fn at_rest<T>(
        &self,
        work: impl FnOnce(&Path) -> Result<T>,
        revision: Revision,
    ) -> Result<T> {
        let mut servers = self.servers.lock().await;
        let managers = std::mem::take(&mut servers.controller_managers);
        let managers: Vec<_> = managers.into_iter().map(|(launch, _)| launch).collect();
        servers.api_server.stop().await;
        let seen = self.etcd().revision().await?;
        servers.etcd.stop().await;
        let done = work(&self.folder.join(etcd::DATA)).context("the store at rest")?;
        let started = servers.etcd.start_again(&self.run).await?;
        ensure!(started, "another process took the port of etcd");
        match revision {
            Revision::OfStore => {}
            Revision::Ahead => self.etcd().reach(seen + 1).await?,
            Revision::Anew => {
                bootstrap::restore(&self.binaries, self.etcd()).await?;
            }
        }
        servers.api_server.start_again(&self.run)?;
        drop(servers);
        self.wait_ready().await?;
        for launch in managers {
            let server = Server::start(&launch, &self.run)?;
            self.servers.lock().await.controller_managers.push((launch, server));
        }
        Ok(done)
    }

    /// Waits for `/readyz`.
    async fn wait_ready(&self) -> Result<()> {
        let client = client_from_file(&self.kubeconfig()).await?;
        let begin = Instant::now();
        loop {
            // The client logs every "not ready yet" as an error.
            let Err(why) = check_ready(&client).with_subscriber(NoSubscriber::default()).await
            else {
                return Ok(());
            };
            self.servers.lock().await.api_server.check_alive()?;
            if begin.elapsed() > READY_DEADLINE {
                let tail = self.servers.lock().await.api_server.log_tail();
                return Err(why.context(format!(
                    "kube-apiserver is not ready after {READY_DEADLINE:?}; its last lines:\n{tail}"
                )));
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

/// An error with the reason as long as the server is not ready: a refused connection, or a 500 that names the checks.
async fn check_ready(client: &Client) -> Result<()> {
    let request = http::Request::get("/readyz").body(Vec::new())?;
    let answer = client.request_text(request);
    tokio::time::timeout(Duration::from_secs(2), answer).await.context("/readyz")??;
    Ok(())
}

fn write_identities(
    folder: &Path,
    name: &str,
    authority: &Authority,
    settings: &ApiServerSettings,
) -> Result<()> {
    let names =
        ["127.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];
    let further = settings.addresses();
    let names: Vec<&str> = names.into_iter().chain(further.iter().map(String::as_str)).collect();
    let server = authority.server(&format!("{name} kube-apiserver"), &names)?;
    let kubelets = authority.client("kube-apiserver-kubelet-client", Some("system:masters"))?;
    let (token_key, token_public_key) = pki::token_key()?;
    for (file, text) in [
        (CA, authority.pem()),
        (CA_KEY, authority.key()),
        (SERVER_CERTIFICATE, server.certificate.as_str()),
        (SERVER_KEY, server.key.as_str()),
        (KUBELET_CLIENT_CERTIFICATE, kubelets.certificate.as_str()),
        (KUBELET_CLIENT_KEY, kubelets.key.as_str()),
        (TOKEN_KEY, token_key.as_str()),
        (TOKEN_PUBLIC_KEY, token_public_key.as_str()),
    ] {
        kubeconfig::write_secret(&folder.join(file), text)?;
    }
    Ok(())
}

fn write_kubeconfigs(folder: &Path, name: &str, url: &str, authority: &Authority) -> Result<()> {
    let users = [
        ("admin", ("admin", Some("system:masters"))),
        ("controller-manager", ("system:kube-controller-manager", None)),
    ];
    for user in users {
        write_kubeconfig(folder, name, url, authority, user)?;
    }
    Ok(())
}

/// `file` is the stem of the file's name; `user` and `group` are what the API server reads from the certificate.
fn write_kubeconfig(
    folder: &Path,
    name: &str,
    url: &str,
    authority: &Authority,
    (file, (user, group)): (&str, (&str, Option<&str>)),
) -> Result<PathBuf> {
    let identity = authority.client(user, group)?;
    let credential = Credential::Certificate(&identity);
    // Of several files in KUBECONFIG the first to have a name wins.
    let user = format!("{name}-{user}");
    let value = kubeconfig::render(name, url, Some(authority.pem()), &user, credential);
    let path = folder.join(format!("{file}.kubeconfig"));
    kubeconfig::write(&path, &value).with_context(|| format!("the kubeconfig of {user}"))?;
    Ok(path)
}
