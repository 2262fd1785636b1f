//! The missing writes of both APIs.

use fleet_api::{ObjectName, kinds};
use serde_json::json;

use super::super::world::{World, web};

fn written(world: &World) -> Vec<String> {
    let found = world.pending();
    let writes = found.iter().flat_map(|pending| {
        pending.writes().map(move |step| {
            let (agent, controller) = (&pending.agent, pending.controller);
            format!(
                "{agent} {controller}: {} {} {}",
                step.action.verb(),
                step.kind.label(),
                step.name
            )
        })
    });
    writes.collect()
}

#[test]
fn a_fleet_at_rest_has_nothing_to_write() {
    for world in [World::standard(), World::standard_shared(), World::both()] {
        assert_eq!(written(&world), Vec::<String>::new());
    }
}

/// From the exporter to the importer, a change is written three times.
#[test]
fn a_change_of_endpoints_is_due_at_each_agent_in_turn() {
    let mut world = World::standard_shared();
    let slice = ObjectName::new("shop", "web-1");
    world.edit("east", kinds::ENDPOINT_SLICE, &slice, |slice| {
        slice["endpoints"] = json!([{ "addresses": ["10.1.0.9"] }]);
    });
    let due = written(&world);
    assert!(
        due.iter().any(|it| it.starts_with("east export: update EndpointSliceExport")),
        "{due:?}"
    );
    world.settle_all_but("west");
    let due = written(&world);
    assert!(due[0].starts_with("west multicluster_import: update EndpointSlice shop/"), "{due:?}");
    assert_eq!(due.len(), 1, "{due:?}");
}

#[test]
fn each_controller_has_its_writes() {
    let mut world = World::standard();
    world.serve("east", 80, "10.1.0.1");
    world.export_standard("east");
    let due = written(&world);
    let export = "east multicluster_export: create ExportedService fleet-member-east/shop-web";
    assert!(due.iter().any(|it| it == export), "{due:?}");
    world.settle_all_but("hub");
    let due = written(&world);
    assert_eq!(due, ["hub multicluster: create ResolvedService fleet-system/shop-web"]);
}

/// An agent that does not serve the API writes nothing for it, whatever there is.
#[test]
fn agents_that_do_not_serve_the_api_owe_nothing() {
    let mut world = World::shared();
    world.export_standard("east");
    assert_eq!(written(&world), Vec::<String>::new());
}

/// A second cluster of a name writes nothing.
#[test]
fn the_agent_of_a_fenced_cluster_owes_nothing() {
    let mut world = World::standard_shared();
    let report = ObjectName::new("fleet-member-west", "west");
    world.edit("hub", kinds::CLUSTER_REPORT, &report, |it| {
        it["spec"]["clusterUid"] = json!("other");
    });
    world.own("west").delete(kinds::MCS_SERVICE_IMPORT, &web()).unwrap();
    assert!(!written(&world).iter().any(|it| it.starts_with("west")), "{:?}", written(&world));
}
