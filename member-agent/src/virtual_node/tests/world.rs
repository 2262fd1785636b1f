//! Two members and a hub.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fleet_accumulator::{ClusterId, Object, Selection, SourceState, Tracked, View};
use fleet_api::labels::{OFFLOAD_ORIGIN, VIRTUAL_NODE};
use fleet_api::offload::{
    CONSENT, PodExport, PodExportSpec, PodExportStatus, PodImport, PodImportSpec, PodImportStatus,
};
use fleet_api::{ObjectName, kinds};
use fleet_model_server::{ModelServer, plans_computed_twice};
use fleet_plan::{Action, Controller, Plan, Step};
use fleet_runtime::clock::BootClock;
use fleet_virtual_node::names;
use serde_json::{Value, json};

use crate::links::{Links, Watched};
use crate::measurement::Measurement;
use crate::refusals::Refusals;
use crate::selections::Selections;
use crate::settings::{Settings, VirtualNodes};
use crate::snapshot::MemberSnapshot;
use crate::status_writes::StatusWrites;
use crate::virtual_node::executor::{self, CutOffController, ExecutorController, RemotePod};
use crate::virtual_node::origin::{self, OriginController};
use crate::virtual_node::tests::hub::{HubAgent, answer, join};
use crate::virtual_node::tests::queue::Queue;

pub(super) const EAST: &str = "east";
pub(super) const WEST: &str = "west";
const RANGE: &str = "10.2.0.0/16";

/// One member: its cluster, and what its agent remembers.
pub(super) struct Member {
    pub(super) own: ModelServer,
    settings: Settings,
    pub(super) links: Arc<Links>,
    writes: Arc<StatusWrites>,
    refusals: Arc<Refusals>,
    /// Whether it does not reach the hub.
    pub(super) cut: bool,
    /// Whether its watches list again from time to time.
    pub(super) lists: bool,
    /// When they have listed last.
    listed: Instant,
    /// What its API server answers to a new Pod of others, if it takes none.
    pub(super) refuses: Option<String>,
    /// What was not read, of what its Pods refer to.
    pub(super) unread: Option<Selection>,
    /// What it saw of the hub last.
    seen: ModelServer,
    clock: BootClock,
    begun: Instant,
    origin: Queue<origin::Key>,
    executor: Queue<executor::Key>,
    cut_off: Queue<RemotePod>,
}

/// Two members and a hub.
pub(super) struct World {
    pub(super) hub: ModelServer,
    pub(super) hub_agent: HubAgent,
    pub(super) east: Member,
    pub(super) west: Member,
    pub(super) clock: BootClock,
    /// How many new Pods the cluster of west has refused.
    pub(super) refused: usize,
    /// Writes after which the process that sends the next one ends; `None` for none.
    pub(super) crash_after: Option<usize>,
    pub(super) writes: BTreeMap<&'static str, usize>,
    pub(super) events: Vec<(String, &'static str)>,
    /// Whether keys are planned only if a change concerns them, or if they have asked for it; otherwise all are, each time.
    pub(super) is_lazy: bool,
    /// Whether a write of the last plan has failed.
    failed: bool,
    pub(super) made: usize,
}

impl Member {
    fn new(name: &str, clock: &BootClock, hub: &ModelServer, virtual_nodes: VirtualNodes) -> Self {
        let mut own = ModelServer::new(ClusterId::Local);
        for namespace in ["kube-system", "fleet-system", "shop"] {
            own.create(kinds::NAMESPACE, &ObjectName::cluster(namespace), json!({})).unwrap();
        }
        Self {
            own,
            settings: Settings { virtual_nodes, ..Settings::new(name) },
            links: Arc::new(Links::new(clock.clone())),
            writes: Arc::new(StatusWrites::new(clock.clone())),
            refusals: Arc::new(Refusals::new(clock.clone())),
            cut: false,
            lists: true,
            listed: Instant::now(),
            refuses: None,
            unread: None,
            seen: hub.clone(),
            clock: clock.clone(),
            begun: Instant::now(),
            origin: Queue::default(),
            executor: Queue::default(),
            cut_off: Queue::default(),
        }
    }

    pub(super) fn consent(&mut self, data: Value) {
        let name = ObjectName::new("fleet-system", CONSENT);
        if self.own.get(kinds::CONFIG_MAP, &name).is_some() {
            self.own.edit(kinds::CONFIG_MAP, &name, |object| object["data"] = data).unwrap();
        } else {
            self.own.create(kinds::CONFIG_MAP, &name, json!({ "data": data })).unwrap();
        }
    }

    /// What its agent sees, by the selectors of its watches.
    pub(super) fn snapshot(&self) -> MemberSnapshot {
        let mut seen = crate::tests::snapshot(&self.settings.identity, &self.own, &self.seen);
        let on_virtual_node = |pod: &Value| {
            pod["spec"]["nodeName"].as_str().is_some_and(|node| node.starts_with("fleet-"))
        };
        let label = |object: &Value, key: &str| !object["metadata"]["labels"][key].is_null();
        let nodes = [Selection::of_node(&names::node(WEST)).marker()];
        seen.virtual_pods = view(&self.own, on_virtual_node, nodes);
        seen.remote_pods = view(&self.own, |pod| label(pod, OFFLOAD_ORIGIN), []);
        seen.virtual_node_objects = view(&self.own, |node| label(node, VIRTUAL_NODE), []);
        seen.offload_consent = view(&self.own, |map| map["metadata"]["name"] == CONSENT, []);
        let watched = Selections::of(&self.settings.identity, &seen).config_maps;
        let is_read = |it: &&Selection| self.unread.as_ref() != Some(it);
        let marks: Vec<_> = watched.iter().filter(is_read).map(Selection::marker).collect();
        seen.offload_config_maps = view(&self.own, |_| true, marks);
        if self.cut {
            lose_sight(&mut seen.pod_exports);
            lose_sight(&mut seen.pod_imports);
            lose_sight(&mut seen.virtual_nodes);
            lose_sight(&mut seen.offload_offers);
        }
        seen
    }

    /// What its agent sees now.
    fn follow(&mut self, hub: &ModelServer) -> MemberSnapshot {
        let now = self.own.now();
        self.own.advance(hub.now().duration_since(now).as_secs());
        if !self.cut {
            self.seen = hub.clone();
        }
        let snapshot = self.snapshot();
        let silent = crate::virtual_node_tasks::silent(&snapshot);
        // Lists follow each other, as they do every half hour.
        if self.lists {
            self.listed = self.begun + self.clock.now();
        }
        let listed = Some(self.listed);
        let identity = &self.settings.identity;
        let views = crate::views::complete(identity, &snapshot).into_iter();
        let views = views.map(|view| Watched { listed, ..view });
        self.links.follow(silent, crate::views::hub(identity, &snapshot), views);
        snapshot
    }

    /// Another process takes over.
    pub(super) fn restart(&mut self, clock: &BootClock) {
        self.links = Arc::new(Links::new(clock.clone()));
        self.writes = Arc::new(StatusWrites::new(clock.clone()));
        self.refusals = Arc::new(Refusals::new(clock.clone()));
        (self.origin, self.executor) = (Queue::default(), Queue::default());
        self.cut_off = Queue::default();
    }

    pub(super) fn pod(&self, name: &str) -> Option<&Value> {
        self.own.get(kinds::POD, &ObjectName::new("shop", name))
    }
}

/// A view whose watch has ended: it shows what was seen last.
fn lose_sight<T: Tracked>(view: &mut View<T>) {
    *view = std::mem::take(view).in_state(SourceState::Resyncing);
}

/// The objects of a kind that a selector takes, and marks of selections that were read.
fn view<T: Tracked>(
    server: &ModelServer,
    selects: impl Fn(&Value) -> bool,
    marks: impl IntoIterator<Item = ObjectName>,
) -> View<T> {
    let read = |object: Value| Object::read(serde_json::from_value(object).unwrap()).unwrap();
    let found = server.objects(T::KIND).filter(|(_, object)| selects(object));
    let found = found.map(|(name, object)| Object { name: name.clone(), ..read(object.clone()) });
    let marks = marks.into_iter().map(|name| Object {
        name: name.clone(),
        ..read(json!({ "metadata": { "name": name.name, "uid": "", "resourceVersion": "1" } }))
    });
    View::of(found.chain(marks).collect::<Vec<_>>())
}

impl World {
    /// Both have agreed, and the virtual node is there.
    pub(super) fn new() -> Self {
        let clock = BootClock::by_hand();
        let mut hub = ModelServer::new(ClusterId::Hub);
        join(&mut hub, EAST, "10.1.0.0/16");
        join(&mut hub, WEST, RANGE);
        answer(&mut hub, [EAST, WEST], "hub/0");
        let origin = VirtualNodes { origin: true, ..VirtualNodes::default() };
        let clients = "10.0.0.0/8".parse().unwrap();
        let executor = VirtualNodes { executor: true, clients, ..VirtualNodes::default() };
        let mut world = Self {
            east: Member::new(EAST, &clock, &hub, origin),
            west: Member::new(WEST, &clock, &hub, executor),
            hub,
            hub_agent: HubAgent::default(),
            clock,
            refused: 0,
            crash_after: None,
            writes: BTreeMap::new(),
            events: Vec::new(),
            is_lazy: false,
            failed: false,
            made: 0,
        };
        world.east.consent(json!({ "accept.west": "" }));
        world.offer(&json!({}));
        world.settle();
        world
    }

    /// West offers this, beside what a test needs.
    pub(super) fn offer(&mut self, more: &Value) {
        let mut offer = json!({
            "originSelector": { "clusters": [EAST] },
            "capacity": { "cpu": "8", "memory": "16Gi", "pods": 20 },
            "terms": { "namespaces": ["shop"], "policyProfile": "Baseline" },
        });
        for (name, value) in more.as_object().into_iter().flatten() {
            if !value.is_object() {
                offer[name.as_str()] = value.clone();
            }
            for (key, value) in value.as_object().into_iter().flatten() {
                offer[name.as_str()][key.as_str()] = value.clone();
            }
        }
        self.west.consent(json!({ "offer": offer.to_string() }));
    }

    /// A Pod that the scheduler of east has bound to the virtual node.
    pub(super) fn create_pod(&mut self, name: &str, more: &Value) {
        self.create_pod_in("shop", name, more);
    }

    pub(super) fn create_pod_in(&mut self, namespace: &str, name: &str, more: &Value) {
        let mut spec = json!({
            "nodeName": "fleet-west",
            "containers": [{ "name": "web", "image": "web:1" }],
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            spec[key.as_str()] = value.clone();
        }
        let name = ObjectName::new(namespace, name);
        self.east.own.create(kinds::POD, &name, json!({ "spec": spec })).unwrap();
    }

    pub(super) fn pass(&mut self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
        self.hub.advance(i64::try_from(seconds).unwrap());
        for member in [&mut self.east, &mut self.west] {
            if !member.cut {
                member.links.answered(self.clock.now());
            }
        }
        self.kubelet();
    }

    /// So much time passes, a second at a time.
    pub(super) fn live(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.round();
            self.pass(1);
        }
    }

    /// Everything happens until nothing changes any more.
    pub(super) fn settle(&mut self) {
        let mut quiet = 0;
        for _ in 0..90 {
            let before = self.versions();
            self.round();
            self.pass(1);
            quiet = if self.versions() == before { quiet + 1 } else { 0 };
            if quiet == 2 {
                return;
            }
        }
        panic!("it does not come to rest");
    }

    fn versions(&self) -> [u64; 3] {
        [self.hub.version(), self.east.own.version(), self.west.own.version()]
    }

    /// Each key of each controller is planned once, if there is a reason for it.
    pub(super) fn round(&mut self) {
        self.origin();
        self.hub_agent();
        self.executor();
        self.hub_agent();
        self.garbage();
    }

    pub(super) fn origin(&mut self) {
        let snapshot = self.east.follow(&self.hub);
        let controller = OriginController {
            settings: self.east.settings.clone(),
            links: Arc::clone(&self.east.links),
            writes: Arc::clone(&self.east.writes),
        };
        let now = self.clock.now();
        if !self.is_lazy {
            self.east.origin = Queue::default();
        }
        for key in self.east.origin.keys(&controller, &snapshot, now) {
            let plan = controller.plan(&key, &snapshot, self.east.own.now());
            let wake = plan.wake_after;
            let pod = match &key {
                origin::Key::Pod(uid) => Some(uid.to_string()),
                origin::Key::Node(_) => None,
            };
            if !self.execute(plan, pod.as_deref(), true) {
                return;
            }
            self.east.origin.planned(key, wake, self.failed, now);
        }
    }

    pub(super) fn executor(&mut self) {
        let snapshot = self.west.follow(&self.hub);
        let controller = ExecutorController {
            settings: self.west.settings.clone(),
            links: Arc::clone(&self.west.links),
            writes: Arc::clone(&self.west.writes),
            refusals: Arc::clone(&self.west.refusals),
        };
        let now = self.clock.now();
        if !self.is_lazy {
            self.west.executor = Queue::default();
        }
        for key in self.west.executor.keys(&controller, &snapshot, now) {
            let plan = controller.plan(&key, &snapshot, self.west.own.now());
            let wake = plan.wake_after;
            let pod = match &key {
                executor::Key::Pod(source) => Some(names::import(&source.namespace, &source.name)),
                executor::Key::Offer | executor::Key::Namespace(_) => None,
            };
            if !self.execute(plan, pod.as_deref(), false) {
                return;
            }
            self.west.executor.planned(key, wake, self.failed, now);
        }
        self.cut_off();
    }

    /// What the executor does while it has listed nothing of the hub.
    pub(super) fn cut_off(&mut self) {
        let snapshot = self.west.follow(&self.hub);
        let controller = CutOffController { links: Arc::clone(&self.west.links) };
        let now = self.clock.now();
        if !self.is_lazy {
            self.west.cut_off = Queue::default();
        }
        for key in self.west.cut_off.keys(&controller, &snapshot, now) {
            let plan = controller.plan(&key, &snapshot, self.west.own.now());
            let wake = plan.wake_after;
            if !self.execute(plan, None, false) {
                return;
            }
            self.west.cut_off.planned(key, wake, self.failed, now);
        }
    }

    /// Whether the executor would report that it has left.
    pub(super) fn reports_that_it_left(&self) -> bool {
        let snapshot = self.west.snapshot();
        let plan = crate::membership::plan(&self.west.settings, &snapshot, self.west.own.now());
        plan.steps.iter().any(|step| step.kind == kinds::INTERNAL_MEMBER_CLUSTER)
    }

    /// What a change of the hub affects in the executor.
    pub(super) fn affected_in_the_executor(
        &mut self,
        change: impl FnOnce(&mut ModelServer),
    ) -> std::collections::BTreeSet<executor::Key> {
        let executor = ExecutorController {
            settings: self.west.settings.clone(),
            links: Arc::clone(&self.west.links),
            writes: Arc::clone(&self.west.writes),
            refusals: Arc::clone(&self.west.refusals),
        };
        let before = self.west.follow(&self.hub);
        change(&mut self.hub);
        fleet_plan::affected_keys(&executor, &before, &self.west.follow(&self.hub))
    }

    /// How many keys both controllers have, each of which gives the same plan twice.
    pub(super) fn planned_twice(&mut self) -> [usize; 2] {
        let origin = OriginController {
            settings: self.east.settings.clone(),
            links: Arc::clone(&self.east.links),
            writes: Arc::clone(&self.east.writes),
        };
        let executor = ExecutorController {
            settings: self.west.settings.clone(),
            links: Arc::clone(&self.west.links),
            writes: Arc::clone(&self.west.writes),
            refusals: Arc::clone(&self.west.refusals),
        };
        let cut_off = CutOffController { links: Arc::clone(&self.west.links) };
        let now = self.hub.now();
        plans_computed_twice(&cut_off, &self.west.follow(&self.hub), now);
        [
            plans_computed_twice(&origin, &self.east.follow(&self.hub), now).len(),
            plans_computed_twice(&executor, &self.west.follow(&self.hub), now).len(),
        ]
    }

    /// When the origin plans again by what it remembers, or by nothing if its process has just started. The snapshot is changed first.
    pub(super) fn wakes(
        &self,
        has_just_started: bool,
        change: impl FnOnce(&mut MemberSnapshot),
    ) -> Vec<Option<Duration>> {
        let new = || Arc::new(Links::new(self.clock.clone()));
        let links = if has_just_started { new() } else { Arc::clone(&self.east.links) };
        let mut seen = self.east.snapshot();
        change(&mut seen);
        self.wakes_of(links, &seen)
    }

    /// When a process of the origin that sees something else plans again.
    pub(super) fn wakes_with(
        &self,
        differs: impl FnOnce(&mut MemberSnapshot),
    ) -> Vec<Option<Duration>> {
        let (links, mut seen) = (Links::new(self.clock.clone()), self.east.snapshot());
        differs(&mut seen);
        let identity = &self.east.settings.identity;
        let views = crate::views::complete(identity, &seen);
        links.follow([], crate::views::hub(identity, &seen), views);
        self.wakes_of(Arc::new(links), &seen)
    }

    fn wakes_of(&self, links: Arc<Links>, seen: &MemberSnapshot) -> Vec<Option<Duration>> {
        let origin = OriginController {
            settings: self.east.settings.clone(),
            links,
            writes: Arc::new(StatusWrites::new(self.clock.clone())),
        };
        let plans = plans_computed_twice(&origin, seen, self.hub.now());
        plans.into_iter().map(|plan| plan.wake_after).collect()
    }

    /// Sends a plan, as the writer does. False if the process has ended.
    fn execute(&mut self, plan: Plan<Measurement>, pod: Option<&str>, is_east: bool) -> bool {
        let notes = plan.events.iter().map(|event| (event.name.name.to_string(), event.reason));
        self.events.extend(notes);
        let settled = Measurement::RemotePodSettled;
        if let Some(pod) = pod.filter(|_| plan.measurements.iter().any(|it| it.what == settled)) {
            self.west.refusals.forget(pod);
        }
        let steps = plan.steps.into_iter().chain(plan.debounced.into_iter().map(|one| one.step));
        let steps: Vec<Step> = steps.collect();
        let mut done = vec![false; steps.len()];
        self.failed = false;
        for (at, step) in steps.iter().enumerate() {
            if !step.after.iter().all(|id| done[id.index()]) {
                self.failed = true;
                continue;
            }
            let clock = self.clock.clone();
            if let Some(left) = &mut self.crash_after {
                if *left == 0 {
                    self.crash_after = None;
                    let member = if is_east { &mut self.east } else { &mut self.west };
                    member.restart(&clock);
                    return false;
                }
                *left -= usize::from(!matches!(step.action, Action::ConfirmAbsent));
            }
            let member = if is_east { &mut self.east } else { &mut self.west };
            if step.cluster == ClusterId::Hub && member.cut {
                self.failed = true;
                continue;
            }
            let is_hub = step.cluster == ClusterId::Hub;
            let is_new_pod = step.kind == kinds::POD && matches!(step.action, Action::Create(_));
            if let Some(words) = member.refuses.as_ref().filter(|_| is_new_pod) {
                let pod = pod.expect("only a Pod makes Pods");
                member.refusals.refuse(pod, words);
                self.refused += 1;
                self.failed = true;
                continue;
            }
            let server = if is_hub { &mut self.hub } else { &mut member.own };
            let before = server.version();
            done[at] = server.execute(step).is_ok();
            self.failed |= !done[at];
            if server.version() != before {
                *self.writes.entry(step.kind.kind).or_default() += 1;
                let status = matches!(
                    step.action,
                    Action::Apply { status: true, .. } | Action::Patch { status: true, .. }
                );
                if let Some(pod) = pod.filter(|_| status) {
                    member.writes.write(pod);
                }
            }
        }
        true
    }

    /// Pods that run for east, by name.
    pub(super) fn remote(&self) -> Vec<&Value> {
        let pods = self.west.own.objects(kinds::POD);
        pods.map(|(_, pod)| pod)
            .filter(|pod| !pod["metadata"]["labels"][OFFLOAD_ORIGIN].is_null())
            .collect()
    }

    /// Specs and statuses on the hub.
    pub(super) fn exports(&self) -> Vec<(PodExportSpec, PodExportStatus)> {
        let exports = self.hub.objects(kinds::POD_EXPORT).map(|(_, export)| export.clone());
        let read = |export: PodExport| (export.spec, export.status.unwrap_or_default());
        exports.map(|export| read(serde_json::from_value(export).unwrap())).collect()
    }

    pub(super) fn imports(&self) -> Vec<(PodImportSpec, PodImportStatus)> {
        let imports = self.hub.objects(kinds::POD_IMPORT).map(|(_, import)| import.clone());
        let read = |import: PodImport| (import.spec, import.status.unwrap_or_default());
        imports.map(|import| read(serde_json::from_value(import).unwrap())).collect()
    }

    pub(super) fn node(&self) -> Option<&Value> {
        self.east.own.get(kinds::NODE, &ObjectName::cluster("fleet-west"))
    }

    /// A condition of an object: status and reason.
    pub(super) fn condition<'a>(object: &'a Value, type_: &str) -> (&'a str, &'a str) {
        let conditions = object["status"]["conditions"].as_array();
        let found = conditions.into_iter().flatten().find(|one| one["type"] == type_);
        let text = |field: &str| found.and_then(|one| one[field].as_str()).unwrap_or_default();
        (text("status"), text("reason"))
    }

    pub(super) fn reports(&self, reason: &str) -> bool {
        self.events.iter().any(|(_, found)| *found == reason)
    }
}
