//! What happens to a hub, in any order: no endpoint goes that an exporter has not withdrawn.

use fleet_api::kinds;
use fleet_model_server::ModelServer;
use proptest::prelude::*;
use serde_json::json;

use super::{Importer, on_hub};

/// One event.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The store of the hub is lost.
    Lost,
    /// A copy of the store is made.
    Saved,
    /// The last copy is restored: the hub agent has yet to answer that it was.
    Restored,
    /// The hub agent answers which hub it is.
    Answered,
    /// The agent of this exporter works again, and the hub agent distributes what it exports.
    Back(usize),
    /// It reports that the hub has all of it.
    Published(usize),
    /// This cluster's agent starts anew.
    Restarted,
    /// A second hub answers in turns, or no longer.
    Two(bool),
}

const EXPORTERS: [&str; 2] = ["a", "c"];

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        1 => Just(Event::Lost),
        1 => Just(Event::Saved),
        1 => Just(Event::Restored),
        3 => Just(Event::Answered),
        3 => (0..2_usize).prop_map(Event::Back),
        3 => (0..2_usize).prop_map(Event::Published),
        1 => Just(Event::Restarted),
        1 => any::<bool>().prop_map(Event::Two),
    ]
}

/// The importer, and what the world around it knows.
struct Story {
    importer: Importer,
    /// Which hub it is, and since which restart of its history.
    hub: (u32, u32),
    hubs: u32,
    epochs: u32,
    saved: Option<(ModelServer, u32, [bool; 2])>,
    /// Exporters that have come back to the present hub.
    back: [bool; 2],
}

impl Story {
    fn new() -> Self {
        let importer = Importer::new();
        Self { importer, hub: (0, 0), hubs: 0, epochs: 0, saved: None, back: [true; 2] }
    }

    fn incarnation(&self) -> String {
        match self.hub {
            (0, 0) => "first/0".to_owned(),
            (hub, epoch) => format!("hub-{hub}/{epoch}"),
        }
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Lost => {
                self.importer.lose_hub();
                self.hubs += 1;
                (self.hub, self.back) = ((self.hubs, 0), [false; 2]);
            }
            Event::Saved => {
                self.saved = Some((self.importer.world.hub.clone(), self.hub.0, self.back));
            }
            Event::Restored => {
                let Some((store, hub, back)) = self.saved.clone() else { return };
                self.importer.world.hub = store;
                self.epochs += 1;
                (self.hub, self.back) = ((hub, self.epochs), back);
                // Whatever it has answered in its backup: until it has been watched for a while, that names no hub.
                let name = on_hub("b");
                if self.importer.world.hub.get(kinds::CLUSTER_REPORT, &name).is_some() {
                    let none = |report: &mut serde_json::Value| report["status"] = json!({});
                    self.importer.world.hub.edit(kinds::CLUSTER_REPORT, &name, none).unwrap();
                }
            }
            Event::Answered => {
                let incarnation = self.incarnation();
                self.importer.answer(&incarnation);
            }
            Event::Back(at) => self.comes_back(at),
            // No exporter reports what is not so.
            Event::Published(at) if self.back[at] => {
                let incarnation = self.incarnation();
                self.importer.publishes(EXPORTERS[at], &incarnation);
            }
            Event::Published(_) => {}
            Event::Restarted => self.importer.restart(),
            Event::Two(answer) => self.importer.memory.witness(answer),
        }
    }

    fn comes_back(&mut self, at: usize) {
        self.back[at] = true;
        let there: Vec<_> =
            EXPORTERS.iter().zip(self.back).filter(|(_, back)| *back).map(|(it, _)| *it).collect();
        let name = on_hub(&format!("{}-team-shop-x1", EXPORTERS[at]));
        let hub = &mut self.importer.world.hub;
        if hub.get(kinds::ENDPOINT_SLICE_IMPORT, &name).is_none() {
            let addresses = [&["10.1.0.1"][..], &["10.2.0.1", "10.2.0.2"]][at];
            let uid = format!("uid-{}-{}", EXPORTERS[at], self.hubs);
            self.importer.distribute(EXPORTERS[at], &uid, addresses);
        }
        self.importer.settle();
        self.importer.grant(&there);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn nothing_goes_that_was_not_withdrawn(events in prop::collection::vec(event(), 1..14)) {
        let mut story = Story::new();
        for (at, event) in events.iter().enumerate() {
            story.happens(*event);
            story.importer.settle();
            prop_assert_eq!(story.importer.slices(), EXPORTERS, "after {:?}", &events[..=at]);
            prop_assert_eq!(story.importer.writes(), 0, "after {:?}", &events[..=at]);
        }
    }
}
