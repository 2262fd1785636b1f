//! P9, P10 and P11: what is imported is the hub's word, and members change of it what is theirs.

use anyhow::Result;
use fleet_api::kinds::ENDPOINT_SLICE_IMPORT as KIND;
use fleet_api::names::member_namespace;
use fleet_api::{annotations, finalizers};
use serde_json::{Value, json};

use crate::Tests;
use crate::objects::object;
use crate::ways::{
    REMOVING, WAYS, Way, change, create, create_by_apply, delete, delete_collection, passed,
    refused, refused_by_all,
};
use crate::world::{EAST, WEST, World};

pub(crate) fn add(tests: &mut Tests) {
    tests.add("P9::imports_are_the_hubs", imports_are_the_hubs);
    let draining = go_importers_do_not_know_draining_endpoints;
    tests.add("P9::go_importers_do_not_know_draining_endpoints", draining);
    tests.add("P10::origins_are_the_hubs", origins_are_the_hubs);
    tests.add("P10::what_was_measured_is_short", what_was_measured_is_short);
    tests.add("P11::a_member_lets_go_of_its_imports", a_member_lets_go_of_its_imports);
}

/// An import as the hub agent makes it.
async fn import(world: &World, member: &str, name: &str) -> Result<Value> {
    let mut import = object(KIND, member, name);
    import["metadata"]["labels"] = json!({ "a": "b" });
    import["metadata"]["annotations"] = json!({ annotations::ORIGIN_NAMESPACE: "fleet-member-x" });
    passed("by the hub", create(&world.agent, KIND, &import).await?)
}

/// C7.
async fn imports_are_the_hubs(world: &World) -> Result<()> {
    let forged = object(KIND, EAST, "p9-forged");
    refused("made", create(&world.east, KIND, &forged).await?, "P9")?;
    refused("made", create_by_apply(&world.east, KIND, &forged).await?, "P9")?;
    let given = import(world, EAST, "p9").await?;
    for field in ["endpoints", "ports"] {
        let empty = |object: &mut Value| object["spec"][field] = json!([]);
        refused_by_all((field, &WAYS), &world.east, KIND, &given, empty, "P9").await?;
    }
    let other = |object: &mut Value| {
        object["spec"]["endpoints"][0]["addresses"] = json!(["10.1.0.66"]);
    };
    refused_by_all(("address", &WAYS), &world.east, KIND, &given, other, "P9").await?;
    for reference in ["endpointSliceReference", "ownerServiceReference"] {
        let other = |object: &mut Value| object["spec"][reference]["name"] = json!("other");
        refused_by_all((reference, &WAYS), &world.east, KIND, &given, other, "P9").await?;
    }
    refused("deleted", delete(&world.east, KIND, &given).await?, "P9")?;
    let all = delete_collection(&world.east, KIND, &member_namespace(EAST), "").await;
    refused("deleted with all", all, "P9")?;

    for (client, way) in [(&world.agent, Way::Put), (&world.original, Way::Put)] {
        passed("by the hub", change(client, KIND, &given, way, other).await?)?;
    }
    passed("by the hub", delete(&world.original, KIND, &given).await?)
}

/// A Go importer adds its finalizer with a PUT of what it knows.
async fn go_importers_do_not_know_draining_endpoints(world: &World) -> Result<()> {
    let mut import = object(KIND, EAST, "p9-draining");
    import["spec"]["drainingEndpoints"] = json!([{ "addresses": ["10.1.0.9"] }]);
    import["spec"]["endpoints"][0]["hostname"] = json!("web-0");
    import["spec"]["endpoints"][0]["zone"] = json!("a");
    import["spec"]["endpoints"][0]["executor"] = json!("west");
    let given = passed("by the hub", create(&world.agent, KIND, &import).await?)?;
    let as_go = |object: &mut Value| {
        object["metadata"]["finalizers"] = json!([finalizers::ENDPOINT_SLICE_IMPORT]);
        if let Some(spec) = object["spec"].as_object_mut() {
            spec.remove("drainingEndpoints");
            spec["endpoints"] = json!([{ "addresses": ["10.1.0.1"] }]);
        }
    };
    let forged = |object: &mut Value| {
        as_go(object);
        object["spec"]["endpoints"] = json!([{ "addresses": ["10.1.0.66"] }]);
    };
    let other = |object: &mut Value| {
        object["spec"]["drainingEndpoints"] = json!([{ "addresses": ["10.1.0.66"] }]);
    };
    refused_by_all(("forged", &REMOVING), &world.east, KIND, &given, forged, "P9").await?;
    refused_by_all(("other", &WAYS), &world.east, KIND, &given, other, "P9").await?;
    passed("as Go", change(&world.east, KIND, &given, Way::Put, as_go).await?)?;
    Ok(())
}

async fn origins_are_the_hubs(world: &World) -> Result<()> {
    let given = import(world, EAST, "p10").await?;
    let member = &world.east;
    let label = |object: &mut Value| object["metadata"]["labels"]["a"] = json!("c");
    refused_by_all(("label", &WAYS), member, KIND, &given, label, "P10").await?;
    let forged = |object: &mut Value| {
        object["metadata"]["annotations"][annotations::ORIGIN_NAMESPACE] = json!("fleet-member-y");
    };
    refused_by_all(("origin", &WAYS), member, KIND, &given, forged, "P10").await?;
    let noted = |object: &mut Value| object["metadata"]["annotations"]["a.b/c"] = json!("d");
    refused_by_all(("annotation", &WAYS), member, KIND, &given, noted, "P10").await?;
    let owned = |object: &mut Value| {
        object["metadata"]["ownerReferences"] =
            json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u" }]);
    };
    refused_by_all(("owner", &WAYS), member, KIND, &given, owned, "P10").await?;
    let bare = |object: &mut Value| {
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("annotations");
        }
    };
    refused_by_all(("bare", &REMOVING), member, KIND, &given, bare, "P10").await?;

    // What Go importers note, and the finalizer in the same PUT.
    let measured = |object: &mut Value| {
        object["metadata"]["annotations"][annotations::LAST_OBSERVED_GENERATION] = json!("7");
        object["metadata"]["finalizers"] = json!([finalizers::ENDPOINT_SLICE_IMPORT]);
    };
    for way in WAYS {
        passed("measured", change(member, KIND, &given, way, measured).await?)?;
    }
    passed("labelled by the hub", change(&world.agent, KIND, &given, Way::Put, label).await?)?;
    Ok(())
}

/// Of what members note there is little, and no more than of other metadata.
async fn what_was_measured_is_short(world: &World) -> Result<()> {
    let given = import(world, EAST, "p10-short").await?;
    let prefix = annotations::LAST_OBSERVED_GENERATION;
    let long = |object: &mut Value| {
        object["metadata"]["annotations"][prefix] = json!("7".repeat(256));
    };
    refused_by_all(("long", &WAYS), &world.east, KIND, &given, long, "P10").await?;
    let many = |object: &mut Value| {
        for number in 0..33 {
            object["metadata"]["annotations"][format!("{prefix}-{number}")] = json!("7");
        }
    };
    refused_by_all(("many", &WAYS), &world.east, KIND, &given, many, "P2").await?;
    passed("by the hub", change(&world.agent, KIND, &given, Way::Put, long).await?)?;
    // What is there is no obstacle for the member's own finalizer.
    let hold = |object: &mut Value| {
        object["metadata"]["finalizers"] = json!([finalizers::ENDPOINT_SLICE_IMPORT]);
    };
    passed("held", change(&world.east, KIND, &given, Way::JsonPatch, hold).await?)?;
    Ok(())
}

async fn a_member_lets_go_of_its_imports(world: &World) -> Result<()> {
    let own = finalizers::ENDPOINT_SLICE_IMPORT;
    let given = import(world, WEST, "p11").await?;
    let set = |finalizers: Value| {
        move |object: &mut Value| object["metadata"]["finalizers"] = finalizers.clone()
    };
    // West has the right to patch, east that to everything.
    let [put, both] = [[Way::Put].as_slice(), &[Way::MergePatch, Way::JsonPatch]];
    let foreign = set(json!([own, "a.b/c"]));
    refused_by_all(("a foreign one", both), &world.west, KIND, &given, &foreign, "P11").await?;
    let given_to_east = import(world, EAST, "p11").await?;
    refused_by_all(("a foreign one", put), &world.east, KIND, &given_to_east, &foreign, "P11")
        .await?;
    passed("by the hub", change(&world.agent, KIND, &given, Way::Put, &foreign).await?)?;
    let none = set(json!([]));
    refused_by_all(("all", both), &world.west, KIND, &given, &none, "P11").await?;

    let hold = set(json!(["a.b/c"]));
    passed("its own off", change(&world.west, KIND, &given, Way::JsonPatch, &hold).await?)?;
    passed("and on", change(&world.west, KIND, &given, Way::MergePatch, &foreign).await?)?;
    passed("by the hub", change(&world.agent, KIND, &given, Way::Put, set(json!([own]))).await?)?;
    passed("deleted by the hub", delete(&world.agent, KIND, &given).await?)?;
    passed("let go", change(&world.west, KIND, &given, Way::JsonPatch, &none).await?)?;
    // A member that is gone for good removes no finalizer.
    passed("deleted by the hub", delete(&world.agent, KIND, &given_to_east).await?)?;
    passed("forced", change(&world.agent, KIND, &given_to_east, Way::JsonPatch, &none).await?)?;
    Ok(())
}
