//! Follows which hub this cluster is connected to, and hands on to the next process of the agent what it has to know of that.

use std::time::Duration;

use fleet_accumulator::{ClusterId, Reached};
use fleet_api::traffic::REACHED;
use fleet_runtime::agent::Connected;
use fleet_runtime::lease::Notes;
use tokio::time::MissedTickBehavior;

use crate::other_hub::{self, OtherHub};
use crate::snapshot::MemberSnapshot;
use crate::traffic_memory::TrafficMemory;
use crate::{Settings, missing_exporters};

/// Time between two looks.
const LOOK: Duration = Duration::from_secs(1);

/// What the Lease of this cluster's agents carries: what this process remembers, and how far the hub was.
pub(crate) fn notes(memory: &TrafficMemory, reached: &Reached) -> Notes {
    let (writes, reads) = (memory.clone(), memory.clone());
    let (seen, earlier) = (reached.clone(), reached.clone());
    let write = move || {
        let seen = seen.hand_on(ClusterId::Hub).map(|seen| (REACHED.to_owned(), seen));
        writes.hand_on().into_iter().chain(seen).collect()
    };
    Notes::new(write, move |noted| {
        earlier.take_over(ClusterId::Hub, noted.get(REACHED).map_or("", String::as_str));
        reads.take_over(noted);
    })
}

/// Looks each second which hub is to be followed.
pub(crate) fn start(
    agent: &mut Connected<MemberSnapshot>,
    settings: &Settings,
    memory: &TrafficMemory,
    reached: &Reached,
) {
    let (accumulator, settings) = (agent.accumulator().clone(), settings.clone());
    let (memory, reached) = (memory.clone(), reached.clone());
    agent.task("hub follower", |_, cancel| async move {
        let mut looks = tokio::time::interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while cancel.run_until_cancelled(looks.tick()).await.is_some() {
            if reached.asks_for_lists(ClusterId::Hub) {
                tracing::info!("The hub shows less than the last process has seen: listing again");
                accumulator.relist(ClusterId::Hub);
            }
            look(&settings, &accumulator.snapshot(), &memory);
        }
    });
}

/// Looks once which hub is to be followed.
pub(crate) fn look(settings: &Settings, snapshot: &MemberSnapshot, memory: &TrafficMemory) {
    let settle = settings.multicluster.settle;
    memory.follow(settle, |followed| other_hub::next(settings, snapshot, followed));
    memory.wait_for_exporters(settings.traffic.missing_after, |followed| {
        missing_exporters::look(settings, snapshot, followed)
    });
    memory.compare(|followed| OtherHub::of(settings, snapshot, followed).is_some());
}
