//! Pods come and go while links are cut and processes end: in the end remote Pods, exports and local Pods are the same.

use std::collections::BTreeSet;

use fleet_api::labels::OFFLOAD_ORIGIN_UID;
use fleet_api::{ObjectName, kinds};
use serde_json::{Value, json};

use super::world::World;

/// The process ends at each write of a Pod's life once, and another one continues: exactly one remote Pod is made, and nothing is left.
#[test]
fn a_crash_at_any_write_changes_nothing() {
    let life = |crash: Option<usize>| {
        let mut world = World::new();
        world.crash_after = crash;
        let env = json!([{ "name": "web", "image": "web:1", "envFrom": [{ "configMapRef": { "name": "settings" } }] }]);
        let settings = ObjectName::new("shop", "settings");
        world
            .east
            .own
            .create(kinds::CONFIG_MAP, &settings, json!({ "data": { "a": "1" } }))
            .unwrap();
        world.create_pod("web", &json!({ "containers": env }));
        world.settle();
        let uids: BTreeSet<String> =
            world.remote().iter().map(|pod| pod["metadata"]["uid"].to_string()).collect();
        assert_eq!(uids.len(), 1, "crash at {crash:?}");
        assert_eq!(
            World::condition(world.east.pod("web").unwrap(), "Ready").0,
            "True",
            "crash at {crash:?}"
        );
        world.east.own.delete_pod(&ObjectName::new("shop", "web"), Some(2)).unwrap();
        // A process that has just begun takes nothing for gone before a minute.
        for seconds in [2, 2, 61, 2] {
            world.pass(seconds);
            world.settle();
        }
        let left = (
            world.east.pod("web").is_some(),
            world.remote().len(),
            world.exports().len(),
            world.imports().len(),
        );
        assert_eq!(left, (false, 0, 0, 0), "crash at {crash:?}");
        let writes: usize = world.writes.values().sum();
        (writes, world.crash_after)
    };
    let (writes, _) = life(None);
    let mut crashes = 0;
    for at in 0..writes + 5 {
        let (_, left) = life(Some(at));
        crashes += usize::from(left.is_none());
    }
    assert!(crashes >= 10, "{crashes} of {writes}");
}

/// Ten seeds, each with up to 20 Pods.
#[test]
fn churn_leaves_no_orphan_and_no_duplicate() {
    for seed in 0..10 {
        churn(seed, false);
    }
}

/// The same where nothing is planned without a reason: whatever has no event of its own is asked for again.
#[test]
fn nothing_is_forgotten_in_churn() {
    for seed in 10..14 {
        churn(seed, true);
    }
}

fn churn(seed: u64, is_lazy: bool) {
    let mut random = fastrand_like(seed);
    let mut world = World::new();
    world.is_lazy = is_lazy;
    world.offer(&json!({ "capacity": { "cpu": "100", "memory": "100Gi", "pods": 100 } }));
    world.settle();
    let (mut made, mut pairs) = (0, BTreeSet::new());
    for _ in 0..30 {
        for _ in 0..random() % 3 {
            if made < 20 {
                world.create_pod(&format!("web-{made}"), &json!({}));
                made += 1;
            }
        }
        let names = world.east.own.names(kinds::POD);
        if random().is_multiple_of(3) && !names.is_empty() {
            let name = &names[usize::try_from(random()).unwrap() % names.len()];
            world.east.own.delete_pod(name, Some(i64::try_from(random() % 4).unwrap())).unwrap();
        }
        match random() % 12 {
            0 => world.east.cut = !world.east.cut,
            1 => world.west.cut = !world.west.cut,
            2 => world.crash_after = Some(usize::try_from(random() % 9).unwrap()),
            3 => {
                let clock = world.clock.clone();
                world.east.restart(&clock);
            }
            4 => {
                let clock = world.clock.clone();
                world.west.restart(&clock);
            }
            _ => {}
        }
        world.round();
        for pod in world.remote() {
            let pair = (uid_of(pod), pod["metadata"]["uid"].to_string());
            if pairs.insert(pair.clone()) {
                let same = pairs.iter().filter(|(uid, _)| *uid == pair.0).count();
                assert_eq!(same, 1, "seed {seed}: {} had two remote Pods", pair.0);
            }
        }
        world.pass(random() % 7);
    }
    (world.east.cut, world.west.cut, world.crash_after) = (false, false, None);
    if is_lazy {
        for _ in 0..200 {
            world.pass(5);
            world.round();
        }
    }
    for _ in 0..3 {
        world.pass(400);
        world.settle();
    }
    let local: BTreeSet<String> = world
        .east
        .own
        .objects(kinds::POD)
        .map(|(_, pod)| pod["metadata"]["uid"].as_str().unwrap().to_owned())
        .collect();
    let remote: BTreeSet<String> = world.remote().iter().map(|pod| uid_of(pod)).collect();
    let exports: BTreeSet<String> =
        world.exports().into_iter().map(|(spec, _)| spec.origin.uid).collect();
    let imports: BTreeSet<String> =
        world.imports().into_iter().map(|(spec, _)| spec.export.origin.uid).collect();
    assert!(!local.is_empty(), "seed {seed}");
    assert_eq!(remote, exports, "seed {seed}");
    assert_eq!(exports, imports, "seed {seed}");
    assert_eq!(exports, local, "seed {seed}");
}

fn uid_of(pod: &Value) -> String {
    pod["metadata"]["labels"][OFFLOAD_ORIGIN_UID].as_str().unwrap_or_default().to_owned()
}

/// Numbers that are the same for a seed each time.
fn fastrand_like(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 8
    }
}
