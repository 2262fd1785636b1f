//! A hub agent that starts in a large fleet: how long until everything is planned, how much memory, and nothing written.

use std::ops::Range;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fleet_api::ResourceKind;
use fleet_api::kinds::kinds_of_hub;
use fleet_testbed::Testbed;
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::scrape::Scrape;
use fleet_testbed::wait::wait_for;
use futures::future::try_join_all;
use http::Request;
use kube::Client;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use crate::growth::count;
use crate::simulated_members::{FrontEnd, SimulatedMembers, TestService};

/// Members, and how many of them export each Service.
pub(crate) const MEMBERS: usize = 100;
pub(crate) const EXPORTERS: usize = 20;
/// How many import it.
pub(crate) const IMPORTERS: usize = 3;
/// Endpoints of each exporter.
pub(crate) const ENDPOINTS: usize = 10;
/// Services that are opened at once while the fleet is filled.
const CHUNK: usize = 50;
/// Objects per page, as the agents list.
const PAGE: usize = 500;
const PATIENCE: Duration = Duration::from_mins(15);
/// How long a started agent is watched until its memory counts as steady.
const STEADY: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(50);

/// One start.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ColdStart {
    pub(crate) services: usize,
    /// By kind, as the API server lists them.
    pub(crate) objects: Vec<(String, usize)>,
    pub(crate) list_seconds: f64,
    pub(crate) ready_seconds: f64,
    pub(crate) converged_seconds: f64,
    pub(crate) writes: f64,
    pub(crate) peak_rss: u64,
    pub(crate) steady_rss: u64,
}

impl ColdStart {
    pub(crate) fn count(&self) -> usize {
        self.objects.iter().map(|(_, count)| count).sum()
    }
}

/// Opens Services, each with so many exporters. The members' agents do the exporting and importing.
pub(crate) async fn fill(
    members: &mut SimulatedMembers,
    services: Range<usize>,
    exporters: usize,
) -> Result<Vec<TestService>> {
    let size = members.size();
    let service = |number: usize| {
        let chosen = |offset: usize, step: usize, wanted: usize| {
            (0..wanted).map(|at| (number * 7 + offset + at * step) % size).collect()
        };
        TestService {
            front_end: FrontEnd::Copying,
            number,
            // Far from each other, then others between the first two.
            exporters: chosen(0, size / exporters, exporters),
            importers: chosen(1, 1, IMPORTERS),
            slices: 1,
            endpoints: ENDPOINTS,
        }
    };
    let services: Vec<TestService> = services.map(service).collect();
    for some in services.chunks(CHUNK) {
        for service in some {
            members.open(service);
        }
        let context = || format!("Services from {} on", some[0].number);
        members.settle(PATIENCE).await.with_context(context)?;
    }
    Ok(services)
}

/// Waits until the hub agent has nothing left to do, then starts it anew.
pub(crate) async fn measure(
    testbed: &Testbed,
    agents: &mut Agents,
    services: usize,
) -> Result<ColdStart> {
    at_rest(agents, PATIENCE).await?;
    agents.terminate(Agent::Hub).await?;
    let begin = Instant::now();
    let client = testbed.hub().new_client().await?;
    let objects = try_join_all(kinds_of_hub().map(|kind| list(client.clone(), kind))).await?;
    let list_seconds = begin.elapsed().as_secs_f64();

    let begin = Instant::now();
    agents.launch(Agent::Hub)?;
    wait_for("the hub agent is ready", PATIENCE, async || {
        Ok(agents.readiness(Agent::Hub).await.is_ok_and(|(code, _)| code == 200).then_some(()))
    })
    .await?;
    let ready_seconds = begin.elapsed().as_secs_f64();
    let quiet_since = at_rest(agents, PATIENCE).await?;
    let converged_seconds = (quiet_since - begin).as_secs_f64();
    sleep(STEADY).await;
    let metrics = Scrape::of(agents, Agent::Hub).await?;
    let usage = agents.usage(Agent::Hub)?;
    let requests = "fleet_runtime_api_requests_total";
    let reads = metrics.sum(requests, &[("verb", "get")]);
    Ok(ColdStart {
        services,
        objects: objects.into_iter().map(|(kind, count)| (kind.to_owned(), count)).collect(),
        list_seconds,
        ready_seconds,
        converged_seconds,
        writes: metrics.sum(requests, &[]) - reads,
        peak_rss: usage.peak_rss_bytes,
        steady_rss: usage.rss_bytes,
    })
}

/// Waits until nothing is queued or planned any more. Returns since when that has been so.
async fn at_rest(agents: &Agents, deadline: Duration) -> Result<Instant> {
    /// Looks in a row that must find the same.
    const LOOKS: u32 = 20;
    let begin = Instant::now();
    let (mut since, mut looks, mut last) = (begin, 0, None);
    while looks < LOOKS {
        ensure!(begin.elapsed() < deadline, "the hub agent does not come to rest");
        sleep(LOOK).await;
        let metrics = Scrape::of(agents, Agent::Hub).await?;
        let waiting: f64 = ["queue_depth", "keys_in_flight"]
            .map(|name| metrics.sum(&format!("fleet_runtime_{name}"), &[]))
            .iter()
            .sum();
        // Heartbeats of 100 members never rest.
        let plans = metrics.sum("fleet_runtime_plans_total", &[("controller", "service")]);
        let ready = agents.readiness(Agent::Hub).await?.0 == 200;
        if ready && waiting == 0.0 && last == Some(plans) {
            looks += 1;
        } else {
            (since, looks, last) = (Instant::now(), 0, Some(plans));
        }
    }
    Ok(since)
}

#[derive(Deserialize)]
struct Page {
    metadata: PageMetadata,
    items: Vec<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PageMetadata {
    r#continue: String,
}

/// Lists a kind page by page and looks at nothing: what the API server itself needs.
async fn list(client: Client, kind: ResourceKind) -> Result<(&'static str, usize)> {
    let path = format!("/apis/{}/{}?limit={PAGE}", kind.api_version(), kind.plural);
    let (mut found, mut at) = (0, String::new());
    loop {
        let request = Request::get(format!("{path}{at}")).body(Vec::new())?;
        let page: Page = serde_json::from_str(&client.request_text(request).await?)?;
        found += page.items.len();
        if page.metadata.r#continue.is_empty() {
            return Ok((kind.plural, found));
        }
        at = format!("&continue={}", page.metadata.r#continue);
    }
}

/// Bytes of memory per object.
pub(crate) fn bytes_per_object(start: &ColdStart, empty: u64) -> f64 {
    let bytes = start.steady_rss.saturating_sub(empty);
    f64::from(u32::try_from(bytes / 1024).unwrap_or(u32::MAX)) * 1024.0 / count(start.count())
}
