//! etcd: one member, no fsync, its data beside its logs.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::super::ports::free_port;
use super::super::process::{Launch, Server};
use super::super::state::RunDir;
use super::constants::{POLL, READY_DEADLINE};
use crate::plain_http;

/// Folder of its data.
pub(super) const DATA: &str = "etcd";
/// A graceful end; more than this is a hang.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// A running etcd, as tests reach it: through the JSON gateway on its client port.
#[derive(Clone, Debug)]
pub struct Etcd {
    url: String,
}

impl Etcd {
    /// `http://127.0.0.1:<port>`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The store's newest revision, which Kubernetes calls resourceVersion.
    pub async fn revision(&self) -> Result<i64> {
        // Any range answers with the revision; this key does not exist.
        let answer = self.call("kv/range", &json!({ "key": "AA==", "count_only": true })).await?;
        let revision =
            answer["header"]["revision"].as_str().context("etcd's answer has no revision")?;
        revision.parse().context("etcd's revision is not a number")
    }

    /// Forgets all history before the newest revision, which it returns. A watch that resumes from before it gets
    /// 410 Gone, once the API server's own watch cache does not reach back that far either.
    pub async fn compact(&self) -> Result<i64> {
        let revision = self.revision().await?;
        let request = json!({ "revision": revision.to_string(), "physical": true });
        self.call("kv/compaction", &request).await?;
        Ok(revision)
    }

    /// Writes until the newest revision is this one at least.
    pub async fn reach(&self, revision: i64) -> Result<()> {
        let request = json!({ "key": STANDARD.encode("/revisions"), "value": "" });
        for _ in self.revision().await?..revision {
            self.call("kv/put", &request).await?;
        }
        Ok(())
    }

    /// Deletes everything that the API server keeps under a prefix, below `/registry/`. It should not run meanwhile: what it has
    /// in memory, it serves on.
    pub async fn forget(&self, prefix: &str) -> Result<()> {
        self.call("kv/deleterange", &range(prefix)).await.map(drop)
    }

    /// What the API server keeps under a prefix, below `/registry/`.
    pub(super) async fn below(&self, prefix: &str) -> Result<Vec<Entry>> {
        #[derive(Deserialize)]
        struct Answer {
            #[serde(default)]
            kvs: Vec<Entry>,
        }
        let answer = self.call("kv/range", &range(prefix)).await?;
        Ok(serde_json::from_value::<Answer>(answer)?.kvs)
    }

    /// Writes all of `entries` as one revision.
    pub(super) async fn put(&self, entries: &[Entry]) -> Result<()> {
        let puts: Vec<_> = entries.iter().map(|entry| json!({ "request_put": entry })).collect();
        self.call("kv/txn", &json!({ "success": puts })).await.map(drop)
    }

    async fn call(&self, path: &str, body: &Value) -> Result<Value> {
        let url = format!("{}/v3/{path}", self.url);
        let (status, text) = plain_http::post_json(&url, body).await?;
        if status != 200 {
            bail!("etcd answered {status} to {path}: {text}");
        }
        serde_json::from_str(&text).context("etcd's answer is not JSON")
    }
}

/// What is stored under a key, both in Base64, as the gateway has them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    key: String,
    value: String,
}

/// A request for all keys under a prefix, below `/registry/`.
fn range(prefix: &str) -> Value {
    let key = format!("/registry/{prefix}");
    let end = format!("{key}\u{7f}"); // After all names of objects.
    json!({ "key": STANDARD.encode(key), "range_end": STANDARD.encode(end) })
}

/// The process of etcd, running or stopped.
#[derive(Debug)]
pub(super) struct EtcdServer {
    launch: Launch,
    client_port: u16,
    server: Option<Server>,
}

impl EtcdServer {
    /// Starts etcd on free ports and waits until it accepts connections.
    pub(super) async fn start(program: &Path, folder: &Path, run: &RunDir) -> Result<(Self, Etcd)> {
        const ATTEMPTS: usize = 5;
        for _ in 0..ATTEMPTS {
            let (client_port, peer_port) = (free_port()?, free_port()?);
            let launch = launch(program, folder, client_port, peer_port);
            let mut etcd = Self { launch, client_port, server: None };
            if etcd.start_again(run).await? {
                return Ok((etcd, Etcd { url: format!("http://127.0.0.1:{client_port}") }));
            }
        }
        bail!("etcd lost the race for its ports {ATTEMPTS} times")
    }

    /// Starts it with the data that it has; false if another process took one of its ports first.
    pub(super) async fn start_again(&mut self, run: &RunDir) -> Result<bool> {
        let server = self.server.insert(Server::start(&self.launch, run)?);
        accepts_connections(server, self.client_port).await
    }

    /// Ends it; its data stays.
    pub(super) async fn stop(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.stop(STOP_PATIENCE).await;
        }
    }
}

fn launch(program: &Path, folder: &Path, client_port: u16, peer_port: u16) -> Launch {
    let client = format!("http://127.0.0.1:{client_port}");
    let peer = format!("http://127.0.0.1:{peer_port}");
    let arguments = [
        "--name=default".to_owned(),
        format!("--data-dir={}", folder.join(DATA).display()),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
        // Nothing here outlives the run, so durability would only cost time.
        "--unsafe-no-fsync".to_owned(),
        // A tenth of the default's writes: they are a third of what an etcd costs that has nothing to do. It ends with one.
        "--backend-batch-interval=1s".to_owned(),
        "--log-level=warn".to_owned(),
    ];
    Launch {
        name: "etcd".to_owned(),
        program: program.to_owned(),
        arguments: arguments.into_iter().map(Into::into).collect(),
        environment: Vec::new(),
        without: Vec::new(),
        log: folder.join("etcd.log"),
    }
}

/// True once it accepts connections, false if another process took one of its ports first.
async fn accepts_connections(server: &mut Server, port: u16) -> Result<bool> {
    let begin = Instant::now();
    loop {
        if server.exited().is_some() && server.output().contains("address already in use") {
            return Ok(false);
        }
        server.check_alive()?;
        if TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
            return Ok(true);
        }
        if begin.elapsed() > READY_DEADLINE {
            bail!(
                "etcd is not ready after {READY_DEADLINE:?}; its last lines:\n{}",
                server.log_tail(15)
            );
        }
        tokio::time::sleep(POLL.min(Duration::from_millis(10))).await;
    }
}
