//! The fleet at a glance.

use fleet_api::{ObjectName, kinds};
use serde_json::json;

use super::super::world::{World, web};
use crate::output::Paint;
use crate::render;
use crate::status::{StandardStatus, Status, status};

fn of(world: &World) -> Status {
    status(&world.picture())
}

fn member(world: &World, name: &str) -> StandardStatus {
    let found = of(world).members.into_iter().find(|member| member.name == name);
    found.unwrap().standard.unwrap()
}

fn rows(text: &str, head: &str) -> Vec<Vec<String>> {
    let lines = text.lines().skip_while(|line| !line.starts_with(head)).skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

/// Where no agent serves the API, the output is that of former releases.
#[test]
fn a_fleet_without_the_api_has_no_table_and_no_key() {
    let found = of(&World::shared());
    let text = render::status(&found, true, Paint(false));
    assert!(!text.contains("MULTICLUSTER"), "{text}");
    let json = serde_json::to_string(&found).unwrap();
    assert!(!json.contains("standard"), "{json}");
}

#[test]
fn members_and_services_at_rest() {
    let found = of(&World::standard_shared());
    let text = render::status(&found, true, Paint(false));
    let members = rows(&text, "MULTICLUSTER");
    assert_eq!(members[0], ["east", "yes", "no", "1/1", "0", "1/1", "0", "-", "0"], "{text}");
    assert_eq!(members[1], ["west", "yes", "no", "0/0", "0", "1/1", "0", "-", "0"], "{text}");
    let services = rows(&text, "SERVICE   TYPE");
    let expected = ["shop/web", "ClusterSetIP", "east", "-", "-", "east,west", "-", "1"];
    assert_eq!(services, [expected], "{text}");
    let narrow = render::status(&found, false, Paint(false));
    assert_eq!(rows(&narrow, "MULTICLUSTER")[0], ["east", "yes", "no", "1/1", "0", "1/1", "0"]);
    assert!(!narrow.contains("SERVICE"), "{narrow}");
}

#[test]
fn a_member_that_has_published_what_it_exports() {
    let mut world = World::standard_shared();
    let name = ObjectName::new("fleet-member-east", "east");
    world.edit("hub", kinds::CLUSTER_REPORT, &name, |report| {
        report["spec"]["publishedTo"] = report["status"]["incarnation"].clone();
    });
    assert!(member(&world, "east").published && !member(&world, "west").published);
}

#[test]
fn conflicts_and_exports_that_are_not_in_force() {
    let mut world = World::standard_shared();
    world.serve("west", 81, "10.2.0.1");
    world.export_standard("west");
    world.settle();
    assert_eq!([member(&world, "east").conflicts, member(&world, "west").conflicts], [1, 1]);
    let service = of(&world).standard_services.remove(0);
    assert_eq!(service.exporters, ["east", "west"]);
    assert_eq!((service.conflicts, service.endpoints), (vec!["PortConflict"], 2));

    let mut world = World::standard();
    world.export_standard("east");
    world.settle();
    let east = member(&world, "east");
    assert_eq!((east.exports, east.exported), (1, 0));
    let service = of(&world).standard_services.remove(0);
    assert_eq!((service.kind, service.refused), (None, vec!["east".to_owned()]));
}

#[test]
fn lag_is_counted_where_a_slice_has_not_arrived() {
    let mut world = World::standard_shared();
    let slice = ObjectName::new("shop", "web-1");
    world.edit("east", kinds::ENDPOINT_SLICE, &slice, |slice| {
        slice["endpoints"] = json!([{ "addresses": ["10.1.0.9"] }]);
    });
    // Its own import, and the export.
    let lag = |world: &World, name: &str| member(world, name).lag.slices;
    assert_eq!([lag(&world, "east"), lag(&world, "west")], [2, 0]);
    world.settle_all_but("west");
    assert_eq!([lag(&world, "east"), lag(&world, "west")], [0, 1]);
    world.settle();
    assert_eq!([lag(&world, "east"), lag(&world, "west")], [0, 0]);
}

#[test]
fn imports_of_another_implementation_are_counted_apart() {
    let mut world = World::standard();
    let import = json!({ "spec": { "type": "ClusterSetIP", "ports": [] } });
    world.own("west").create(kinds::MCS_SERVICE_IMPORT, &web(), import).unwrap();
    let west = member(&world, "west");
    assert_eq!((west.foreign, west.imports), (1, 0));
}
