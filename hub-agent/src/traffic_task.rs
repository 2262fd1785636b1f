//! Decides about traffic once a second, and hands the decisions to the controller that writes them. [`Decider`] decides; this is
//! the loop around it.
//!
//! All processes of the hub agent follow the Leases, also those that stand by; the one that leads decides.

use std::collections::BTreeMap;
use std::time::Duration;

use fleet_accumulator::{Accumulator, Provided, provide};
use fleet_api::traffic::FLEET_TRAFFIC;
use fleet_model::steps::to_json;
use fleet_runtime::clock::BootClock;
use fleet_runtime::writer::WriteGate;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::Settings;
use crate::snapshot::HubSnapshot;
use crate::traffic_decider::{Decider, Decisions};

/// Time between two decisions.
const LOOK: Duration = Duration::from_secs(1);

/// The decisions of this process.
#[derive(Debug, Default)]
pub struct TrafficTask {
    settings: Settings,
    members: watch::Sender<Provided>,
    fleet: watch::Sender<Provided>,
}

impl TrafficTask {
    /// Nothing is decided yet.
    pub fn new(settings: &Settings) -> Self {
        Self { settings: settings.clone(), ..Self::default() }
    }

    /// What is decided about members, as objects of a source.
    pub fn members(&self) -> watch::Receiver<Provided> {
        self.members.subscribe()
    }

    /// What is decided about the fleet, likewise.
    pub fn fleet(&self) -> watch::Receiver<Provided> {
        self.fleet.subscribe()
    }

    /// Decides until `cancel`, while `gate` is open.
    pub async fn run(
        self,
        accumulator: Accumulator<HubSnapshot>,
        gate: WriteGate,
        cancel: CancellationToken,
    ) {
        let (mut decider, clock) = (Decider::new(&self.settings), BootClock::system());
        let mut looks = tokio::time::interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut last = None;
        while cancel.run_until_cancelled(looks.tick()).await.is_some() {
            let leads = gate.check().is_ok();
            let decisions = decider.look(&accumulator.snapshot(), leads, clock.now());
            if last.as_ref() != Some(&decisions) {
                self.hand_over(decisions.as_ref());
                last = Some(decisions);
            }
        }
    }

    /// Hands decisions to the controller; none, where nothing is decided.
    fn hand_over(&self, decisions: Option<&Decisions>) {
        let (mut members, mut fleet) = (BTreeMap::new(), BTreeMap::new());
        if let Some(decisions) = decisions {
            fleet.insert(FLEET_TRAFFIC.to_owned(), to_json(&decisions.fleet));
            let documents = decisions.members.iter();
            members.extend(documents.map(|(name, one)| (name.to_string(), to_json(one))));
        }
        for (sender, new) in [(&self.members, members), (&self.fleet, fleet)] {
            provide(sender, new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_decisions_are_handed_over() {
        let task = TrafficTask::new(&Settings::default());
        let (mut members, fleet) = (task.members(), task.fleet());
        members.mark_unchanged();
        let mut decisions = Decisions::default();
        decisions
            .members
            .insert("east".into(), fleet_model::objects::traffic::MemberDecision::default());
        task.hand_over(Some(&decisions));
        assert!(members.has_changed().unwrap());
        members.mark_unchanged();
        task.hand_over(Some(&decisions));
        assert!(!members.has_changed().unwrap());
        assert_eq!((members.borrow().len(), fleet.borrow().len()), (1, 1));
        task.hand_over(None);
        assert!(members.borrow().is_empty() && fleet.borrow().is_empty());
    }
}
