//! How many writes each event costs on the hub, and what they write.

use fleet_api::kinds;
use serde_json::json;

use super::world::{World, export_of, in_member, of_web, web};

const CREATED: &str = "create ResolvedService";
const REPLACED: &str = "update ResolvedService";

#[test]
fn the_first_export_is_one_write() {
    let mut world = World::new();
    world.export("a", 80);
    world.settle();
    assert_eq!(world.writes(), [CREATED]);
    let resolved = world.resolved().unwrap();
    assert_eq!(
        resolved["spec"],
        json!({
            "service": { "namespace": "shop", "name": "web" },
            "type": "ClusterSetIP",
            "ports": [{ "name": "http", "protocol": "TCP", "port": 80 }],
            "sessionAffinity": "None",
            "internalTrafficPolicy": "Cluster",
            "ipFamilies": ["IPv4"],
            "winner": "a",
            "exporters": [{ "cluster": "a" }],
        })
    );
    let labels = json!({ "multicluster.networking.fleet.azure.com/namespace": "shop" });
    assert_eq!(resolved["metadata"]["labels"], labels);
    assert_eq!(world.refusal("a"), None);
}

#[test]
fn a_second_exporter_is_one_write_and_so_is_its_end() {
    let mut world = World::exported();
    world.export("b", 81);
    world.settle();
    assert_eq!(world.writes(), [REPLACED]);
    assert_eq!(world.exporters(), ["a", "b"]);
    let spec = &world.resolved().unwrap()["spec"];
    assert_eq!(
        (&spec["winner"], &spec["exporters"][1]["withheld"]),
        (&json!("a"), &json!(["http"]))
    );
    assert_eq!(spec["conflicts"][0]["reason"], "PortConflict");
    world.unexport("a");
    world.settle();
    assert_eq!(world.writes(), [REPLACED]);
    let spec = &world.resolved().unwrap()["spec"];
    assert_eq!((&spec["winner"], &spec["ports"][0]["port"]), (&json!("b"), &json!(81)));
    assert!(spec.get("conflicts").is_none() && spec["exporters"][0].get("withheld").is_none());
}

/// The age is that of the ServiceExport, as the member states it: neither the order in which the hub learnt of the exports counts,
/// nor a time that was still to come when it did.
#[test]
fn the_oldest_service_export_wins_whenever_the_hub_learnt_of_it() {
    for (created, winner) in [
        (json!("2019-12-31T23:59:59Z"), "b"),
        (json!("2020-01-01T00:00:00Z"), "a"),
        (json!("2999-01-01T00:00:00Z"), "a"),
        (json!(null), "a"),
    ] {
        let mut world = World::exported();
        world.export("b", 81);
        world.edit(kinds::EXPORTED_SERVICE, &of_web("b"), |export| {
            export["spec"]["export"]["created"] = created.clone();
        });
        world.settle();
        let spec = &world.resolved().unwrap()["spec"];
        assert_eq!(spec["winner"], winner, "{created}");
        assert_eq!(spec["ports"][0]["port"], if winner == "a" { 80 } else { 81 });
        assert_eq!(world.exporters(), ["a", "b"]);
    }
}

/// What the hub knew first is as old as the hub knows it, not as old as its clock is behind.
#[test]
fn an_export_from_the_future_is_as_old_as_its_object() {
    let mut world = World::new();
    let ahead = |export: &mut serde_json::Value| {
        export["spec"]["export"]["created"] = json!("2999-01-01T00:00:00Z");
    };
    for member in ["b", "a"] {
        world.export(member, 80);
        world.edit(kinds::EXPORTED_SERVICE, &of_web(member), ahead);
    }
    world.settle();
    assert_eq!(world.resolved().unwrap()["spec"]["winner"], "b");
}

#[test]
fn a_changed_export_is_one_write_and_one_that_says_the_same_none() {
    let mut world = World::exported();
    world.edit(kinds::EXPORTED_SERVICE, &of_web("a"), |export| {
        export["spec"]["internalTrafficPolicy"] = json!("Local");
    });
    world.settle();
    assert_eq!(world.writes(), [REPLACED]);
    world.edit(kinds::EXPORTED_SERVICE, &of_web("a"), |export| {
        export["spec"]["export"]["uid"] = json!("another");
    });
    world.settle();
    assert_eq!(world.writes(), [""; 0]);
}

/// Endpoints, and further importers, are none of the hub agent's business.
#[test]
fn an_endpoint_change_is_no_write() {
    let mut world = World::exported();
    world.add_slice("a", &json!({}));
    world.settle();
    assert_eq!(world.writes(), [""; 0]);
}

/// `a-b/c` and `a/b-c` have one plain name.
#[test]
fn services_whose_names_collide_have_objects_of_their_own() {
    let mut world = World::new();
    for (at, (namespace, name)) in [("a-b", "c"), ("a", "b-c")].into_iter().enumerate() {
        let object = export_of(namespace, name, "a", 80);
        let place = in_member("a", &format!("export-{at}"));
        world.hub.create(kinds::EXPORTED_SERVICE, &place, object).unwrap();
        world.settle();
    }
    let all = world.hub.names(kinds::RESOLVED_SERVICE);
    assert_eq!(all.len(), 2, "{all:?}");
    assert!(all.iter().all(|name| name.name.starts_with("a-b-c")), "{all:?}");
}

/// What an administrator or a forger changed is put right, and a second object about the Service goes.
#[test]
fn an_altered_object_is_put_right() {
    let mut world = World::exported();
    world.edit(kinds::RESOLVED_SERVICE, &web(), |resolved| {
        resolved["spec"]["exporters"] = json!([{ "cluster": "a" }, { "cluster": "evil" }]);
        resolved["metadata"]["labels"] = json!({});
    });
    let mut forged = world.resolved().unwrap().clone();
    forged["metadata"] = json!({});
    let place = fleet_api::ObjectName::new("fleet-system", "zz");
    world.hub.advance(1);
    world.hub.create(kinds::RESOLVED_SERVICE, &place, forged).unwrap();
    world.settle();
    assert_eq!(world.writes(), [REPLACED, "delete ResolvedService"]);
    assert_eq!(world.exporters(), ["a"]);
    assert_eq!(world.hub.names(kinds::RESOLVED_SERVICE), [web()]);
}

/// An object that is being deleted blocks its successor, or members would have two to choose from.
#[test]
fn an_object_that_is_being_deleted_is_awaited() {
    let mut world = World::exported();
    let hold = |held: &'static [&'static str]| {
        move |resolved: &mut serde_json::Value| resolved["metadata"]["finalizers"] = json!(held)
    };
    world.edit(kinds::RESOLVED_SERVICE, &web(), hold(&["example.com/hold"]));
    world.hub.delete(kinds::RESOLVED_SERVICE, &web()).unwrap();
    world.settle();
    assert_eq!(world.writes(), [""; 0]);
    world.edit(kinds::RESOLVED_SERVICE, &web(), hold(&[]));
    world.settle();
    assert_eq!(world.writes(), [CREATED]);
    assert_eq!(world.exporters(), ["a"]);
}

/// A hub agent that starts anew over the same objects writes nothing; [`World::settle`] starts with each plan.
#[test]
fn a_restart_is_no_write() {
    let mut world = World::exported();
    world.export("b", 81);
    world.settle();
    world.writes();
    world.hub.advance(100);
    world.settle();
    assert_eq!(world.writes(), [""; 0]);
}
