//! `--denied-namespaces`: no Service is imported there that is not imported already.

use fleet_api::{events, kinds};

use super::{World, shop};

#[test]
fn nothing_new_is_imported() {
    let mut world = World::new();
    world.settings.denied_namespaces = "team".parse().unwrap();
    world.create_mcs(&shop(), "shop");
    assert_eq!(world.reasons(), [events::NAMESPACE_DENIED]);
    world.rest();
    let (status, message) = world.valid(&shop());
    assert_eq!((status, message), ("Unknown", "services cannot be imported into this namespace"));
    assert!(world.own.names(kinds::SERVICE_IMPORT).is_empty());
    assert!(world.hub.names(kinds::INTERNAL_SERVICE_IMPORT).is_empty());
    world.delete_mcs(&shop());
    world.settle();
    assert!(world.mcs(&shop()).is_none());
}

#[test]
fn what_is_imported_stays_until_it_is_withdrawn() {
    let mut world = World::importing();
    world.settings.denied_namespaces = "team".parse().unwrap();
    world.rest();
    let (status, message) = world.valid(&shop());
    assert!(status == "True" && message.contains("its namespace is denied"), "{message}");
    assert!(world.derived().is_some() && world.slice().is_some());

    world.delete_mcs(&shop());
    for _ in 0..3 {
        world.settle();
        world.let_go();
    }
    assert!(world.mcs(&shop()).is_none() && world.derived().is_none());
    world.create_mcs(&shop(), "shop");
    assert_eq!(world.reasons(), [events::NAMESPACE_DENIED]);
}
