//! Whether kube-proxy of a node has programmed what its API server has.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use fleet_testbed::apply::apply;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::wait::wait_until;
use serde_json::json;
use tokio::sync::Mutex;

use crate::node::Node;

/// A Service without clients.
const NAME: &str = "canary";
const NAMESPACE: &str = "default";
/// No address is used twice.
static LAST: AtomicU32 = AtomicU32::new(0);
const DEADLINE: Duration = Duration::from_mins(1);
/// All rules of kube-proxy, whatever its mode.
const RULES: &str = "(nft list table ip kube-proxy; iptables-save -t nat) 2>/dev/null; true";

/// Shows when kube-proxy is up to date: it sees EndpointSlices in the order in which they were written, and programs all that it
/// has seen at once. So when the rules have an endpoint that was written just now, they have all that was written before.
#[derive(Debug)]
pub struct Synced<'a> {
    cluster: &'a Cluster,
    node: &'a Node,
    /// The name of its EndpointSlice: trials that run side by side replace no endpoints of each other.
    slice: String,
    turn: Mutex<()>,
}

impl<'a> Synced<'a> {
    /// Makes the Service with such an endpoint.
    pub async fn of(cluster: &'a Cluster, node: &'a Node) -> Result<Self> {
        let service = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": { "name": NAME, "namespace": NAMESPACE },
            "spec": { "ports": [{ "port": 80 }] },
        });
        apply(&cluster.client(), service).await?;
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let slice = format!("{NAME}-{number}");
        let this = Self { cluster, node, slice, turn: Mutex::new(()) };
        this.wait().await?;
        Ok(this)
    }

    /// Waits until what the API server has now is programmed.
    pub async fn wait(&self) -> Result<()> {
        // One at a time: an endpoint that is replaced at once is never programmed.
        let _turn = self.turn.lock().await;
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        // An address for benchmarks (RFC 2544).
        let address = format!("198.18.{}.{}", number / 250 % 250, 1 + number % 250);
        let slice = json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {
                "name": self.slice, "namespace": NAMESPACE, "labels": { "kubernetes.io/service-name": NAME },
            },
            "addressType": "IPv4",
            "ports": [{ "name": "", "port": 80, "protocol": "TCP" }],
            "endpoints": [{ "addresses": [address] }],
        });
        apply(&self.cluster.client(), slice).await.context("write an endpoint")?;
        let what = format!("kube-proxy of {} has programmed {address}", self.node.name());
        let word = format!("{address} ");
        let alike = format!("{address}:80");
        wait_until(&what, DEADLINE, async || {
            let rules = self.node.sandbox().run("sh", &["-c", RULES]).await?;
            Ok(rules.contains(&word) || rules.contains(&alike))
        })
        .await
    }
}
