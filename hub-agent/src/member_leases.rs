//! Follows the Leases with which members show that they work.
//!
//! All processes of the hub agent do, also those that stand by: one that takes over knows which members renew. Nothing is
//! written. [`Liveness`] decides; this is the loop around it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fleet_accumulator::{Accumulator, Provided, SourceSet, provide};
use fleet_model::objects::offload::Hearing;
use fleet_runtime::clock::BootClock;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;
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
    /// Which members renew, for what plans.
    hearing: watch::Sender<Provided>,
}

impl MemberLeases {
    /// Nothing is known yet. A member is silent after `silent_after` without a renewal.
    pub fn new(silent_after: Duration) -> Self {
        let liveness = Arc::new(Mutex::new(Liveness::new(silent_after)));
        Self { liveness, clock: BootClock::system(), hearing: watch::Sender::default() }
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

    /// Which members renew, as objects of a source.
    pub fn hearing(&self) -> watch::Receiver<Provided> {
        self.hearing.subscribe()
    }

    /// Logs what has changed, and hands it to what plans.
    fn turn(&self, turns: &[Turn]) {
        log(turns);
        let heard = heard(self.liveness.lock().members(self.clock.now()));
        provide(&self.hearing, heard);
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
                    let is_gone = new.len() < old.len();
                    let turns = self.liveness.lock().follow(old, new, self.clock.now());
                    // A renewal alone changes nothing, and comes every few milliseconds.
                    if is_gone || !turns.is_empty() {
                        self.turn(&turns);
                    }
                    cursor.commit(step);
                }
                _ = looks.tick() => {
                    let turns = self.liveness.lock().look(self.clock.now());
                    self.turn(&turns);
                }
            }
        }
    }
}

/// What is known of members, by name. One that was not followed for long enough is not among them.
fn heard<'a>(
    members: impl Iterator<Item = (&'a str, Standing, Option<Duration>)>,
) -> BTreeMap<String, Value> {
    let known = members.filter(|(_, standing, _)| *standing != Standing::Unknown);
    let known = known.map(|(member, standing, _)| {
        (member.to_owned(), Hearing::document(standing == Standing::Silent))
    });
    known.collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_was_not_followed_for_long_enough_is_not_heard() {
        let members = [
            ("east", Standing::Renewing, Some(Duration::ZERO)),
            ("north", Standing::Unknown, None),
            ("west", Standing::Silent, None),
        ];
        let heard = heard(members.into_iter());
        let expected = [("east", false), ("west", true)]
            .map(|(name, silent)| (name.to_owned(), Hearing::document(silent)));
        assert_eq!(heard, expected.into());
    }
}
