//! P17: Pods of one member in another. A member speaks for itself alone, and runs what it is given.

use anyhow::Result;
use fleet_api::names::member_namespace;
use fleet_api::{ResourceKind, kinds};
use serde_json::{Value, json};

use crate::Tests;
use crate::ways::{
    WAYS, Way, change, create, create_by_apply, delete, passed, refused, refused_by_all,
};
use crate::world::{EAST, WEST, World};

pub(crate) fn add(tests: &mut Tests) {
    tests.add("P17::a_member_exports_its_own_pods", a_member_exports_its_own_pods);
    tests.add("P17::an_executor_runs_what_it_is_given", an_executor_runs_what_it_is_given);
    tests.add("P17::what_a_virtual_node_is_is_the_hubs", what_a_virtual_node_is_is_the_hubs);
}

#[expect(clippy::needless_pass_by_value, reason = "a literal of each case")]
pub(crate) fn object(kind: ResourceKind, member: &str, name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": kind.api_version(), "kind": kind.kind,
        "metadata": { "name": name, "namespace": member_namespace(member) }, "spec": spec,
    })
}

pub(crate) fn spec(cluster: &str, uid: &str, executor: &str) -> Value {
    json!({
        "origin": { "cluster": cluster, "namespace": "shop", "name": "web", "uid": uid },
        "executor": executor, "specHash": "h",
        "pod": { "containers": [{ "name": "web", "image": "example.com/web:1" }] },
    })
}

pub(crate) fn offer() -> Value {
    json!({ "originSelector": { "clusters": [EAST] }, "terms": { "namespaces": ["*"] },
        "capacity": { "cpu": "1", "memory": "1Gi", "pods": 5 } })
}

async fn a_member_exports_its_own_pods(world: &World) -> Result<()> {
    let kind = kinds::POD_EXPORT;
    let forged = object(kind, EAST, "u-forged", spec(WEST, "u-forged", WEST));
    refused("of another member", create(&world.east, kind, &forged).await?, "P17")?;
    refused("applied", create_by_apply(&world.east, kind, &forged).await?, "P17")?;
    let own = object(kind, EAST, "u-self", spec(EAST, "u-self", EAST));
    refused("to itself", create(&world.east, kind, &own).await?, "P17")?;
    let export = object(kind, EAST, "u-1", spec(EAST, "u-1", WEST));
    passed("its own", create(&world.east, kind, &export).await?)?;
    let answered = |object: &mut Value| object["status"] = json!({ "released": true });
    refused_by_all(("answered", &WAYS), &world.east, kind, &export, answered, "P17").await?;
    passed("by the hub", change(&world.agent, kind, &export, Way::JsonPatch, answered).await?)?;
    let stops = |object: &mut Value| object["spec"]["stopGraceSeconds"] = json!(5);
    passed("stopped", change(&world.east, kind, &export, Way::JsonPatch, stops).await?)?;
    passed("deleted", delete(&world.east, kind, &export).await?)
}

async fn an_executor_runs_what_it_is_given(world: &World) -> Result<()> {
    let kind = kinds::POD_IMPORT;
    let name = format!("u-2.{WEST}");
    let mut import = object(kind, EAST, &name, json!({ "export": spec(WEST, "u-2", EAST) }));
    import["metadata"]["finalizers"] =
        json!(["offload.networking.fleet.azure.com/podimport-cleanup"]);
    refused("made", create(&world.east, kind, &import).await?, "P17")?;
    passed("by the hub", create(&world.agent, kind, &import).await?)?;
    let image = |object: &mut Value| {
        object["spec"]["export"]["pod"]["containers"][0]["image"] = json!("example.com/evil:1");
    };
    refused_by_all(("changed", &WAYS), &world.east, kind, &import, image, "P17").await?;
    let freed = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
    refused("freed", change(&world.east, kind, &import, Way::JsonPatch, freed).await?, "P17")?;
    refused("deleted", delete(&world.east, kind, &import).await?, "P17")?;
    let released = |object: &mut Value| object["status"] = json!({ "released": true });
    passed("released", change(&world.east, kind, &import, Way::JsonPatch, released).await?)?;
    passed("by the hub", delete(&world.agent, kind, &import).await?)?;
    passed("freed", change(&world.east, kind, &import, Way::JsonPatch, freed).await?)?;
    Ok(())
}

async fn what_a_virtual_node_is_is_the_hubs(world: &World) -> Result<()> {
    let kind = kinds::VIRTUAL_NODE;
    let spec = json!({ "executor": WEST, "phase": "Offered", "terms": { "namespaces": ["*"] },
        "capacity": { "cpu": "1", "memory": "1Gi", "pods": 5 } });
    let node = object(kind, EAST, WEST, spec);
    refused("made", create(&world.east, kind, &node).await?, "P17")?;
    passed("by the hub", create(&world.agent, kind, &node).await?)?;
    let accepted = |object: &mut Value| object["spec"]["phase"] = json!("Accepted");
    refused_by_all(("accepted", &WAYS), &world.east, kind, &node, accepted, "P17").await?;
    let heard = |object: &mut Value| {
        let since = "2026-01-01T00:00:00Z";
        object["status"] =
            json!({ "executor": { "cluster": WEST, "state": "Connected", "since": since } });
    };
    refused_by_all(("forged", &WAYS), &world.east, kind, &node, heard, "P17").await?;
    let consent = |object: &mut Value| object["status"] = json!({ "accepted": true });
    passed("consent", change(&world.east, kind, &node, Way::JsonPatch, consent).await?)?;
    refused("deleted", delete(&world.east, kind, &node).await?, "P17")?;
    passed("by the hub", delete(&world.agent, kind, &node).await?)?;

    let kind = kinds::OFFLOAD_OFFER;
    let offer = object(kind, EAST, "offer", offer());
    passed("an offer", create(&world.east, kind, &offer).await?)?;
    let silent = |object: &mut Value| object["status"] = json!({ "withdrawn": "forged" });
    refused_by_all(("answered", &WAYS), &world.east, kind, &offer, silent, "P17").await?;
    passed("deleted", delete(&world.east, kind, &offer).await?)
}
