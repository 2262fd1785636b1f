//! Many Services at once: exported and imported, changed, withdrawn.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace};
use fleet_api::{ResourceKind, kinds, labels};
use futures::future::try_join_all;
use futures::{StreamExt, TryStreamExt};
use kube::api::{DeleteParams, DynamicObject, ListParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::arrivals::{Arrival, STATIONS, Station, Way};
use super::change_path::{ChangePath, EXPORTER, IMPORTER};
use super::scrape::Scrape;
use super::slice::Slice;
use fleet_testbed::agents::Agents;
use fleet_testbed::fleet::Fleet;
use fleet_testbed::mix::send;
use fleet_testbed::objects::api;

/// Requests of one user that are under way at the same time.
const IN_FLIGHT: usize = 16;
/// Services without an importer, at a time.
const EXPORTED_AT_ONCE: usize = 500;
/// Pause between two looks at what is left.
const LOOK: Duration = Duration::from_millis(10);
const WITHDRAWAL_DEADLINE: Duration = Duration::from_mins(5);

/// Times of one round, and what the agents did in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Round {
    /// Until all slices were bound on the importing member.
    pub(super) import: Duration,
    /// Until all changes had arrived there.
    pub(super) burst: Duration,
    /// When the last change of the burst reached each station.
    pub(super) burst_stations: [Duration; STATIONS],
    /// Until nothing was left in any cluster.
    pub(super) withdraw: Duration,
    /// When the imported slices and then, looked for in this order, each kind of object was seen to be gone.
    pub(super) emptied: Vec<(String, Duration)>,
    /// What the agents did in each operation.
    pub(super) work: Vec<(&'static str, Scrape)>,
}

/// Services on the exporting member, each with one slice.
pub(super) struct Services {
    namespace: String,
    slices: Vec<(String, Slice)>,
}

impl Services {
    /// Makes them; nothing is exported yet.
    pub(super) async fn make(path: &ChangePath, namespace: &str, count: usize) -> Result<Self> {
        let slices = futures::stream::iter(0..count)
            .map(async |number| {
                let name = format!("service-{number}");
                let slice = Slice::of_service(&path.exporter, namespace, &name).await?;
                anyhow::Ok((name, slice))
            })
            .buffer_unordered(IN_FLIGHT)
            .try_collect()
            .await?;
        Ok(Self { namespace: namespace.to_owned(), slices })
    }

    /// Import, change and withdrawal of all of them.
    pub(super) async fn round(
        &mut self,
        path: &ChangePath,
        fleet: &Fleet,
        agents: &Agents,
    ) -> Result<Round> {
        let mut round = Round::default();
        let idle = Scrape::read(fleet, agents).await?;
        round.import = self.import(path).await?;
        let imported = Scrape::read(fleet, agents).await?;
        (round.burst, round.burst_stations) = self.burst(path).await?;
        let changed = Scrape::read(fleet, agents).await?;
        (round.withdraw, round.emptied) = self.withdraw(path, fleet).await?;
        let withdrawn = Scrape::read(fleet, agents).await?;
        round.work = vec![
            ("import", imported.since(&idle)),
            ("burst", changed.since(&imported)),
            ("withdrawal", withdrawn.since(&changed)),
        ];
        Ok(round)
    }

    fn names(&self) -> Vec<String> {
        self.slices.iter().map(|(name, _)| name.clone()).collect()
    }

    fn wishes(&self, path: &ChangePath) -> [Wishes; 2] {
        [
            Wishes {
                api: api(
                    path.exporter.clone(),
                    kinds::SERVICE_EXPORT,
                    Some(self.namespace.as_str()),
                ),
                kind: kinds::SERVICE_EXPORT,
                body: |_| json!({}),
            },
            Wishes {
                api: api(
                    path.importer.clone(),
                    kinds::MULTI_CLUSTER_SERVICE,
                    Some(self.namespace.as_str()),
                ),
                kind: kinds::MULTI_CLUSTER_SERVICE,
                body: |name| json!({ "spec": { "serviceImport": { "name": name } } }),
            },
        ]
    }

    /// Exports and imports all of them; how long until all are bound.
    pub(super) async fn import(&self, path: &ChangePath) -> Result<Duration> {
        self.cross(path, &self.wishes(path)).await
    }

    /// Exports all of them through the standard API, where members with the namespace import; how long until all are bound.
    pub(super) async fn import_standard(&self, path: &ChangePath) -> Result<Duration> {
        let kind = kinds::MCS_SERVICE_EXPORT;
        let api = api(path.exporter.clone(), kind, Some(self.namespace.as_str()));
        self.cross(path, &[Wishes { api, kind, body: |_| json!({}) }]).await
    }

    async fn cross(&self, path: &ChangePath, wishes: &[Wishes]) -> Result<Duration> {
        let names = self.names();
        let arrivals: Vec<Arrival> = (self.slices.iter())
            .map(|(_, slice)| path.arrivals.expect(slice.address(), Station::Target))
            .collect();
        let begin = Instant::now();
        let ways = try_join_all(arrivals.into_iter().map(Arrival::wait));
        let created = try_join_all(wishes.iter().map(|wishes| wishes.create(&names)));
        let (ways, _) = futures::try_join!(ways, created)?;
        last(&ways, Station::Target, begin)
    }

    /// Exports all of them without an importer; returns when all are on the hub.
    pub(super) async fn export(&self, path: &ChangePath) -> Result<()> {
        let [exports, _] = self.wishes(path);
        // Step by step: an arrival has a deadline of its own.
        for some in self.slices.chunks(EXPORTED_AT_ONCE) {
            let names: Vec<String> = some.iter().map(|(name, _)| name.clone()).collect();
            let arrivals = (some.iter())
                .map(|(_, slice)| path.arrivals.expect(slice.address(), Station::Export).wait());
            futures::try_join!(try_join_all(arrivals), exports.create(&names))?;
        }
        Ok(())
    }

    /// Changes all of them; how long until all changes have arrived, also at each station.
    pub(super) async fn burst(
        &mut self,
        path: &ChangePath,
    ) -> Result<(Duration, [Duration; STATIONS])> {
        let mut requests = Vec::new();
        let mut arrivals = Vec::new();
        for (_, slice) in &mut self.slices {
            let (request, address) = slice.next_change()?;
            arrivals.push(path.arrivals.expect(&address, Station::Target));
            requests.push(request);
        }
        let begin = Instant::now();
        let changes = futures::stream::iter(requests)
            .map(|request| send(&path.exporter, request))
            .buffer_unordered(IN_FLIGHT)
            .try_collect::<Vec<()>>();
        let ways = try_join_all(arrivals.into_iter().map(Arrival::wait));
        let (_, ways) = futures::try_join!(changes, ways)?;
        let mut stations = [Duration::ZERO; STATIONS];
        for (index, reached) in stations.iter_mut().enumerate() {
            let at = ways.iter().filter_map(|way| way.0[index]);
            *reached = at.max().map_or(Duration::ZERO, |at| at.saturating_duration_since(begin));
        }
        Ok((last(&ways, Station::Target, begin)?, stations))
    }

    async fn withdraw(&self, path: &ChangePath, fleet: &Fleet) -> Result<(Duration, Emptied)> {
        let names = self.names();
        let [exports, imports] = self.wishes(path);
        let places = places(path, fleet, &self.namespace);
        let begin = Instant::now();
        let deletions = async {
            futures::try_join!(exports.delete(&names), imports.delete(&names))?;
            let emptied = nothing_left(&places, begin).await?;
            anyhow::Ok((begin.elapsed(), emptied))
        };
        let mut imported = path.imported.clone();
        let endpoints = async {
            imported.wait_for(|&count| count == 0).await.context("the watch has ended")?;
            anyhow::Ok(begin.elapsed())
        };
        let ((whole, mut emptied), endpoints) = futures::try_join!(deletions, endpoints)?;
        emptied.insert(0, ("endpoints".to_owned(), endpoints));
        let left = fleet.leftovers_of(&self.namespace).await?;
        if let Some(left) = left.first() {
            bail!("left after the withdrawal: {left}");
        }
        Ok((whole, emptied))
    }
}

fn last(ways: &[Way], station: Station, begin: Instant) -> Result<Duration> {
    let last = ways.iter().filter_map(|way| way.at(station)).max();
    Ok(last.context("nothing arrived")?.saturating_duration_since(begin))
}

/// The exports, or the imports, of all Services.
struct Wishes {
    api: Api<DynamicObject>,
    kind: ResourceKind,
    body: fn(&str) -> Value,
}

impl Wishes {
    async fn create(&self, names: &[String]) -> Result<()> {
        let create = async |name: &String| {
            let mut object = (self.body)(name);
            object["apiVersion"] = self.kind.api_version().into();
            object["kind"] = self.kind.kind.into();
            object["metadata"] = json!({ "name": name });
            let object: DynamicObject = serde_json::from_value(object)?;
            self.api.create(&PostParams::default(), &object).await?;
            anyhow::Ok(())
        };
        futures::stream::iter(names)
            .map(create)
            .buffer_unordered(IN_FLIGHT)
            .try_collect::<Vec<()>>()
            .await
            .with_context(|| format!("make {}", self.kind.plural))?;
        Ok(())
    }

    async fn delete(&self, names: &[String]) -> Result<()> {
        let delete = async |name: &String| {
            self.api.delete(name, &DeleteParams::default()).await?;
            anyhow::Ok(())
        };
        futures::stream::iter(names)
            .map(delete)
            .buffer_unordered(IN_FLIGHT)
            .try_collect::<Vec<()>>()
            .await
            .with_context(|| format!("delete {}", self.kind.plural))?;
        Ok(())
    }
}

/// Where something of a Service can be left, and how it is distinguished from objects of others.
struct Place {
    api: Api<DynamicObject>,
    what: String,
    labels: Option<String>,
}

fn places(path: &ChangePath, fleet: &Fleet, namespace: &str) -> Vec<Place> {
    let place = |client: &Client, kind: ResourceKind, namespace: &str| Place {
        api: api(client.clone(), kind, Some(namespace)),
        what: format!("{}/{}", namespace.strip_prefix("fleet-").unwrap_or(namespace), kind.plural),
        labels: None,
    };
    let of_member = |position| member_namespace(fleet.member(position).name());
    let mut slices = place(&path.importer, kinds::ENDPOINT_SLICE, SYSTEM_NAMESPACE);
    slices.labels = Some(format!("{}={}", labels::MANAGED_BY, labels::MANAGED_BY_IMPORT));
    vec![
        slices,
        place(&path.importer, kinds::SERVICE, SYSTEM_NAMESPACE),
        place(&path.importer, kinds::SERVICE_IMPORT, namespace),
        place(&path.importer, kinds::MULTI_CLUSTER_SERVICE, namespace),
        place(&path.hub, kinds::ENDPOINT_SLICE_IMPORT, &of_member(IMPORTER)),
        place(&path.hub, kinds::INTERNAL_SERVICE_IMPORT, &of_member(IMPORTER)),
        place(&path.hub, kinds::ENDPOINT_SLICE_EXPORT, &of_member(EXPORTER)),
        place(&path.hub, kinds::INTERNAL_SERVICE_EXPORT, &of_member(EXPORTER)),
        place(&path.hub, kinds::SERVICE_IMPORT, namespace),
        place(&path.exporter, kinds::SERVICE_EXPORT, namespace),
    ]
}

/// What is gone, and when that was seen.
type Emptied = Vec<(String, Duration)>;

/// Returns once every place is empty. Each look costs the servers one small request.
async fn nothing_left(places: &[Place], begin: Instant) -> Result<Emptied> {
    let mut emptied = Emptied::new();
    // Nothing is made any more, so a place that was seen empty stays so.
    for place in places {
        let mut params = ListParams::default().limit(1);
        params.label_selector.clone_from(&place.labels);
        while !place.api.list(&params).await?.items.is_empty() {
            if begin.elapsed() > WITHDRAWAL_DEADLINE {
                bail!("after {WITHDRAWAL_DEADLINE:?} there are still {}", place.what);
            }
            tokio::time::sleep(LOOK).await;
        }
        emptied.push((place.what.clone(), begin.elapsed()));
    }
    Ok(emptied)
}
