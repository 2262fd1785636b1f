//! A proxy in front of an API server that sees requests: it ends TLS, speaks HTTP/1.1 to both sides, keeps a log of
//! what was asked and answered, and does to single requests what networks, overloaded servers and crashes do to them.
//!
//! It shows the API server's own certificate, so that a client needs nothing but another address. Bearer tokens pass
//! through; a client certificate cannot. Faults that do not depend on requests are [`crate::proxy`]'s.

mod links;
mod log;
mod request;
mod rule;
mod serve;
mod stream;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use anyhow::{Context, Result};
use kube::Config;
use parking_lot::Mutex;
use tokio::task::AbortHandle;

use crate::cluster::Cluster;
use crate::pki::Identity;

pub use links::{Link, Links, Side};
pub use log::{Entry, Log};
pub use request::{Seen, Verb};
pub use rule::{Answer, Fault, Hit, Planned, Rule};
pub use serve::RACED;

use rule::Rules;
use serve::Upstream;
use stream::Streams;

/// A running proxy on a loopback port of its own. Dropping it ends all its connections.
#[derive(Debug)]
pub struct FaultProxy {
    port: u16,
    shared: Arc<Shared>,
    listener: AbortHandle,
}

/// What every connection works with.
#[derive(Debug)]
struct Shared {
    upstream: Upstream,
    rules: Mutex<Rules>,
    streams: Streams,
    log: Log,
}

impl FaultProxy {
    /// A proxy to the API server of a cluster that the testbed runs.
    pub async fn to(cluster: &Cluster) -> Result<Self> {
        let plane = cluster.control_plane().context("the certificate is the testbed's to show")?;
        Self::start(cluster.config(), &plane.server_identity()?).await
    }

    /// A proxy to `upstream` that shows `identity`. The user of `upstream` is for changes of the proxy's own.
    async fn start(upstream: &Config, identity: &Identity) -> Result<Self> {
        let shared = Arc::new(Shared {
            upstream: Upstream::new(upstream).await?,
            rules: Mutex::default(),
            streams: Streams::default(),
            log: Log::default(),
        });
        let (port, listener) = serve::listen(identity, Arc::clone(&shared)).await?;
        Ok(Self { port, shared, listener })
    }

    /// Where clients reach the API server through the proxy.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// Adds a fault for requests to come. It ends with what is returned.
    #[must_use = "a fault that is not held on to never happens"]
    pub fn plan(&self, rule: Rule) -> Planned {
        let (planned, pending) = rule.into_parts();
        self.shared.rules.lock().add(pending);
        planned
    }

    /// What was asked and answered so far.
    pub fn log(&self) -> &Log {
        &self.shared.log
    }

    /// Lets the watches of a kind, by its plural, that run now never deliver anything again, without ending them. New
    /// ones work. Returns how many these were.
    pub fn strand_watches(&self, resource: &str) -> usize {
        self.shared.streams.strand(resource)
    }

    /// Swallows the next line that holds `text` in a watch of a kind, by its plural: an event that is lost.
    pub fn lose_line(&self, resource: &str, text: &str) {
        self.shared.streams.lose(resource, text);
    }

    /// Swallows none of the lines that have not come so far.
    pub fn lose_no_more(&self) {
        self.shared.streams.lose_no_more();
    }

    /// Lines that were swallowed so far.
    pub fn lost_lines(&self) -> usize {
        self.shared.streams.lost()
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.listener.abort();
        self.shared.streams.end();
    }
}
