//! P12: who imports a Service, and what the hub answers, is the hub's to decide.

use anyhow::Result;
use fleet_api::{ResourceKind, annotations, finalizers, kinds};
use serde_json::{Value, json};

use crate::Tests;
use crate::objects::object;
use crate::ways::{REMOVING, WAYS, Way, change, create, delete, passed, refused, refused_by_all};
use crate::world::{EAST, TEAM, World};

pub(crate) fn add(tests: &mut Tests) {
    tests.add("P12::claims_are_the_hubs", claims_are_the_hubs);
    tests.add("P12::owners_are_the_hubs", owners_are_the_hubs);
    tests.add("P12::answers_are_the_hubs", answers_are_the_hubs);
}

fn import(name: &str) -> Value {
    json!({
        "apiVersion": kinds::SERVICE_IMPORT.api_version(), "kind": kinds::SERVICE_IMPORT.kind,
        "metadata": { "name": name, "namespace": TEAM },
    })
}

fn claim(member: &str) -> Value {
    let claim = json!({ "MemberClusters": { format!("fleet-member-{member}"): member } });
    json!(claim.to_string())
}

/// C9.
async fn claims_are_the_hubs(world: &World) -> Result<()> {
    let kind = kinds::SERVICE_IMPORT;
    let claimed_by = |member: &'static str| {
        move |object: &mut Value| {
            object["metadata"]["annotations"][annotations::SERVICE_IN_USE_BY] = claim(member);
            object["metadata"]["finalizers"] = json!([finalizers::SERVICE_IMPORT]);
        }
    };
    let mut forged = import("p12-forged");
    claimed_by(EAST)(&mut forged);
    refused("made", create(&world.user, kind, &forged).await?, "P12")?;

    let import = import("p12");
    passed("by the hub", create(&world.agent, kind, &import).await?)?;
    refused_by_all(("claimed", &WAYS), &world.user, kind, &import, claimed_by(EAST), "P12").await?;
    for (hub, member) in [(&world.agent, EAST), (&world.original, "x"), (&world.agent, EAST)] {
        let claimed = change(hub, kind, &import, Way::MergePatch, claimed_by(member)).await?;
        passed("by the hub", claimed)?;
    }
    refused_by_all(("claimed", &WAYS), &world.user, kind, &import, claimed_by("y"), "P12").await?;
    let unclaimed = |object: &mut Value| object["metadata"]["annotations"] = json!({});
    refused_by_all(("taken", &REMOVING), &world.user, kind, &import, unclaimed, "P12").await?;
    let stripped = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
    refused_by_all(("stripped", &REMOVING), &world.user, kind, &import, stripped, "P12").await?;
    // It is an object in their namespace after all.
    let labelled = |object: &mut Value| object["metadata"]["labels"] = json!({ "a": "b" });
    for way in WAYS {
        passed("labelled", change(&world.user, kind, &import, way, labelled).await?)?;
    }
    passed("deleted", delete(&world.user, kind, &import).await?)?;
    refused_by_all(("going", &REMOVING), &world.user, kind, &import, stripped, "P12").await?;
    let released = change(&world.agent, kind, &import, Way::MergePatch, stripped).await?;
    passed("by the hub", released)?;
    Ok(())
}

/// With an owner a ServiceImport is deleted when the owner is, and that of a MultiClusterService is not the hub's. No API
/// server serves the other kind, so that the garbage collector does nothing.
async fn owners_are_the_hubs(world: &World) -> Result<()> {
    let kind = kinds::SERVICE_IMPORT;
    let reference = |of: ResourceKind, uid: &str| {
        let version = of.api_version();
        json!({ "apiVersion": version, "kind": of.kind, "name": "web", "uid": uid })
    };
    let unserved = ResourceKind { group: "example.com", kind: "Other", ..kind };
    for of in [kinds::MULTI_CLUSTER_SERVICE, unserved] {
        let mut forged = import("p12-owned");
        forged["metadata"]["ownerReferences"] = json!([reference(of, "1")]);
        refused("made", create(&world.user, kind, &forged).await?, "P12")?;
    }

    let import = import("p12-owners");
    passed("by the hub", create(&world.agent, kind, &import).await?)?;
    let owned_by = |owners: Value| {
        move |object: &mut Value| object["metadata"]["ownerReferences"] = owners.clone()
    };
    let [owned, other] = ["1", "2"].map(|uid| owned_by(json!([reference(unserved, uid)])));
    refused_by_all(("owned", &WAYS), &world.user, kind, &import, &owned, "P12").await?;
    for hub in [&world.admin, &world.agent] {
        passed("set", change(hub, kind, &import, Way::MergePatch, &owned).await?)?;
        refused_by_all(("other", &REMOVING), &world.user, kind, &import, &other, "P12").await?;
        let labelled = |object: &mut Value| object["metadata"]["labels"] = json!({ "a": "b" });
        for way in WAYS {
            passed("labelled", change(&world.user, kind, &import, way, labelled).await?)?;
        }
        let bare = owned_by(json!([]));
        passed("taken off", change(&world.user, kind, &import, Way::JsonPatch, &bare).await?)?;
    }
    passed("deleted", delete(&world.user, kind, &import).await?)
}

async fn answers_are_the_hubs(world: &World) -> Result<()> {
    let import = import("p12-status");
    passed("made", create(&world.user, kinds::SERVICE_IMPORT, &import).await?)?;
    let mut objects = vec![(&world.user, kinds::SERVICE_IMPORT, import)];
    for kind in [kinds::INTERNAL_SERVICE_EXPORT, kinds::INTERNAL_SERVICE_IMPORT] {
        let object = object(kind, EAST, "p12");
        passed("made", create(&world.east, kind, &object).await?)?;
        objects.push((&world.east, kind, object));
    }
    for (client, kind, object) in &objects {
        let export = *kind == kinds::INTERNAL_SERVICE_EXPORT;
        let answer = |number: u8| {
            move |object: &mut Value| {
                object["status"] = if export {
                    json!({ "conditions": [{
                        "type": "Conflict", "status": "False", "reason": format!("Reason{number}"),
                        "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
                    }] })
                } else {
                    json!({ "type": "ClusterSetIP", "clusters": [{ "cluster": format!("c{number}") }] })
                };
            }
        };
        refused_by_all((kind.kind, &WAYS), client, *kind, object, answer(1), "P12").await?;
        for (number, hub) in [&world.agent, &world.original].into_iter().enumerate() {
            let number = u8::try_from(number)? + 2;
            let way = [Way::JsonPatch, Way::Put][usize::from(number) - 2];
            passed(kind.kind, change(hub, *kind, object, way, answer(number)).await?)?;
        }
    }
    Ok(())
}
