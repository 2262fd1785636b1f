//! What an object of the fleet costs the hub agent, from the first page of its list to the last plan. Memory is counted,
//! not measured, so that it is the same on every machine, and a test that it stays within its budget. So is what it takes
//! to distribute a large Service.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a bench fails by panicking")]

mod distribution;
mod fleet;
mod server;

use allocation_counter::{AllocationInfo, measure};
use fleet_accumulator::{
    Accumulator, AnyView, Config, Snapshot, SnapshotChange, SourceInfo, SourceSet, SourceSpec,
};
use fleet_model::hub_schema::HubSchema;
use fleet_plan::{Controller, affected_keys};
use hub_agent::service::ServiceController;
use hub_agent::snapshot::HubSnapshot;
use jiff::Timestamp;
use kube::Client;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use fleet::Fleet;
use server::Pages;

/// Bytes that an object may take.
const BUDGET: i64 = 850;
/// Bytes that may be in use beyond that while the lists are read: for a few pages, and for each object, with the keys that
/// it affects.
const READING: (i64, i64) = (4 << 20, 120);

fn main() {
    distribution::check();
    // The full size is that of the large fleet of `make soak-scale`.
    let services = if std::env::args().any(|argument| argument == "--bench") { 1000 } else { 25 };
    let page_size = Config::default().page_size;
    let pages = |services| Pages::of::<HubSnapshot>(&Fleet { services }, page_size);
    let (none, some) = (pages(0), pages(services));
    let controller = ServiceController::default();

    let cost = |sources| {
        let (nothing, _) = listed(&controller, &none, sources);
        let (used, count) = listed(&controller, &some, sources);
        Cost {
            count,
            bytes: used.bytes_current - nothing.bytes_current,
            allocations: used.count_current - nothing.count_current,
            reading: i64::try_from(used.bytes_max).unwrap() - used.bytes_current,
        }
    };
    let all = cost(controller.required());
    for source in HubSnapshot::sources().iter().filter(|it| controller.required().contains(it.id)) {
        cost([source.id].into()).print(source.kind.kind);
    }
    all.print("all together");
    assert!(all.each(all.bytes) <= BUDGET, "an object takes more than {BUDGET} bytes");
    let reading = READING.0 + READING.1 * i64::try_from(all.count).unwrap();
    assert!(all.reading <= reading, "reading takes {} bytes, more than {reading}", all.reading);
}

/// What a fleet costs beyond an empty one.
struct Cost {
    count: usize,
    bytes: i64,
    allocations: i64,
    reading: i64,
}

impl Cost {
    fn each(&self, all: i64) -> i64 {
        all / i64::try_from(self.count).unwrap().max(1)
    }

    fn print(&self, what: &str) {
        let [bytes, allocations] = [self.bytes, self.allocations].map(|all| self.each(all));
        let (count, reading) = (self.count, self.reading >> 10);
        eprintln!(
            "{what:>22}: {count:>6} objects, each {bytes:>4} bytes in {allocations:>2} allocations; {reading:>5} KiB to read them"
        );
    }
}

/// What is used by an agent that has listed everything, and planned it if it sees enough for that; and how much it sees.
fn listed(
    controller: &ServiceController,
    pages: &Pages,
    sources: SourceSet,
) -> (AllocationInfo, usize) {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let _context = runtime.enter();
    let client = pages.client();
    let mut agent = None;
    let used = measure(|| {
        let started = runtime.block_on(start(&client, sources));
        if sources == controller.required() {
            plan(controller, &started.1);
        }
        agent = Some(started);
    });
    let (_, step) = agent.unwrap();
    let views = HubSnapshot::sources().iter().filter_map(|source| step.new.view(source.id));
    (used, views.map(AnyView::len).sum())
}

async fn start(
    client: &Client,
    sources: SourceSet,
) -> (Accumulator<HubSnapshot>, SnapshotChange<HubSnapshot>) {
    let feeds = |_: &SourceInfo| SourceSpec::new(client.clone());
    let (token, tasks) = (CancellationToken::new(), TaskTracker::new());
    let accumulator = Accumulator::start(&Config::default(), sources, &feeds, &token, &tasks);
    let step = accumulator.cursor_over(sources, sources).next().await.unwrap();
    (accumulator, step)
}

/// The fleet is at rest: else the objects were not what the agents write.
fn plan(controller: &ServiceController, step: &SnapshotChange<HubSnapshot>) {
    let schema = HubSchema::view(Some(HubSchema::OURS));
    let snapshot = HubSnapshot { schema, ..HubSnapshot::clone(&step.new) };
    let keys = affected_keys(controller, &step.old, &snapshot);
    let now = Timestamp::from_second(1_767_225_600).unwrap();
    for key in keys {
        assert_eq!(controller.plan(&key, &snapshot, now).steps, [], "{key}");
    }
}
