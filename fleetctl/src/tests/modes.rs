//! Which agents serve the API of multicluster.x-k8s.io, as their objects show.

use fleet_api::{ObjectName, kinds};
use member_agent::MulticlusterMode as Mode;
use serde_json::{Value, json};

use super::world::{World, exported_by, home, web};

/// What the objects show of the hub agent, and of west's.
fn modes(world: &mut World) -> (Mode, Mode) {
    world.serving.clear();
    let picture = world.picture();
    (picture.settings.multicluster, picture.members["west"].settings.multicluster.mode)
}

fn report(world: &mut World, change: impl FnOnce(&mut Value)) {
    let at = ObjectName::new(home("west"), "west");
    if world.hub.get(kinds::CLUSTER_REPORT, &at).is_none() {
        let spec = json!({ "spec": { "clusterUid": "u" } });
        world.hub.create(kinds::CLUSTER_REPORT, &at, spec).unwrap();
    }
    world.edit("hub", kinds::CLUSTER_REPORT, &at, change);
}

#[test]
fn without_a_trace_an_agent_does_not_serve_it() {
    assert_eq!(modes(&mut World::shared()), (Mode::Off, Mode::Off));
}

#[test]
fn the_hub_agent_answers_with_the_id_of_the_clusterset() {
    let mut world = World::new();
    report(&mut world, |report| report["status"] = json!({ "clustersetId": "blue" }));
    assert_eq!(modes(&mut world), (Mode::On, Mode::Off));
    assert_eq!(world.picture().settings.clusterset_id, "blue");
}

#[test]
fn a_member_agent_shows_it_by_what_it_wrote() {
    let acts: [fn(&mut World); 5] = [
        |world| report(world, |report| report["spec"]["publishedTo"] = json!("hub/0")),
        |world| {
            let export = json!({ "spec": { "service": { "namespace": "shop", "name": "web" } } });
            world.hub.create(kinds::EXPORTED_SERVICE, &exported_by("west"), export).unwrap();
        },
        |world| {
            let mark = json!({ "multicluster.networking.fleet.azure.com/hub": "hub/0" });
            let property =
                json!({ "metadata": { "annotations": mark }, "spec": { "value": "fleet" } });
            let name = ObjectName::cluster("clusterset.k8s.io");
            world.own("west").create(kinds::CLUSTER_PROPERTY, &name, property).unwrap();
        },
        |world| {
            let mark = json!({ "multicluster.networking.fleet.azure.com/hub": "hub/0" });
            let import =
                json!({ "metadata": { "annotations": mark }, "spec": { "type": "Headless" } });
            world.own("west").create(kinds::MCS_SERVICE_IMPORT, &web(), import).unwrap();
        },
        |world| export(world, "the Service exists and can be exported"),
    ];
    for act in acts {
        let mut world = World::new();
        act(&mut world);
        assert_eq!(modes(&mut world).1, Mode::On);
    }
}

#[test]
fn conditions_of_another_implementation_show_nothing() {
    let mut world = World::new();
    export(&mut world, "synchronised by another implementation");
    assert_eq!(modes(&mut world).1, Mode::Off);
}

#[test]
fn an_agent_that_takes_back_what_it_made_reports_that() {
    let mut world = World::new();
    export(
        &mut world,
        "the member agent deletes what it made for this API (--multicluster=clean-up)",
    );
    assert_eq!(modes(&mut world).1, Mode::CleanUp);
}

/// A ServiceExport of west, with a condition.
fn export(world: &mut World, message: &str) {
    let condition = json!({ "type": "Ready", "status": "False", "reason": "Failed", "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z" });
    world.export_standard("west");
    world.edit("west", kinds::MCS_SERVICE_EXPORT, &web(), |export| {
        export["status"] = json!({ "conditions": [condition] });
    });
}
