//! A running proxy, and what tests do with it.

use std::sync::Arc;

use anyhow::{Context, Result};
use http::HeaderValue;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use kube::Config;
use parking_lot::Mutex;
use tokio::task::AbortHandle;

use super::log::Log;
use super::rule::{Planned, Rule};
use super::serve;
use super::shared::Shared;
use super::stream::Streams;
use super::upstream::Upstream;
use crate::cluster::Cluster;
use crate::pki::Identity;

/// A running proxy on a loopback port of its own. Dropping it ends all its connections.
#[derive(Debug)]
pub struct FaultProxy {
    pub(super) port: u16,
    shared: Arc<Shared>,
    listener: AbortHandle,
}

impl FaultProxy {
    /// A proxy to the API server of a cluster that the testbed runs.
    pub async fn to(cluster: &Cluster) -> Result<Self> {
        let plane = cluster.control_plane().context("the certificate is the testbed's to show")?;
        Self::start(cluster.config(), &plane.server_identity()?).await
    }

    /// A proxy to `upstream` that shows `identity`. The user of `upstream` is for changes of the proxy's own.
    pub(super) async fn start(upstream: &Config, identity: &Identity) -> Result<Self> {
        let shared = Arc::new(Shared {
            upstream: Upstream::new(upstream).await?,
            rules: Mutex::default(),
            streams: Arc::new(Streams::default()),
            log: Log::default(),
            date: Mutex::default(),
            release: Mutex::default(),
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

    /// Has a clock of its own from now on, which stands still: its answers have this second since 1970 for a `Date`.
    pub fn set_time(&self, second: i64) -> Result<()> {
        let time = Timestamp::from_second(second)?;
        let date = DateTimePrinter::new().timestamp_to_rfc9110_string(&time)?;
        *self.shared.date.lock() = Some(HeaderValue::try_from(date)?);
        Ok(())
    }

    /// Its answers have the `Date` of the API server again.
    pub fn clear_time(&self) {
        *self.shared.date.lock() = None;
    }

    /// Has the API server seem to be of another release from now on, such as `v1.33.0`; `None` for its own.
    pub fn set_release(&self, release: Option<&str>) {
        *self.shared.release.lock() = release.map(str::to_owned);
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
