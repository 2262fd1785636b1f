//! What the hub spends: CPU time of its API server, and writes of the fleet's kinds as that has counted them.

use std::time::Duration;

use anyhow::{Context, Result};
use fleet_api::kinds;
use fleet_testbed::fleet::Fleet;
use fleet_testbed::scrape::Scrape;
use fleet_testbed::state::read_processes;
use http::Request;
use kube::Client;

use super::cpu;

/// Groups of the kinds that agents write on the hub for users. Heartbeats are of another one.
const GROUPS: [&str; 2] = [kinds::ENDPOINT_SLICE_EXPORT.group, kinds::RESOLVED_SERVICE.group];
const WRITES: [&str; 4] = ["POST", "PUT", "PATCH", "DELETE"];

/// The API server of the hub.
pub(super) struct HubAccount {
    client: Client,
    pid: u32,
}

impl HubAccount {
    /// Finds its process.
    pub(super) fn of(fleet: &Fleet) -> Result<Self> {
        let plane = fleet.hub().control_plane().context("the hub runs elsewhere")?;
        let is_meant = |log: &std::path::PathBuf| log.starts_with(plane.folder());
        let found = read_processes(fleet.run_path()).into_iter().find(|process| {
            process.name == "kube-apiserver"
                && process.runs()
                && process.log.as_ref().is_some_and(is_meant)
        });
        let pid = found.context("the hub's API server does not run")?.pid;
        Ok(Self { client: fleet.hub().client(), pid })
    }

    /// CPU time since it began.
    pub(super) fn cpu(&self) -> Result<Duration> {
        cpu::of(self.pid)
    }

    /// Share of a core that it needs while nothing happens for so long.
    pub(super) async fn at_rest(&self, rest: Duration) -> Result<f64> {
        let before = self.cpu()?;
        tokio::time::sleep(rest).await;
        Ok(self.cpu()?.saturating_sub(before).as_secs_f64() / rest.as_secs_f64())
    }

    /// Lets the API server collect its garbage, and returns when that is done.
    pub(super) async fn collect_garbage(&self) -> Result<()> {
        let request = Request::get("/debug/pprof/heap?gc=1&debug=1").body(Vec::new())?;
        self.client.request_text(request).await.context("collect the garbage")?;
        Ok(())
    }

    /// Writes that it has answered, whatever the answer was.
    pub(super) async fn writes(&self) -> Result<f64> {
        let request = Request::get("/metrics").body(Vec::new())?;
        let metrics = Scrape::from(self.client.request_text(request).await?);
        let each = GROUPS.iter().flat_map(|group| WRITES.map(|verb| (group, verb)));
        let count = |(group, verb): (&&str, &str)| {
            metrics.sum("apiserver_request_total", &[("group", group), ("verb", verb)])
        };
        Ok(each.map(count).sum())
    }
}
