//! Observers of a cluster, what a cursor delivered, and users' changes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use fleet_accumulator::{
    Accumulator, AnyView, Change, Config, Cursor, Feeds, Object, ResourceVersion, Snapshot,
    SnapshotChange, SourceInfo, SourceSet, SourceSpec, SourceState, Tracked, Uid, View, views,
};
use fleet_api::ObjectName;
use fleet_model::objects::{self, EndpointSliceWire, Namespace};
use fleet_runtime::clients;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::join;
use fleet_testbed::proxy::Proxy;
use fleet_testbed::wait::{wait_for, wait_until};
use futures::{FutureExt, StreamExt, TryStreamExt};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client};
use parking_lot::Mutex;
use prometheus::{Registry, TextEncoder};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};
use tracing_subscriber::EnvFilter;

/// With `RUST_LOG`, everything is logged.
pub(crate) fn logs() {
    if std::env::var_os("RUST_LOG").is_some() {
        let filter = EnvFilter::from_default_env();
        // Only the first test of the process sets it up.
        let _ = tracing_subscriber::fmt().with_env_filter(filter).with_test_writer().try_init();
    }
}

/// Long enough for whatever should happen soon, on a busy machine too: only a test that fails waits for it.
pub(crate) const SOON: Duration = Duration::from_mins(2);
const IN_FLIGHT: usize = 16;
/// What all slices of the tests have.
pub(crate) const MADE_BY_TEST: &str = "made-by=test";

views! {
    /// What most tests watch.
    pub(crate) struct Seen {
        /// Slices, usually of one namespace.
        local slices: objects::EndpointSlice,
        /// All namespaces, where a test reads them.
        local namespaces: Namespace,
    }
}

/// The source of the slices alone.
pub(crate) fn slices() -> SourceSet {
    SourceSet::from([Seen::slices()])
}

/// Settings that make a test wait seconds where an agent may wait minutes.
pub(crate) fn quick() -> Config {
    Config {
        stale_after: Duration::from_secs(2),
        max_backoff: Duration::from_secs(1),
        recheck_required: Duration::from_millis(500),
        recheck_optional: Duration::from_millis(500),
        ..Config::default()
    }
}

/// A client like the agents', through a proxy; as a user without any rights, if `user` is named.
pub(crate) async fn client(cluster: &Cluster, proxy: &Proxy, user: Option<&str>) -> Client {
    let file = Kubeconfig::read_from(cluster.kubeconfig_path()).unwrap();
    let mut config =
        kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    config.cluster_url = proxy.url().parse().unwrap();
    config.auth_info.impersonate = user.map(str::to_owned);
    clients::from_config("local", config).await.unwrap().watch
}

/// A running accumulator.
pub(crate) struct Eyes<S> {
    pub(crate) accumulator: Accumulator<S>,
    registry: Registry,
    token: CancellationToken,
    tasks: TaskTracker,
}

impl<S: Snapshot> Eyes<S> {
    pub(crate) fn open(config: &Config, sources: SourceSet, feeds: &impl Feeds) -> Self {
        let (token, tasks, registry) =
            (CancellationToken::new(), TaskTracker::new(), Registry::new());
        let accumulator = Accumulator::start(config, sources, feeds, &token, &tasks);
        accumulator.register_metrics(&registry).unwrap();
        Self { accumulator, registry, token, tasks }
    }

    pub(crate) fn snapshot(&self) -> Arc<S> {
        self.accumulator.snapshot()
    }

    /// Sum of the samples of one metric with these labels.
    pub(crate) fn metric(&self, name: &str, labels: &[(&str, &str)]) -> u64 {
        let text = TextEncoder::new().encode_to_string(&self.registry.gather()).unwrap();
        sample(&text, name, labels)
    }

    /// Number of lists that were completed.
    pub(crate) fn lists(&self, source: &str) -> u64 {
        self.metric("fleet_accumulator_source_relists_total", &[("source", source)])
    }

    /// Number of failures of a class.
    pub(crate) fn errors(&self, source: &str, class: &str) -> u64 {
        let labels = [("source", source), ("class", class)];
        self.metric("fleet_accumulator_source_errors_total", &labels)
    }

    /// Ends it; nothing may be left of it after a second.
    pub(crate) async fn close(self) {
        self.token.cancel();
        self.tasks.close();
        let ended = tokio::time::timeout(Duration::from_secs(1), self.tasks.wait());
        ended.await.expect("every task ends within a second");
    }
}

impl Eyes<Seen> {
    /// Watches the slices of a namespace.
    pub(crate) async fn on_slices(
        cluster: &Cluster,
        proxy: &Proxy,
        user: Option<&str>,
        namespace: &str,
    ) -> Self {
        let spec = SourceSpec::new(client(cluster, proxy, user).await)
            .namespace(namespace)
            .watch_timeout(WATCH_SECONDS);
        Self::open(&quick(), slices(), &|_: &SourceInfo| spec.clone())
    }

    /// Watches the slices of a namespace, and does not notice for a minute that nothing arrives.
    pub(crate) async fn patient(cluster: &Cluster, proxy: &Proxy, namespace: &str) -> Self {
        let spec = SourceSpec::new(client(cluster, proxy, None).await)
            .namespace(namespace)
            .watch_timeout(60);
        let config = Config { stale_after: Duration::from_mins(1), ..quick() };
        Self::open(&config, slices(), &|_: &SourceInfo| spec.clone())
    }

    pub(crate) async fn until_state(&self, what: &str, fits: impl Fn(&SourceState) -> bool) {
        until_state(self, Seen::slices(), what, fits).await;
    }

    pub(crate) async fn until_live(&self) {
        self.until_state("live", SourceState::is_live).await;
    }

    /// What keeps a consumer of the slices from working.
    pub(crate) fn blocking(&self) -> Vec<String> {
        self.accumulator.blocking(slices())
    }
}

/// How long the watches of the tests last.
pub(crate) const WATCH_SECONDS: u32 = 3;

/// Waits until a source is in a state.
pub(crate) async fn until_state<S: Snapshot>(
    eyes: &Eyes<S>,
    source: fleet_accumulator::SourceId,
    what: &str,
    fits: impl Fn(&SourceState) -> bool,
) {
    wait_until(what, SOON, async || {
        let snapshot = eyes.snapshot();
        if fits(snapshot.state(source)) {
            return Ok(true);
        }
        let trouble = snapshot.view(source).and_then(AnyView::trouble).map(str::to_owned);
        bail!("it is {:?}, trouble {trouble:?}", snapshot.state(source))
    })
    .await
    .unwrap();
}

/// Sum of the samples of a metric in the text format that have these labels.
pub(crate) fn sample(text: &str, name: &str, labels: &[(&str, &str)]) -> u64 {
    let of_metric = text.lines().filter_map(|line| line.strip_prefix(name)?.split_once(' '));
    let fits =
        |text: &str| labels.iter().all(|(key, value)| text.contains(&format!("{key}=\"{value}\"")));
    let values = of_metric
        .filter(|(labels, _)| labels.is_empty() || labels.starts_with('{'))
        .filter(|(labels, _)| fits(labels));
    values.map(|(_, value)| value.trim().parse::<u64>().unwrap()).sum()
}

/// What a consumer knows that has nothing but the differences of its cursor.
pub(crate) struct Fold<T> {
    content: BTreeMap<ObjectName, Object<T>>,
    pub(crate) added: usize,
    pub(crate) updated: usize,
    pub(crate) replaced: usize,
    pub(crate) removed: usize,
    /// The states of the source in the order they were seen, without repetitions.
    pub(crate) states: Vec<&'static str>,
    /// Differences that contradict what came before.
    wrong: Vec<String>,
}

impl<T: Tracked> Fold<T> {
    fn take<S: Snapshot>(&mut self, step: &SnapshotChange<S>, view: fn(&S) -> &View<T>) {
        if step.new.seq() < step.old.seq() {
            self.wrong.push(format!("from {} back to {}", step.old.seq(), step.new.seq()));
        }
        let state = view(&step.new).state().as_str();
        if self.states.last() != Some(&state) {
            self.states.push(state);
        }
        for change in step.diff(view) {
            self.change(&change);
        }
    }

    fn change(&mut self, change: &Change<'_, T>) {
        let name = &change.new().or_else(|| change.old()).unwrap().name;
        let known = self.content.get(name);
        // Records are equal if they share their content: what is offered as old is what was offered as new.
        let mut right = known == change.old();
        match change {
            Change::Added(_) => self.added += 1,
            Change::Updated { old, new } => {
                right &= old.uid == new.uid && old.object != new.object;
                self.updated += 1;
            }
            Change::Replaced { old, new } => {
                right &= old.uid != new.uid;
                self.replaced += 1;
            }
            Change::Removed(_) => self.removed += 1,
        }
        if !right {
            self.wrong.push(format!("{change:?} after {known:?}"));
        }
        match change.new() {
            Some(new) => self.content.insert(name.clone(), new.clone()),
            None => self.content.remove(name),
        };
    }

    /// Added, updated, replaced and removed.
    pub(crate) fn counts(&self) -> [usize; 4] {
        [self.added, self.updated, self.replaced, self.removed]
    }
}

/// A consumer that folds all differences of its cursor.
pub(crate) struct Follower<T> {
    fold: Arc<Mutex<Fold<T>>>,
    _task: AbortOnDropHandle<()>,
}

impl<T: Tracked> Follower<T> {
    pub(crate) fn new<S: Snapshot>(mut cursor: Cursor<S>, view: fn(&S) -> &View<T>) -> Self {
        let fold = Arc::new(Mutex::new(Fold {
            content: BTreeMap::new(),
            added: 0,
            updated: 0,
            replaced: 0,
            removed: 0,
            states: Vec::new(),
            wrong: Vec::new(),
        }));
        let folded = Arc::clone(&fold);
        let task = tokio::spawn(async move {
            while let Some(step) = cursor.next().await {
                folded.lock().take(&step, view);
                cursor.commit(step);
            }
        });
        Self { fold, _task: AbortOnDropHandle::new(task) }
    }

    /// Reads what was folded so far.
    pub(crate) fn read<R>(&self, read: impl FnOnce(&Fold<T>) -> R) -> R {
        read(&self.fold.lock())
    }

    pub(crate) fn counts(&self) -> [usize; 4] {
        self.read(Fold::counts)
    }

    /// The states seen so far.
    pub(crate) fn states(&self) -> Vec<&'static str> {
        self.read(|fold| fold.states.clone())
    }

    /// Waits until the fold is the view, record by record, then checks that no difference was wrong.
    pub(crate) async fn until_equal(&self, view: impl Fn() -> View<T>) {
        wait_until("the folded differences are the view", SOON, async || {
            let view = view();
            self.read(|fold| {
                Ok(view.len() == fold.content.len() && view.iter().eq(fold.content.values()))
            })
        })
        .await
        .unwrap();
        self.read(|fold| assert!(fold.wrong.is_empty(), "wrong differences: {:#?}", fold.wrong));
    }
}

type Fresh = BTreeMap<ObjectName, (Uid, ResourceVersion, objects::EndpointSlice)>;

/// The slices as a list shows them now.
async fn fresh(api: &Api<EndpointSliceWire>) -> Result<Fresh> {
    let list = api.list(&ListParams::default().labels(MADE_BY_TEST)).await?;
    let item = |wire: EndpointSliceWire| {
        let meta = wire.metadata.clone();
        let text = |field: Option<String>| field.unwrap_or_default();
        let name = ObjectName::new(text(meta.namespace), text(meta.name));
        let (uid, version) = (text(meta.uid).into(), text(meta.resource_version).into());
        let content = objects::EndpointSlice::project(wire).map_err(anyhow::Error::msg)?;
        Ok((name, (uid, version, content)))
    };
    list.items.into_iter().map(item).collect()
}

/// Waits until the view is what a fresh list of one namespace or of all shows: names, incarnations, versions, content.
pub(crate) async fn until_fresh(
    cluster: &Cluster,
    namespace: Option<&str>,
    view: impl Fn() -> View<objects::EndpointSlice>,
) {
    let client = cluster.client();
    let api = match namespace {
        Some(namespace) => Api::namespaced(client, namespace),
        None => Api::all(client),
    };
    wait_until("the view is what a fresh list shows", SOON, async || {
        let (fresh, view) = (fresh(&api).await?, view());
        let mut differences = String::new();
        for record in view.iter() {
            match fresh.get(&record.name) {
                None => writeln!(differences, "ghost: {record:?}")?,
                Some((uid, version, content)) => {
                    if *uid != record.uid || *version != record.version || *content != **record {
                        let is = (uid, version, content);
                        writeln!(differences, "{record:?} is {is:?}")?;
                    }
                }
            }
        }
        for name in fresh.keys().filter(|name| view.get(name).is_none()) {
            writeln!(differences, "missing: {name}")?;
        }
        if !differences.is_empty() {
            bail!("{differences}");
        }
        Ok(true)
    })
    .await
    .unwrap();
}

/// A user's slices in one namespace.
#[derive(Clone)]
pub(crate) struct Slices {
    pub(crate) namespace: String,
    pub(crate) api: Api<EndpointSlice>,
}

impl Slices {
    /// Makes the namespace.
    pub(crate) async fn in_new_namespace(cluster: &Cluster, namespace: &str) -> Self {
        join::namespace(&cluster.client(), namespace).await.unwrap();
        Self { namespace: namespace.to_owned(), api: Api::namespaced(cluster.client(), namespace) }
    }

    pub(crate) fn name(&self, number: usize) -> ObjectName {
        ObjectName::new(self.namespace.as_str(), name(number))
    }

    pub(crate) async fn create(&self, number: usize) -> kube::Result<EndpointSlice> {
        let slice = serde_json::from_value(json!({
            "metadata": { "name": name(number), "labels": { "made-by": "test" } },
            "addressType": "IPv4",
            "endpoints": endpoints(number),
            "ports": [{ "name": "http", "port": 80 }],
        }))
        .unwrap();
        self.api.create(&PostParams::default(), &slice).await
    }

    /// Gives a slice one address that depends on `value`.
    pub(crate) async fn change(&self, number: usize, value: usize) -> kube::Result<EndpointSlice> {
        let patch = Patch::Merge(json!({ "endpoints": endpoints(value) }));
        self.api.patch(&name(number), &PatchParams::default(), &patch).await
    }

    pub(crate) async fn delete(&self, number: usize) -> kube::Result<()> {
        self.api.delete(&name(number), &DeleteParams::default()).await.map(drop)
    }

    pub(crate) async fn create_all(&self, numbers: std::ops::Range<usize>) {
        self.each(numbers, async |number| self.create(number).await.map(drop)).await;
    }

    pub(crate) async fn delete_all(&self, numbers: std::ops::Range<usize>) {
        self.each(numbers, async |number| self.delete(number).await).await;
    }

    pub(crate) async fn recreate_all(&self, numbers: std::ops::Range<usize>) {
        self.delete_all(numbers.clone()).await;
        self.create_all(numbers).await;
    }

    async fn each(
        &self,
        numbers: std::ops::Range<usize>,
        act: impl AsyncFn(usize) -> kube::Result<()>,
    ) {
        let all =
            futures::stream::iter(numbers).map(|number| act(number)).buffer_unordered(IN_FLIGHT);
        all.try_collect::<Vec<()>>().await.unwrap();
    }
}

fn name(number: usize) -> String {
    format!("slice-{number:03}")
}

fn endpoints(value: usize) -> serde_json::Value {
    let [.., high, low] = value.to_be_bytes();
    json!([{ "addresses": [format!("10.200.{high}.{low}")] }])
}

/// Waits until a follower has received exactly so many objects added, updated, replaced and removed.
pub(crate) async fn until_counts<T: Tracked>(follower: &Follower<T>, wanted: [usize; 4]) {
    let what = format!("added, updated, replaced, removed = {wanted:?}");
    let found = wait_for(&what, SOON, async || {
        let counts = follower.counts();
        if counts == wanted {
            return Ok(Some(()));
        }
        bail!("they are {counts:?}")
    })
    .await;
    found.unwrap();
}

/// Prints how each behaviour went and how long it took. One that fails does not keep the others from being tried.
#[derive(Default)]
pub(crate) struct Report {
    lines: Mutex<Vec<String>>,
    failed: AtomicUsize,
}

impl Report {
    pub(crate) async fn run(&self, name: &str, behaviour: impl Future<Output = ()>) {
        let begin = Instant::now();
        // The panic itself was printed where it happened.
        let end = AssertUnwindSafe(behaviour).catch_unwind().await;
        self.failed.fetch_add(usize::from(end.is_err()), Ordering::Relaxed);
        let (seconds, end) = (begin.elapsed().as_secs_f64(), end.map_or("FAILED", |()| "ok"));
        self.lines.lock().push(format!("{seconds:6.1} s  {name} ... {end}"));
    }

    pub(crate) fn end(self) {
        eprintln!("{}", self.lines.into_inner().join("\n"));
        assert_eq!(self.failed.into_inner(), 0, "some behaviours failed, see above");
    }
}
