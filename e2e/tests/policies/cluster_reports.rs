//! P14: which cluster has the name of a member is recorded once, and given to another one by administrators alone.

use anyhow::{Context, Result, ensure};
use fleet_api::kinds;
use fleet_api::names::member_namespace;
use serde_json::{Value, json};

use crate::Tests;
use crate::ways::{
    REMOVING, WAYS, Way, change, create, create_by_apply, delete, passed, refused, refused_by_all,
};
use crate::world::{EAST, World};

pub(crate) fn add(tests: &mut Tests) {
    tests.add("P14::a_cluster_is_recorded_once", a_cluster_is_recorded_once);
}

fn report(name: &str, uid: &str) -> Value {
    let kind = kinds::CLUSTER_REPORT;
    json!({
        "apiVersion": kind.api_version(), "kind": kind.kind,
        "metadata": { "name": name, "namespace": member_namespace(EAST) },
        "spec": { "clusterUid": uid },
    })
}

/// A member with every right in its namespace records its cluster, no other name, and changes nothing afterwards.
async fn a_cluster_is_recorded_once(world: &World) -> Result<()> {
    let kind = kinds::CLUSTER_REPORT;
    let (own, other) = (report(EAST, "first"), report("west", "first"));
    refused("of another name", create(&world.east, kind, &other).await?, "P14")?;
    refused("applied", create_by_apply(&world.east, kind, &other).await?, "P14")?;
    // Nor under its own name what administrators could not delete, or what would go with an object of the member.
    let owner = json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u" }]);
    for (field, value) in [
        ("labels", json!({ "a": "b" })),
        ("annotations", json!({ "a": "b" })),
        ("finalizers", json!(["a.b/c"])),
        ("ownerReferences", owner),
    ] {
        let mut bad = own.clone();
        bad["metadata"][field] = value;
        refused(field, create(&world.east, kind, &bad).await?, "P14")?;
        refused(field, create_by_apply(&world.east, kind, &bad).await?, "P14")?;
    }
    passed("its own", create(&world.east, kind, &own).await?)?;

    let labelled = |object: &mut Value| object["metadata"]["labels"] = json!({ "a": "b" });
    refused_by_all(("labelled", &WAYS), &world.east, kind, &own, labelled, "P14").await?;
    let held = |object: &mut Value| object["metadata"]["finalizers"] = json!(["a.b/c"]);
    refused_by_all(("held", &REMOVING), &world.east, kind, &own, held, "P14").await?;
    let answered = |object: &mut Value| object["status"] = json!({ "incarnation": "forged/0" });
    refused_by_all(("answered", &WAYS), &world.east, kind, &own, answered, "P14").await?;
    // Where the hub serves the standard API, the member reports that all it exports is there, and nothing else.
    for (number, way) in WAYS.into_iter().enumerate() {
        let hub = format!("hub/{number}");
        let published = |object: &mut Value| object["spec"]["publishedTo"] = json!(hub);
        passed("published", change(&world.east, kind, &own, way, published).await?)?;
    }
    refused("deleted", delete(&world.east, kind, &own).await?, "P14")?;
    let answer = |object: &mut Value| object["status"] = json!({ "incarnation": "hub/0" });
    passed("by the hub", change(&world.agent, kind, &own, Way::JsonPatch, answer).await?)?;

    // The definition forbids it even to administrators, who delete it instead.
    let moved = |object: &mut Value| object["spec"]["clusterUid"] = json!("second");
    for client in [&world.east, &world.admin] {
        let answer = change(client, kind, &own, Way::MergePatch, moved).await?;
        ensure!(answer.is_err(), "the uid was changed");
    }
    let long = report("long", &"x".repeat(65));
    let answer = create(&world.admin, kind, &long).await?;
    let refusal = answer.err().context("a uid of any length")?.to_string();
    ensure!(refusal.contains("clusterUid"), "{refusal}");
    passed("by an administrator", delete(&world.admin, kind, &own).await?)
}
