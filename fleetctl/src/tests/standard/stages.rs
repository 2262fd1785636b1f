//! The stages that `trace` waits for.

use fleet_api::kinds;

use super::super::world::{World, web};
use crate::trace::stages_of;

#[test]
fn the_path_has_three_stages() {
    let wanted = stages_of(&World::standard_shared().picture(), &web()).unwrap();
    let expected = [
        "changed in the exporter's EndpointSlice",
        "exported to the hub, as EndpointSliceExport",
        "imported through multicluster.x-k8s.io",
        "imported through multicluster.x-k8s.io",
    ];
    assert_eq!(wanted["east"], expected);
    assert_eq!(wanted.len(), 1);
}

#[test]
fn a_service_of_both_apis_has_the_stages_of_both() {
    let wanted = stages_of(&World::both().picture(), &web()).unwrap();
    let has = |words: &str| wanted["east"].iter().any(|stage| stage.contains(words));
    assert!(has("copied for west") && has("bound to the derived Service"), "{wanted:?}");
    assert!(has("imported through"), "{wanted:?}");
}

#[test]
fn an_exporter_that_cannot_be_read_begins_on_the_hub() {
    let mut world = World::standard_shared();
    world.blind = Some("east");
    let wanted = stages_of(&world.picture(), &web()).unwrap();
    assert_eq!(wanted["east"][0], "exported to the hub, as EndpointSliceExport");
    assert_eq!(wanted["east"].len(), 2);
}

#[test]
fn what_does_not_cross_cannot_be_traced() {
    let mut world = World::standard_shared();
    world.own("east").delete(kinds::MCS_SERVICE_EXPORT, &web()).unwrap();
    world.settle();
    let error = stages_of(&world.picture(), &web()).unwrap_err().to_string();
    assert!(error.contains("not both exported and imported"), "{error}");
}
