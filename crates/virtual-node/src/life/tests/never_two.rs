//! One local Pod, one remote Pod: whatever happens in whatever order, and what it comes to in the end.
//!
//! The world here is the simplest that can go wrong: a Pod, its export, a remote Pod, a link, and users who delete things.

use proptest::prelude::*;

use super::*;
use crate::status::Link;

#[derive(Clone, Debug)]
enum Event {
    /// The origin decides and does it.
    Decide,
    /// The executor acts on the export.
    Execute,
    /// The user deletes the Pod.
    Delete,
    /// The user removes the Pod without waiting.
    Remove,
    /// The remote Pod is deleted in its own cluster.
    Lose,
    /// The hub loses the export.
    Forget,
    /// The link goes down or works again.
    Link(bool),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => Just(Event::Decide),
        6 => Just(Event::Execute),
        1 => Just(Event::Delete),
        1 => Just(Event::Remove),
        1 => Just(Event::Lose),
        1 => Just(Event::Forget),
        1 => any::<bool>().prop_map(Event::Link),
    ]
}

#[derive(Default)]
struct World {
    pod: Option<LocalPod>,
    export: Option<ExportState>,
    runs: bool,
    link_down: bool,
    /// How often a remote Pod was made.
    made: usize,
    /// Whether it was lost in its own cluster: the executor keeps that in mind, with a marker.
    lost: bool,
}

impl World {
    fn happen(&mut self, event: &Event) {
        match event {
            Event::Decide => self.decide(),
            Event::Execute if !self.link_down => self.execute(),
            Event::Delete => {
                let pod = self.pod.take();
                self.pod =
                    pod.map(|pod| if pod.deletion.is_some() { pod } else { deleted(pod, 30) });
            }
            Event::Remove => self.pod = None,
            Event::Lose if self.runs => (self.runs, self.lost) = (false, true),
            Event::Forget => self.export = None,
            Event::Link(down) => self.link_down = *down,
            _ => {}
        }
    }

    fn decide(&mut self) {
        let link = if self.link_down { Link::ExecutorUnreachable } else { Link::Alive };
        let node = NodeState { link, ..node() };
        let decision = decided(self.pod.as_ref(), self.export.as_ref(), &node, SETTLED);
        for action in decision.actions {
            self.act(action);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Export(spec) => {
                assert!(self.export.is_none());
                self.export = Some(ExportState { spec: *spec, ..ExportState::default() });
            }
            Action::Update(spec) => self.export.as_mut().unwrap().spec = *spec,
            Action::Stop { grace_seconds } => {
                let export = self.export.as_mut().unwrap();
                export.deleting = true;
                export.spec.stop_grace_seconds = Some(grace_seconds);
            }
            Action::Status(status) => {
                let pod = self.pod.as_mut().unwrap();
                assert!(!pod.phase.is_terminal(), "a final phase is final");
                assert!(
                    !(self.link_down && status.is_ready()),
                    "no traffic to where no answer comes from"
                );
                pod.phase = status.phase;
                if status.phase == PodPhase::Running {
                    pod.start_time = Some(ago(1));
                }
            }
            Action::Remove { uid } => {
                let pod = self.pod.take().unwrap();
                assert_eq!(pod.uid, uid);
                assert!(pod.deletion.is_some(), "only what a user deletes is removed");
            }
            Action::Notify(_) => {}
        }
    }

    /// One that was forgotten is stopped; one that is asked for runs once.
    fn execute(&mut self) {
        let Some(export) = &mut self.export else {
            self.runs = false;
            return;
        };
        if export.deleting {
            self.runs = false;
            if export.released && self.pod.is_none() {
                self.export = None;
            } else {
                export.released = true;
            }
            return;
        }
        export.accepted = true;
        if self.lost {
            let loss = Some(fleet_api::offload::RemoteLoss::Deleted);
            export.remote = Some(RemoteStatus { loss, ..running() });
        } else if !self.runs && export.spec.resumed {
            // It has run before, so another one would be a second one.
            let loss = Some(fleet_api::offload::RemoteLoss::Deleted);
            export.remote = Some(RemoteStatus { loss, ..running() });
        } else if !self.runs {
            (self.runs, self.made) = (true, self.made + 1);
            export.remote = Some(running());
        }
    }

    fn settle(&mut self) {
        self.link_down = false;
        for _ in 0..8 {
            self.decide();
            self.execute();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn remote_pods_are_the_local_ones_in_the_end(events in proptest::collection::vec(event(), 0..40)) {
        let mut world = World { pod: Some(pod()), ..World::default() };
        for event in &events {
            world.happen(event);
        }
        world.settle();
        match &world.pod {
            Some(pod) if pod.phase.is_terminal() => {
                prop_assert!(!world.runs, "what has failed does not run: {events:?}");
            }
            Some(pod) => {
                prop_assert!(pod.deletion.is_none(), "deleting always ends: {events:?}");
                prop_assert!(world.runs && world.export.is_some(), "{events:?}");
            }
            None => prop_assert!(!world.runs && world.export.is_none(), "nothing is left: {events:?}"),
        }
    }

    /// A second plan on the same observation is the same.
    #[test]
    fn a_decision_is_repeatable(events in proptest::collection::vec(event(), 0..20)) {
        let mut world = World { pod: Some(pod()), ..World::default() };
        for event in &events {
            world.happen(event);
        }
        let once = decided(world.pod.as_ref(), world.export.as_ref(), &node(), SETTLED);
        prop_assert_eq!(once, decided(world.pod.as_ref(), world.export.as_ref(), &node(), SETTLED));
    }
}
