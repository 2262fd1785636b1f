//! What holds for any sequence of events.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet_accumulator::{Change, Cursor, View};
use k8s_openapi::api::core::v1::ConfigMap;
use proptest::prelude::*;

use crate::support::{Rig, Tap, Thing, World, both, thing};

/// One thing that happens to a cluster.
#[derive(Clone, Debug)]
enum Act {
    Write {
        object: u8,
        text: u8,
    },
    Delete {
        object: u8,
    },
    Recreate {
        object: u8,
        text: u8,
    },
    /// The watch breaks, things happen unseen, and a list follows.
    Gap {
        acts: Vec<Act>,
    },
}

fn simple_act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..12_u8, 0..3_u8).prop_map(|(object, text)| Act::Write { object, text }),
        2 => (0..12_u8).prop_map(|object| Act::Delete { object }),
        1 => (0..12_u8, 0..3_u8).prop_map(|(object, text)| Act::Recreate { object, text }),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        9 => simple_act(),
        1 => prop::collection::vec(simple_act(), 0..8).prop_map(|acts| Act::Gap { acts }),
    ]
}

/// A cluster: what is stored, and the one counter of its versions.
#[derive(Default)]
struct Cluster {
    version: u64,
    objects: BTreeMap<u8, ConfigMap>,
}

impl Cluster {
    /// Does it, and sends the event if there is a watch.
    fn act(&mut self, act: &Act, tap: Option<&Tap>) {
        let name = |object: u8| format!("thing-{object:02}");
        self.version += 1;
        let version = self.version;
        match act {
            Act::Write { object, text } => {
                let uid = self.objects.get(object).and_then(|old| old.metadata.uid.clone());
                let uid = uid.unwrap_or_else(|| version.to_string());
                let new = thing(&name(*object), &uid, version, &text.to_string());
                self.objects.insert(*object, new.clone());
                tap.inspect(|tap| tap.apply(new));
            }
            Act::Delete { object } => {
                if let Some(mut old) = self.objects.remove(object) {
                    old.metadata.resource_version = Some(version.to_string());
                    tap.inspect(|tap| tap.delete(old));
                }
            }
            Act::Recreate { object, text } => {
                self.act(&Act::Delete { object: *object }, tap);
                self.act(&Act::Write { object: *object, text: *text }, tap);
            }
            Act::Gap { acts } => {
                for act in acts {
                    self.act(act, None);
                }
                tap.inspect(|tap| tap.list(self.objects.values().cloned()));
            }
        }
    }

    fn content(&self) -> BTreeMap<String, (String, String)> {
        let entry = |object: &ConfigMap| {
            let (meta, data) = (&object.metadata, object.data.as_ref().unwrap());
            (meta.name.clone().unwrap(), (meta.uid.clone().unwrap(), data["text"].clone()))
        };
        self.objects.values().map(entry).collect()
    }
}

fn content(view: &View<Thing>) -> BTreeMap<String, (String, String)> {
    let entry = |record: &fleet_accumulator::Object<Thing>| {
        (record.name.name.to_string(), (record.uid.to_string(), record.text.clone()))
    };
    view.iter().map(entry).collect()
}

/// Folds the differences of one consumer and checks that none of them is nothing.
struct Folder {
    cursor: Cursor<World>,
    things: BTreeMap<String, (String, String)>,
    seq: u64,
}

impl Folder {
    fn read(&mut self) {
        let Some(step) = self.cursor.try_next() else { return };
        assert!(step.new.seq > self.seq || self.seq == 0, "snapshots never go back");
        self.seq = step.new.seq;
        let mut names = Vec::new();
        for change in step.diff(|world| &world.things) {
            let name = change.new().or_else(|| change.old()).unwrap().name.name.to_string();
            let entry = |record: &fleet_accumulator::Object<Thing>| {
                (record.uid.to_string(), record.text.clone())
            };
            let before = self.things.get(&name);
            assert_eq!(before, change.old().map(entry).as_ref(), "the old side is what we had");
            match &change {
                Change::Updated { old, new } => {
                    assert!(old.uid == new.uid && old.object != new.object);
                }
                Change::Replaced { old, new } => assert_ne!(old.uid, new.uid),
                Change::Added(_) | Change::Removed(_) => {}
            }
            match change.new().map(entry) {
                Some(entry) => self.things.insert(name.clone(), entry),
                None => self.things.remove(&name),
            };
            names.push(name);
        }
        assert!(names.is_sorted_by(|one, two| one < two), "one item per name, in order");
        assert_eq!(self.things, content(&step.new.things));
        self.cursor.commit(step);
    }
}

fn run(acts: &[(bool, Act, bool)]) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(async {
        let mut rig = Rig::new();
        let (things, imports) = (rig.things.tap().await, rig.imports.tap().await);
        let (mut local, mut hub) = (Cluster::default(), Cluster::default());
        things.list([]);
        imports.list([]);
        rig.until(|world| world.things.bootstrapped() && world.imports.bootstrapped()).await;
        let cursor = rig.accumulator.cursor(both());
        let mut folder = Folder { cursor, things: BTreeMap::new(), seq: 0 };
        let mut seq = 0;
        let mut prefixes = vec![hub.content()];
        for (at_hub, act, read) in acts {
            if *at_hub {
                hub.act(act, Some(&imports));
                prefixes.push(hub.content());
            } else {
                local.act(act, Some(&things));
            }
            if *read {
                rig.settle().await;
                folder.read();
                let snapshot = rig.accumulator.snapshot();
                assert!(snapshot.seq >= seq);
                seq = snapshot.seq;
                // Recreating is two events, and a snapshot may fall between them.
                if !acts.iter().any(|(_, act, _)| matches!(act, Act::Recreate { .. })) {
                    assert!(prefixes.contains(&content(&snapshot.imports)));
                }
            }
        }
        let (wanted, wanted_at_hub) = (local.content(), hub.content());
        let world = rig
            .until(|world| {
                content(&world.things) == wanted && content(&world.imports) == wanted_at_hub
            })
            .await;
        folder.read();
        assert_eq!(folder.things, content(&world.things));
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn differences_fold_to_the_cluster_for_any_interleaving_of_two(
        acts in prop::collection::vec((any::<bool>(), act(), any::<bool>()), 0..40)
    ) {
        run(&acts);
    }

    #[test]
    fn the_index_is_that_of_a_view_built_from_scratch(
        acts in prop::collection::vec((0..6_u8, prop::option::of(0..3_u8)), 0..40)
    ) {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(async {
            let mut rig = Rig::new();
            let tap = rig.things.tap().await;
            tap.list([]);
            for (version, (object, group)) in acts.iter().enumerate() {
                let name = format!("thing-{object}");
                let mut thing = thing(&name, &name, version as u64 + 1, "x");
                if let Some(group) = group {
                    let data = thing.data.get_or_insert_default();
                    data.insert("group".to_owned(), format!("group-{group}"));
                    tap.apply(thing);
                } else {
                    tap.delete(thing);
                }
            }
            rig.settle().await;
            let world: Arc<World> = rig.until(|world| world.things.bootstrapped()).await;
            let fresh = View::of(world.things.iter().cloned());
            for group in 0..3 {
                let group = format!("group-{group}");
                let names = |view: &View<Thing>| {
                    view.by(&group).map(|record| record.name.clone()).collect::<Vec<_>>()
                };
                assert_eq!(names(&world.things), names(&fresh));
                let scanned = world.things.iter().filter(|it| it.group.as_ref() == Some(&group));
                assert_eq!(scanned.count(), names(&fresh).len());
            }
        });
    }
}
