//! What everybody has used: CPU time of the hub agent, of the API server with its store, and of this process; writes
//! and bytes as the hub's API server has counted them.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fleet_testbed::Testbed;
use fleet_testbed::agents::{Agent, Agents, Usage};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::scrape::Scrape;
use fleet_testbed::state::read_processes;
use http::Request;
use serde::{Deserialize, Serialize};

/// The programs of a control plane that every write goes through.
const SERVERS: [&str; 2] = ["etcd", "kube-apiserver"];
/// The kinds that endpoints cross the hub in.
const CROSSING: [&str; 2] = ["endpointsliceexports", "endpointsliceimports"];
/// Leases, and the heartbeats of members.
const SIGNS_OF_LIFE: [&str; 2] = ["leases", "internalmemberclusters"];
const WRITES: [&str; 4] = ["POST", "PUT", "PATCH", "DELETE"];

/// Since the processes began.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    at: Instant,
    hub_agent: Duration,
    servers: Duration,
    servers_rss: u64,
    members: Duration,
    writes: f64,
    all_writes: f64,
    written: f64,
    watched: f64,
}

/// Between two accounts.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Spent {
    pub(crate) seconds: f64,
    /// CPU seconds.
    pub(crate) hub_agent: f64,
    /// CPU seconds of the hub's API server and store.
    pub(crate) servers: f64,
    /// CPU seconds of this process: all members' agents, their clusters, and the load.
    pub(crate) members: f64,
    /// Writes of exported and imported slices on the hub.
    pub(crate) writes: f64,
    /// Writes of whatever there is on the hub but signs of life, which are renewed whether anything changes or not.
    pub(crate) all_writes: f64,
    /// Bytes of the requests for slices.
    pub(crate) written: f64,
    /// Bytes of the watch events of slices.
    pub(crate) watched: f64,
}

impl Account {
    /// As of now.
    pub(crate) async fn take(testbed: &Testbed, agents: &Agents) -> Result<Self> {
        let (mut servers, mut servers_rss) = (Duration::ZERO, 0);
        for pid in server_pids(testbed) {
            let usage = Usage::of(pid)?;
            servers += usage.cpu;
            servers_rss += usage.rss_bytes;
        }
        let metrics = metrics(testbed.hub()).await?;
        let of_crossing =
            |name: &str| CROSSING.map(|kind| metrics.sum(name, &[("resource", kind)])).iter().sum();
        let writes = |labels: &[(&str, &str)]| -> f64 {
            let of = |verb| {
                metrics.sum("apiserver_request_total", &[labels, &[("verb", verb)]].concat())
            };
            WRITES.map(of).iter().sum()
        };
        Ok(Self {
            at: Instant::now(),
            hub_agent: agents.usage(Agent::Hub)?.cpu,
            servers,
            servers_rss,
            members: Usage::of(std::process::id())?.cpu,
            writes: CROSSING.map(|kind| writes(&[("resource", kind)])).iter().sum(),
            all_writes: SIGNS_OF_LIFE
                .iter()
                .fold(writes(&[]), |all, kind| all - writes(&[("resource", *kind)])),
            written: of_crossing("apiserver_request_body_size_bytes_sum"),
            watched: of_crossing("apiserver_watch_events_sizes_sum"),
        })
    }

    /// Resident bytes of the hub's API server and store.
    pub(crate) fn servers_rss(&self) -> u64 {
        self.servers_rss
    }

    /// What was spent since `before`.
    pub(crate) fn since(&self, before: &Self) -> Spent {
        Spent {
            seconds: (self.at - before.at).as_secs_f64(),
            hub_agent: self.hub_agent.saturating_sub(before.hub_agent).as_secs_f64(),
            servers: self.servers.saturating_sub(before.servers).as_secs_f64(),
            members: self.members.saturating_sub(before.members).as_secs_f64(),
            writes: self.writes - before.writes,
            all_writes: self.all_writes - before.all_writes,
            written: self.written - before.written,
            watched: self.watched - before.watched,
        }
    }
}

impl Spent {
    /// What was spent more than `rest` at the same pace.
    pub(crate) fn beyond(&self, rest: &Self, of: fn(&Self) -> f64) -> f64 {
        of(self) - of(rest) * self.seconds / rest.seconds
    }
}

/// The process ids of the hub's API server and store.
pub(crate) fn server_pids(testbed: &Testbed) -> impl Iterator<Item = u32> {
    let processes = read_processes(testbed.run_path()).into_iter();
    let is_server = |name: &str| SERVERS.contains(&name);
    processes.filter(move |one| is_server(&one.name) && one.runs()).map(|one| one.pid)
}

/// Metrics of a cluster's API server.
pub(crate) async fn metrics(cluster: &Cluster) -> Result<Scrape> {
    let request = Request::get("/metrics").body(Vec::new())?;
    let text = cluster.client().request_text(request).await;
    Ok(text.context("read the API server's metrics")?.into())
}
