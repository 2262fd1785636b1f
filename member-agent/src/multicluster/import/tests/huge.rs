//! Services of many endpoints, and of many exporters.

use std::collections::BTreeSet;

use fleet_api::events;
use fleet_plan::affected_keys;

use super::super::{Key, StandardImportController};
use super::world::{World, web};

/// The addresses of one of many slices.
fn addresses(slice: usize, count: usize) -> Vec<String> {
    let address = |at: usize| format!("10.{}.{}.{}", 1 + (at >> 16), (at >> 8) & 255, at & 255);
    (slice * count..(slice + 1) * count).map(address).collect()
}

fn export(world: &mut World, cluster: &str, slice: usize, count: usize) {
    let addresses = addresses(slice, count);
    let addresses: Vec<_> = addresses.iter().map(String::as_str).collect();
    world.export_slice(cluster, &format!("web-{slice:03}"), &addresses);
}

/// An exporter can have ten thousand endpoints here. What is beyond costs neither those nor other exporters theirs.
#[test]
fn of_a_hundred_thousand_endpoints_ten_thousand_are_imported() {
    let mut world = World::new();
    world.resolve(&["b", "c"]);
    for slice in 0..100 {
        export(&mut world, "b", slice, 1000);
    }
    world.export_slice("c", "web-1", &["10.3.0.1"]);
    world.settle();
    let slices = world.slices();
    let of = |cluster: &str| slices.iter().filter(|slice| slice.starts_with(cluster)).count();
    assert_eq!((of("b "), of("c ")), (10, 1));
    let endpoints = slices.iter().map(|slice| slice.matches(',').count() + 1).sum::<usize>();
    assert_eq!(endpoints, 10_001);
    assert!(world.told().contains(&events::ENDPOINTS_REFUSED));
    world.settle();
    assert!(world.plan().is_empty());
}

/// After a hub was built anew, all exporters have to be there with all of their slices before its word counts.
#[test]
fn on_a_rebuilt_hub_the_last_of_many_slices_is_waited_for() {
    let names: Vec<_> = (0..300).map(|number| format!("m{number:03}")).collect();
    let clusters: Vec<_> = names.iter().map(String::as_str).collect();
    let mut world = World::new();
    world.resolve(&clusters);
    let all: Vec<_> =
        (0..4).flat_map(|slice| clusters.iter().map(move |it| (*it, slice))).collect();
    for (cluster, slice) in &all {
        export(&mut world, cluster, *slice, 1);
    }
    world.settle();
    world.rest();
    let before = world.mark().to_owned();
    world.rebuild_hub();
    world.resolve(&clusters);
    let (last, others) = all.split_last().unwrap();
    for (cluster, slice) in others {
        export(&mut world, cluster, *slice, 1);
    }
    world.settle();
    assert_eq!((world.mark(), world.slices().len()), (before.as_str(), 1200));
    export(&mut world, last.0, last.1, 1);
    world.settle();
    assert_eq!((world.mark(), world.slices().len()), ("other-uid/0", 1200));
    world.rest();
}

/// All clusters report at once to a hub that was built anew: that concerns the imports that are from them, each once.
#[test]
fn reports_of_many_clusters_concern_the_imports_from_them() {
    let mut world = World::imported();
    let controller = StandardImportController::new(world.settings.clone());
    let before = world.snapshot();
    for number in 0..1000 {
        world.publish(&format!("m{number}"), "other-uid/0");
    }
    assert_eq!(affected_keys(&controller, &before, &world.snapshot()), BTreeSet::new());
    let before = world.snapshot();
    world.publish("b", "other-uid/0");
    for number in 0..1000 {
        world.publish(&format!("m{number}"), "third-uid/0");
    }
    let expected = BTreeSet::from([Key(web())]);
    assert_eq!(affected_keys(&controller, &before, &world.snapshot()), expected);
}
