#![allow(unreachable_pub, reason = "the macro declares what other crates use")]

use fleet_api::{ResourceKind, kinds};
use k8s_openapi::api::core::v1::Service;

use super::*;
use crate::expectation::LOOKED_UP;
use crate::{ClusterId, Object, Tracked, Until, View};

#[derive(Debug, PartialEq)]
struct Empty;

impl Tracked for Empty {
    const KIND: ResourceKind = kinds::SERVICE;
    type Wire = Service;
    type Index = ();

    fn project(_: Service) -> Result<Self, String> {
        Ok(Self)
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }
}

crate::views! {
    struct World {
        hub services: Empty,
    }
}

fn name(number: usize) -> ObjectName {
    ObjectName::new("team", format!("object-{number}"))
}

fn world(objects: usize) -> World {
    let object = |number| Object::new(name(number), "uid".into(), "1".into(), Empty);
    World { services: View::of((0..objects).map(object)), ..World::default() }
}

/// A wait for so many objects.
fn wait(objects: usize) -> (Wait, oneshot::Receiver<()>) {
    let expectation = |number| Expectation {
        cluster: ClusterId::Hub,
        kind: kinds::SERVICE,
        name: name(number),
        until: Until::Present,
    };
    let (done, waiter) = oneshot::channel();
    let expectations = (0..objects).map(expectation).collect();
    (Wait { reads: World::all(), expectations, done }, waiter)
}

/// Shows the objects one after the other, as watch events do. Returns the lookups that this took.
fn lookups(objects: usize) -> usize {
    let mut waits = Waits::default();
    let (wait, mut waiter) = wait(objects);
    waits.add(wait, &World::default());
    LOOKED_UP.set(0);
    let mut met = Vec::new();
    for number in 0..objects {
        assert!(met.is_empty(), "{number} of {objects} are shown");
        let touched = Touched::Names(vec![name(number)]);
        waits.touch(World::services(), &touched, &world(number + 1), &mut met);
    }
    for done in met {
        done.send(()).unwrap();
    }
    assert_eq!(waiter.try_recv(), Ok(()));
    assert!(waits.open.is_empty() && waits.by_object.is_empty());
    LOOKED_UP.get()
}

#[test]
fn a_wait_costs_as_many_lookups_as_it_has_objects() {
    for objects in [1, 10, 200] {
        assert_eq!(lookups(objects), objects);
    }
}

#[test]
fn a_list_shows_all_at_once() {
    let mut waits = Waits::default();
    let (wait, _waiter) = wait(5);
    waits.add(wait, &world(2));
    let mut met = Vec::new();
    waits.touch(World::services(), &Touched::All, &world(4), &mut met);
    assert!(met.is_empty());
    waits.touch(World::services(), &Touched::All, &world(5), &mut met);
    assert_eq!(met.len(), 1);
}

#[test]
fn a_wait_that_was_given_up_is_forgotten() {
    let mut waits = Waits::default();
    let (first, given_up) = wait(3);
    waits.add(first, &World::default());
    drop(given_up);
    let (second, _waiter) = wait(2);
    waits.add(second, &World::default());
    assert_eq!((waits.open.len(), waits.by_object.len()), (1, 2));
}
