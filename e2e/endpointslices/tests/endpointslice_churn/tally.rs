//! What a controller has used and written.

use std::time::Duration;

use anyhow::{Context, Result};
use fleet_testbed::agents::Usage;
use fleet_testbed::audit::AuditReader;
use fleet_testbed::cluster::Cluster;

/// One controller, over all its processes.
pub(crate) struct Tally {
    pid: u32,
    audit: AuditReader,
    writes: usize,
    cpu: Duration,
    peak_rss: u64,
}

impl Tally {
    /// Begins to count. Only the controller writes slices in this cluster.
    pub(crate) fn of(cluster: &Cluster, pid: u32) -> Result<Self> {
        let log = cluster.audit_log_path().context("the cluster writes no audit log")?;
        let audit = AuditReader::at_end(log)?;
        Ok(Self { pid, audit, writes: 0, cpu: Duration::ZERO, peak_rss: 0 })
    }

    /// From now on it is this process.
    pub(crate) fn follow(&mut self, pid: u32) {
        self.pid = pid;
    }

    /// Adds what the process has used, which is the last thing asked of it.
    pub(crate) fn settle(&mut self) -> Result<()> {
        let usage = Usage::of(self.pid)?;
        self.cpu += usage.cpu;
        self.peak_rss = self.peak_rss.max(usage.peak_rss_bytes);
        Ok(())
    }

    /// Slices written so far, by controllers: the garbage collector only deletes.
    pub(crate) fn writes(&mut self) -> Result<usize> {
        let ours = |user: &str| {
            user.ends_with(":endpointslice-controller") || user.ends_with(":member-agent")
        };
        let writes = self.audit.read()?.into_iter().filter(|write| {
            write.resource == "endpointslices"
                && ours(&write.user)
                && (200..300).contains(&write.code)
        });
        self.writes += writes.count();
        Ok(self.writes)
    }

    pub(crate) fn cpu(&self) -> Duration {
        self.cpu
    }

    pub(crate) fn peak_rss(&self) -> u64 {
        self.peak_rss
    }
}
