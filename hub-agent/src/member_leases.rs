//! Follows the Leases with which members show that they work.
//!
//! All processes of the hub agent do, also those that stand by: one that takes over knows which members renew. Nothing is
//! written. [`Liveness`] decides; this is the loop around it.

use std::sync::Arc;
use std::time::Duration;

use fleet_accumulator::{Accumulator, SourceSet};
use fleet_runtime::clock::BootClock;
use parking_lot::Mutex;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::liveness::{Liveness, Standing, Turn};
use crate::snapshot::HubSnapshot;

/// Time between two looks at what is late.
const LOOK: Duration = Duration::from_secs(1);

/// What is known of the Leases. Clones share it.
#[derive(Clone, Debug)]
pub struct MemberLeases {
    liveness: Arc<Mutex<Liveness>>,
    clock: BootClock,
}

impl MemberLeases {
    /// Nothing is known yet. A member is silent after `silent_after` without a renewal.
    pub fn new(silent_after: Duration) -> Self {
        let liveness = Arc::new(Mutex::new(Liveness::new(silent_after)));
        Self { liveness, clock: BootClock::system() }
    }

    /// What is watched for it.
    pub fn sources() -> SourceSet {
        SourceSet::from([HubSnapshot::member_leases()])
    }

    /// The members with a Lease: name, standing, and the time since the last renewal that was seen.
    pub fn members(&self) -> Vec<(String, Standing, Option<Duration>)> {
        let (now, liveness) = (self.clock.now(), self.liveness.lock());
        let members = liveness.members(now);
        members.map(|(member, standing, age)| (member.to_owned(), standing, age)).collect()
    }

    /// Follows them until `cancel`.
    pub async fn run(self, accumulator: Accumulator<HubSnapshot>, cancel: CancellationToken) {
        let mut cursor = accumulator.cursor_over(SourceSet::EMPTY, Self::sources());
        // Not a pause that each renewal would begin anew: with many members no second is without one.
        let mut looks = tokio::time::interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = cancel.cancelled() => return,
                step = cursor.next() => {
                    let Some(step) = step else { return };
                    let (old, new) = (&step.old.member_leases, &step.new.member_leases);
                    log(&self.liveness.lock().follow(old, new, self.clock.now()));
                    cursor.commit(step);
                }
                _ = looks.tick() => log(&self.liveness.lock().look(self.clock.now())),
            }
        }
    }
}

fn log(turns: &[Turn]) {
    for Turn { member, silent } in turns {
        if *silent {
            tracing::warn!(member = &**member, "Member does not renew its Lease");
        } else {
            tracing::info!(member = &**member, "Member renews its Lease");
        }
    }
}
