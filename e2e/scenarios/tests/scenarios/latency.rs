//! The histograms: the original's two, one sample per generation, and the stages of our own.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{annotations, kinds};
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::exchange::imported_slices;
use fleet_testbed::objects::{edit, remove};
use fleet_testbed::scrape::Scrape;
use fleet_testbed::wait::wait_until;
use futures::StreamExt;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::runtime::watcher;
use kube::{Api, ResourceExt};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::stage::{DEADLINE, EXPORTER, IMPORTER, Stage, accepted, condition, name_of};
use crate::tests::Tests;

const ENDPOINTS: &str = "fleet_networking_endpointslice_export_import_duration_milliseconds";
const SERVICE: &str = "fleet_networking_service_export_duration_milliseconds";
const STAGES: &str = "fleet_networking_stage_duration_seconds";

pub(crate) fn add(tests: &mut Tests) {
    tests.alone("latency::every_generation_counts_once", every_generation_counts_once);
}

/// What the agents have counted.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Samples {
    first: f64,
    later: f64,
    exports: f64,
}

impl Samples {
    async fn read(stage: &Stage, agents: &Agents) -> Result<Self> {
        let (from, to) = (stage.exporter().name(), stage.importer().name());
        let importer = Scrape::of(agents, Agent::Member(IMPORTER)).await?;
        let exporter = Scrape::of(agents, Agent::Member(EXPORTER)).await?;
        let imports = |first| {
            let labels = [
                ("origin_cluster_id", from),
                ("destination_cluster_id", to),
                ("is_first_import", first),
            ];
            importer.sum(&format!("{ENDPOINTS}_count"), &labels)
        };
        let exports = exporter.sum(&format!("{SERVICE}_count"), &[("origin_cluster_id", from)]);
        Ok(Self { first: imports("true"), later: imports("false"), exports })
    }
}

/// Reads counters until they have grown by this much, and fails at once if they grow further.
struct Expected<'a> {
    stage: &'a Stage,
    samples: Samples,
}

impl Expected<'_> {
    async fn grow(
        &mut self,
        agents: &Agents,
        what: &str,
        [first, later, exports]: [f64; 3],
    ) -> Result<()> {
        self.samples.first += first;
        self.samples.later += later;
        self.samples.exports += exports;
        let mut seen = self.samples;
        let result = wait_until(what, DEADLINE, async || {
            seen = Samples::read(self.stage, agents).await?;
            Ok(seen == self.samples)
        })
        .await;
        result.with_context(|| format!("expected {:?}, not {seen:?}", self.samples))
    }
}

/// M1: over two lives of the importer, as many samples as there were generations whose slice was written, by the watch
/// of those slices. M8: counters go down with a process only.
async fn every_generation_counts_once(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let samples = Samples::read(stage, agents).await?;
    let importer_before = Scrape::of(agents, Agent::Member(IMPORTER)).await?;
    let written = Written::watch(stage.importer()).await?;
    let mut expected = Expected { stage, samples };
    let mut crossing = stage.crossing("latency", &[IMPORTER]).await?;
    accepted(stage, crossing.key()).await?;
    expected.grow(agents, "the first import is counted", [1.0, 0.0, 1.0]).await?;
    for count in [2, 1] {
        crossing.change(count).await?;
        crossing.arrived().await?;
        expected.grow(agents, "a change is counted", [0.0, 1.0, 0.0]).await?;
    }

    // Writes to the imported slice that bring no new generation are none.
    let derived = crossing.derived(IMPORTER).await?;
    let slices = imported_slices(stage.importer(), &derived).await?;
    let name = name_of(slices[0].metadata.name.as_ref())?.to_owned();
    let key = (SYSTEM_NAMESPACE, name.as_str());
    let nobody = json!({ "endpoints": [] });
    edit(stage.importer(), kinds::ENDPOINT_SLICE, key, nobody).await?;
    crossing.arrived().await?;
    crossing.change(3).await?;
    crossing.arrived().await?;
    expected.grow(agents, "healing is not counted", [0.0, 1.0, 0.0]).await?;

    // A second slice is a first import of its own.
    crossing.service.add_slice("web-more", &["192.0.2.77".to_owned()]).await?;
    crossing.addresses.insert("192.0.2.77".to_owned());
    crossing.arrived().await?;
    expected.grow(agents, "a new slice is counted", [1.0, 0.0, 0.0]).await?;

    stages_are_measured(agents).await?;

    let first_life =
        expected.samples.first + expected.samples.later - samples.first - samples.later;
    let importer_after = Scrape::of(agents, Agent::Member(IMPORTER)).await?;
    let fell = importer_before.fell(&importer_after);
    ensure!(fell.is_empty(), "{fell:#?}");
    let started = |scrape: &Scrape| scrape.sum("process_start_time_seconds", &[]);

    // Restarted, an agent counts nothing that was settled before.
    agents.restart(Agent::Member(IMPORTER)).await?;
    agents.restart(Agent::Member(EXPORTER)).await?;
    expected.samples = Samples { first: 0.0, later: 0.0, exports: 0.0 };
    let (importer, mcs) = (stage.importer(), kinds::MULTI_CLUSTER_SERVICE);
    condition(importer, mcs, crossing.key(), ("Valid", "True")).await?;
    crossing.service.remove_slice("web-more").await?;
    crossing.addresses.remove("192.0.2.77");
    crossing.arrived().await?;
    expected.grow(agents, "a restart counts nothing", [0.0; 3]).await?;
    crossing.change(2).await?;
    crossing.arrived().await?;
    expected.grow(agents, "a change is counted after a restart", [0.0, 1.0, 0.0]).await?;

    // What was deleted by hand comes back as it was: no news.
    let slices = imported_slices(importer, &derived).await?;
    let name = name_of(slices[0].metadata.name.as_ref())?.to_owned();
    remove(importer, kinds::ENDPOINT_SLICE, (SYSTEM_NAMESPACE, &name)).await?;
    crossing.arrived().await?;

    let second = Scrape::of(agents, Agent::Member(IMPORTER)).await?;
    let times = (started(&importer_after), started(&second));
    ensure!(times.0 > 0.0 && times.0 <= times.1, "{times:?}");
    let second_life = Samples::read(stage, agents).await?;
    let counted = first_life + second_life.first + second_life.later;
    #[expect(clippy::cast_precision_loss, reason = "a handful")]
    let generations = written.generations(&crossing.namespace).len() as f64;
    ensure!((counted - generations).abs() < 0.5, "{counted} samples of {generations} generations");
    crossing.withdraw().await
}

/// What a watch has shown of imported slices. Dropping it ends the watch.
struct Written {
    seen: Arc<Mutex<Vec<EndpointSlice>>>,
    task: JoinHandle<()>,
}

impl Drop for Written {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Written {
    async fn watch(importer: &Cluster) -> Result<Self> {
        let slices: Api<EndpointSlice> = Api::namespaced(importer.client(), SYSTEM_NAMESPACE);
        let seen = Arc::<Mutex<Vec<EndpointSlice>>>::default();
        let (note, (ready, listed)) = (Arc::clone(&seen), oneshot::channel());
        let task = tokio::spawn(async move {
            let mut events = std::pin::pin!(watcher(slices, watcher::Config::default()));
            let mut ready = Some(ready);
            while let Some(event) = events.next().await {
                match event {
                    Ok(watcher::Event::InitDone) => drop(ready.take().map(|ready| ready.send(()))),
                    Ok(watcher::Event::Apply(slice)) => note.lock().push(slice),
                    _ => {}
                }
            }
        });
        listed.await?;
        Ok(Self { seen, task })
    }

    /// Exported slice and generation of every version about a user namespace.
    fn generations(&self, namespace: &str) -> BTreeSet<(String, String)> {
        let seen = self.seen.lock();
        let noted = seen.iter().filter_map(|slice| {
            let noted = |key: &str| slice.annotations().get(key).cloned();
            let service = noted(annotations::FLEET_SERVICE)?;
            let ours = service.starts_with(&format!("{namespace}/"));
            let pair = (
                noted(annotations::SLICE_EXPORT_UID)?,
                noted(annotations::LAST_OBSERVED_GENERATION)?,
            );
            ours.then_some(pair)
        });
        noted.collect()
    }
}

async fn stages_are_measured(agents: &Agents) -> Result<()> {
    let count = format!("{STAGES}_count");
    for (agent, stages) in [
        (Agent::Member(EXPORTER), &["export"][..]),
        (Agent::Hub, &["resolve", "distribute"]),
        (Agent::Member(IMPORTER), &["import"]),
    ] {
        let scrape = Scrape::of(agents, agent).await?;
        for stage in stages {
            let samples = scrape.sum(&count, &[("stage", stage)]);
            ensure!(samples >= 1.0, "{agent:?} has {samples} samples of {stage}");
            let seconds = scrape.sum(&format!("{STAGES}_sum"), &[("stage", stage)]);
            ensure!(seconds > 0.0 && seconds / samples < 5.0, "{stage}: {seconds} s in {samples}");
        }
    }
    Ok(())
}
