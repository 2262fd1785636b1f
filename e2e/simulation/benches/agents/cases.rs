//! What is measured of each agent.

use std::cell::RefCell;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion};
use fleet_accumulator::{SourceId, SourceSet};
use fleet_api::{ResourceKind, kinds};
use fleet_model_server::ModelServer;
use fleet_plan::{Controller, affected_keys};
use hub_agent::service::ServiceController;
use hub_agent::snapshot::HubSnapshot;
use jiff::Timestamp;
use member_agent::snapshot::MemberSnapshot;
use serde_json::{Value, json};

use crate::agent::{Agent, Sent};
use crate::fleet::{Fleet, service};
use crate::lists::{Lists, Seen};

/// The hub agent, when an exporter changes a slice.
pub(crate) fn hub(criterion: &mut Criterion, fleet: &Fleet, size: usize) {
    let hub = &fleet.hub.model;
    let change = Change::of(HubSnapshot::slice_exports(), hub, kinds::ENDPOINT_SLICE_EXPORT);
    let controller = &fleet.hub_desk.controller;
    let sources = controller.reads();
    let lists = Seen { own: hub, hub, namespace: None }.lists::<HubSnapshot>(sources, size);
    let case = Case::<ServiceController> { name: "hub agent", controller, sources, size };
    case.list(criterion, &lists);
    case.change(criterion, lists, change);
}

/// The exporter's agent, when its cluster changes a slice.
pub(crate) fn exporter(criterion: &mut Criterion, fleet: &Fleet, size: usize) {
    let (own, agent) = (&fleet.members[0].model, &fleet.agents[0]);
    let change = Change::of(MemberSnapshot::endpoint_slices(), own, kinds::ENDPOINT_SLICE);
    let seen = Seen { own, hub: &fleet.hub.model, namespace: Some("fleet-member-a") };
    let (controller, sources) = (&agent.export.controller, agent.reads());
    let lists = seen.lists::<MemberSnapshot>(sources, size);
    Case { name: "exporter", controller, sources, size }.change(criterion, lists, change);
}

/// The importer's agent, when the hub distributes a changed slice.
pub(crate) fn importer(criterion: &mut Criterion, fleet: &Fleet, size: usize) {
    let (hub, agent) = (&fleet.hub.model, &fleet.agents[1]);
    let change = Change::of(MemberSnapshot::slice_imports(), hub, kinds::ENDPOINT_SLICE_IMPORT);
    let seen = Seen { own: &fleet.members[1].model, hub, namespace: Some("fleet-member-b") };
    let (controller, sources) = (&agent.import.controller, agent.reads());
    let lists = seen.lists::<MemberSnapshot>(sources, size);
    Case { name: "importer", controller, sources, size }.change(criterion, lists, change);
}

/// Events about one slice, each with another endpoint than the one before.
struct Change {
    source: SourceId,
    slice: Value,
    version: u64,
}

impl Change {
    fn of(source: SourceId, server: &ModelServer, kind: ResourceKind) -> Self {
        let mut names = server.names(kind).into_iter();
        let name = names.find(|name| name.name.contains(&*service(0).name)).unwrap();
        // Later than all that is there.
        Self { source, slice: server.get(kind, &name).unwrap().clone(), version: 1_000_000 }
    }

    fn next(&mut self) -> Sent {
        self.version += 1;
        let slice = &mut self.slice;
        slice["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let at = if slice["spec"].is_null() { "/endpoints/5" } else { "/spec/endpoints/5" };
        let address = format!("10.9.0.{}", self.version % 250);
        slice.pointer_mut(at).unwrap()["addresses"] = json!([address]);
        Sent::Event(format!(r#"{{"type":"MODIFIED","object":{slice}}}"#))
    }
}

/// One controller of an agent that watches so many objects.
struct Case<'a, R> {
    name: &'static str,
    controller: &'a R,
    sources: SourceSet,
    size: usize,
}

impl<R: Controller> Case<'_, R> {
    fn id(&self, what: &str) -> String {
        format!("{what}/{}", self.size)
    }

    /// Decodes whole lists into a snapshot.
    fn list(&self, criterion: &mut Criterion, lists: &Lists) {
        let id = self.id("list");
        let listed = |lists: Lists| self.listed(lists);
        tell(self.name, &id, || drop(listed(lists.clone())));
        let mut group = criterion.benchmark_group(self.name);
        group.sample_size(10).bench_function(id, |bencher| {
            bencher.iter_batched(|| lists.clone(), listed, BatchSize::PerIteration);
        });
    }

    fn listed(&self, lists: Lists) -> (Agent<R::Snapshot>, Arc<R::Snapshot>) {
        let mut agent = Agent::new(self.sources);
        for (source, texts) in lists {
            agent.send(source, Sent::List(texts));
        }
        let step = agent.turn().expect("it has listed");
        let listed = Arc::clone(&step.new);
        agent.commit(step);
        (agent, listed)
    }

    /// One event, the keys that it marks, and the plan for them.
    fn change(&self, criterion: &mut Criterion, lists: Lists, mut change: Change) {
        let (mut agent, before) = self.listed(lists);
        agent.send(change.source, change.next());
        let step = agent.turn().expect("an endpoint has changed");
        let after = Arc::clone(&step.new);
        agent.commit(step);
        let keys = self.affected_keys(&before, &after);
        let [key] = &keys[..] else { panic!("one key is marked, not {keys:?}") };
        let now = Timestamp::from_second(1_767_225_600).unwrap();
        let plan = |snapshot: &R::Snapshot| self.controller.plan(key, snapshot, now);
        assert_eq!(plan(&before).steps, [], "nothing was missing before");
        assert_eq!(plan(&after).steps.len(), 1, "one write is missing after the change");

        let agent = RefCell::new((agent, change));
        let send = || {
            let (agent, change) = &mut *agent.borrow_mut();
            agent.send(change.source, change.next());
        };
        let event = || {
            let (agent, _) = &mut *agent.borrow_mut();
            let step = agent.turn().expect("an endpoint has changed");
            agent.commit(step);
        };
        send();
        let id = |what: &str| self.id(what);
        tell(self.name, &id("event to snapshot"), event);
        tell(self.name, &id("difference to keys"), || drop(self.affected_keys(&before, &after)));
        tell(self.name, &id("plan, nothing to do"), || drop(black_box(plan(&before))));
        tell(self.name, &id("plan, one endpoint"), || drop(black_box(plan(&after))));

        let mut group = criterion.benchmark_group(self.name);
        group.bench_function(id("event to snapshot"), |bencher| {
            bencher.iter_batched(send, |()| event(), BatchSize::PerIteration);
        });
        group.bench_function(id("difference to keys"), |bencher| {
            bencher.iter(|| self.affected_keys(&before, &after));
        });
        group.bench_function(id("plan, nothing to do"), |bencher| bencher.iter(|| plan(&before)));
        group.bench_function(id("plan, one endpoint"), |bencher| bencher.iter(|| plan(&after)));
    }

    fn affected_keys(&self, old: &R::Snapshot, new: &R::Snapshot) -> Vec<R::Key> {
        affected_keys(self.controller, old, new).into_iter().collect()
    }
}

/// Prints what an operation allocates.
fn tell(agent: &str, id: &str, operation: impl FnOnce()) {
    let used = allocation_counter::measure(operation);
    let (count, bytes) = (used.count_total, used.bytes_total);
    eprintln!("{agent}/{id}: {count} allocations, {bytes} bytes");
}
