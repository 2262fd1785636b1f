//! P2 of whole objects: of labels, annotations, finalizers, owners and managed fields, and of parts whose fields are bounded one by one.

use anyhow::Result;
use fleet_api::{ResourceKind, kinds};
use serde_json::{Value, json};

use crate::Tests;
use crate::bounds::names;
use crate::multicluster::export;
use crate::objects::{EXPORTED, object};
use crate::offload;
use crate::ways::{
    REMOVING, WAYS, Way, change, create, create_by_apply, delete, passed, refused, refused_by_all,
};
use crate::world::{EAST, WEST, World};

pub(crate) fn add(tests: &mut Tests) {
    tests.add("P2::metadata_has_a_size", metadata_has_a_size);
    let stays = what_has_much_metadata_already_may_stay;
    tests.add("P2::what_has_much_metadata_already_may_stay", stays);
    tests.add("P2::managed_fields_have_a_size", managed_fields_have_a_size);
    tests.add("P2::parts_have_a_size", parts_have_a_size);
}

/// An object of each kind that a member makes, with no metadata yet.
fn all(name: &str) -> Vec<(ResourceKind, Value)> {
    let exported = EXPORTED.map(|(kind, _)| {
        let mut object = object(kind, EAST, name);
        object["metadata"]["finalizers"] = json!([]);
        (kind, object)
    });
    let service = (kinds::EXPORTED_SERVICE, export(EAST, "shop", name));
    let pod = (kinds::POD_EXPORT, pod(name));
    let offer = offload::object(kinds::OFFLOAD_OFFER, EAST, name, offload::offer());
    exported.into_iter().chain([service, pod, (kinds::OFFLOAD_OFFER, offer)]).collect()
}

fn pod(uid: &str) -> Value {
    offload::object(kinds::POD_EXPORT, EAST, uid, offload::spec(EAST, uid, WEST))
}

/// So many entries with values of this text.
fn entries(count: usize, value: &str) -> Value {
    (0..count).map(|number| (format!("a.b/{number}"), json!(value))).collect()
}

fn owners(count: usize, name: &str) -> Value {
    let owner = |number| json!({ "apiVersion": "v1", "kind": "A", "name": name, "uid": format!("{number}") });
    (0..count).map(owner).collect()
}

fn finalizers(count: usize) -> Value {
    (0..count).map(|number| json!(format!("a.b/c{number}"))).collect()
}

fn too_much() -> [(&'static str, Value); 7] {
    [
        ("labels", entries(33, "")),
        // As many as may be, but longer than that together.
        ("labels", entries(32, &"l".repeat(63)).as_object().map_or(Value::Null, long_keys)),
        ("annotations", entries(33, "")),
        ("annotations", entries(1, &"ä".repeat(2048))),
        ("finalizers", finalizers(9)),
        ("ownerReferences", owners(5, "a")),
        ("ownerReferences", owners(1, &"o".repeat(4096))),
    ]
}

fn long_keys(entries: &serde_json::Map<String, Value>) -> Value {
    let prefix = "p".repeat(60);
    entries.iter().map(|(key, value)| (format!("{prefix}.{key}"), value.clone())).collect()
}

/// More than agents write by far.
fn much(object: &mut Value) {
    object["metadata"]["labels"] = entries(32, "l");
    object["metadata"]["annotations"] = entries(32, &"v".repeat(60));
    object["metadata"]["finalizers"] = finalizers(8);
    object["metadata"]["ownerReferences"] = owners(4, "a");
}

async fn metadata_has_a_size(world: &World) -> Result<()> {
    let member = &world.east;
    for (kind, wanted) in all("p2-metadata") {
        for (part, value) in too_much() {
            let what = format!("{part} of {}", kind.kind);
            let mut large = wanted.clone();
            large["metadata"][part] = value;
            refused(&what, create(member, kind, &large).await?, "P2")?;
            refused(&what, create_by_apply(member, kind, &large).await?, "P2")?;
        }
        passed(kind.kind, create(member, kind, &wanted).await?)?;
        for (part, value) in too_much() {
            let grow = |object: &mut Value| object["metadata"][part] = value.clone();
            let what = format!("{part} of {}", kind.kind);
            refused_by_all((&what, &REMOVING), member, kind, &wanted, grow, "P2").await?;
        }
        passed(kind.kind, change(member, kind, &wanted, Way::Put, much).await?)?;
        // Also where the whole gets smaller by it.
        for (part, value) in too_much() {
            let more = |object: &mut Value| object["metadata"][part] = value.clone();
            let what = format!("{part} of {} with much", kind.kind);
            refused(&what, change(member, kind, &wanted, Way::Put, more).await?, "P2")?;
        }
        let bare = |object: &mut Value| {
            for part in ["labels", "annotations", "finalizers", "ownerReferences"] {
                object["metadata"][part] = Value::Null;
            }
        };
        passed(kind.kind, change(member, kind, &wanted, Way::MergePatch, bare).await?)?;
        passed(kind.kind, delete(member, kind, &wanted).await?)?;
    }
    Ok(())
}

/// An admin can write anything, and stands for the time before there was a bound. The hub agent is not bound.
async fn what_has_much_metadata_already_may_stay(world: &World) -> Result<()> {
    for (kind, mut large) in all("p2-much") {
        // The hub agent changes no ExportedService.
        let hub = if kind == kinds::EXPORTED_SERVICE { &world.admin } else { &world.agent };
        large["metadata"]["annotations"] = entries(40, "old");
        passed(kind.kind, create(&world.admin, kind, &large).await?)?;
        let hold = |object: &mut Value| object["metadata"]["finalizers"] = json!(["a.b/c"]);
        passed(kind.kind, change(hub, kind, &large, Way::JsonPatch, hold).await?)?;
        let next = |object: &mut Value| match kind {
            kinds::INTERNAL_SERVICE_IMPORT => {
                object["spec"]["serviceImportReference"]["resourceVersion"] = json!("8");
            }
            kinds::POD_EXPORT => object["spec"]["stopGraceSeconds"] = json!(5),
            kinds::OFFLOAD_OFFER => object["spec"]["draining"] = json!(true),
            _ => object["spec"]["ports"][0]["port"] = json!(81),
        };
        passed(kind.kind, change(&world.east, kind, &large, Way::Put, next).await?)?;
        let less = |object: &mut Value| {
            let notes = object["metadata"]["annotations"].as_object_mut();
            notes.and_then(|notes| notes.remove(&notes.keys().next()?.clone()));
        };
        passed(kind.kind, change(&world.east, kind, &large, Way::Put, less).await?)?;
        let more = |object: &mut Value| object["metadata"]["annotations"]["one"] = json!("more");
        refused_by_all((kind.kind, &WAYS), &world.east, kind, &large, more, "P2").await?;
        passed(kind.kind, change(hub, kind, &large, Way::JsonPatch, more).await?)?;
        let fewer = |object: &mut Value| {
            object["metadata"]["annotations"] = Value::Null;
            object["metadata"]["finalizers"] = Value::Null;
        };
        passed(kind.kind, change(hub, kind, &large, Way::MergePatch, fewer).await?)?;
        passed(kind.kind, delete(&world.east, kind, &large).await?)?;
    }
    Ok(())
}

/// What a client states that managers have written; they do not have to have.
fn managed(kind: ResourceKind, fields: usize) -> Value {
    let field = |number| (format!("f:{number:0>90}"), json!({}));
    let written: Value = (0..fields).map(field).collect();
    json!([{
        "manager": "other", "operation": "Update", "apiVersion": kind.api_version(),
        "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1",
        "fieldsV1": { "f:metadata": { "f:annotations": written } },
    }])
}

async fn managed_fields_have_a_size(world: &World) -> Result<()> {
    let member = &world.east;
    for (kind, wanted) in all("p2-managed") {
        let fields = match kind {
            kinds::POD_EXPORT => 1500,
            kinds::INTERNAL_SERVICE_IMPORT | kinds::EXPORTED_SERVICE | kinds::OFFLOAD_OFFER => 400,
            _ => 100,
        };
        let mut large = wanted.clone();
        large["metadata"]["managedFields"] = managed(kind, fields);
        refused(kind.kind, create(member, kind, &large).await?, "P2")?;
        passed(kind.kind, create(member, kind, &wanted).await?)?;
        let forged =
            |object: &mut Value| object["metadata"]["managedFields"] = managed(kind, fields);
        let answer = change(member, kind, &wanted, Way::Put, forged).await?;
        refused(kind.kind, answer, "P2")?;
        // As with any server-side apply: there is one more manager.
        let applied = |object: &mut Value| object["metadata"]["labels"] = json!({ "a": "b" });
        passed(kind.kind, change(member, kind, &wanted, Way::Apply, applied).await?)?;
        passed(kind.kind, delete(member, kind, &wanted).await?)?;
    }
    Ok(())
}

/// A config map with so many texts of 60 000 characters.
fn config(name: &str, texts: usize) -> Value {
    let text = |number: usize| (number.to_string(), json!("x".repeat(60_000)));
    let data: Value = (0..texts).map(text).collect();
    json!({ "kind": "ConfigMap", "name": name, "data": data })
}

async fn parts_have_a_size(world: &World) -> Result<()> {
    let member = &world.east;
    let mut pod = pod("p2-pod");
    let args = |count| Value::from(vec!["a".repeat(4096); count]);
    pod["spec"]["pod"]["containers"][0]["args"] = args(64);
    names("spec.pod has more than 262144 bytes", create(member, kinds::POD_EXPORT, &pod).await?)?;
    // As much as an executor takes by default, and all config maps.
    pod["spec"]["pod"]["containers"][0]["args"] = args(15);
    pod["spec"]["configs"] = (0..8).map(|number| config(&number.to_string(), 1)).collect();
    passed("the largest Pod", create(member, kinds::POD_EXPORT, &pod).await?)?;
    let grow = |object: &mut Value| object["spec"]["configs"] = json!([config("large", 16)]);
    let answer = change(member, kinds::POD_EXPORT, &pod, Way::JsonPatch, grow).await?;
    names("spec has more than 917504 bytes", answer)?;
    passed("deleted", delete(member, kinds::POD_EXPORT, &pod).await?)?;

    let kind = kinds::EXPORTED_SERVICE;
    let mut service = export(EAST, "shop", "p2-parts");
    let ports = |protocol: &str| -> Value {
        let port = |number| json!({ "name": format!("p{number:0>60}"), "port": number, "appProtocol": protocol });
        (1..=100).map(port).collect()
    };
    service["spec"]["ports"] = ports(&"a".repeat(317));
    names("spec has more than 32768 bytes", create(member, kind, &service).await?)?;
    service["spec"]["ports"] = ports("kubernetes.io/h2c");
    service["spec"]["annotations"] = entries(4, &"v".repeat(2000));
    passed("the largest Service", create(member, kind, &service).await?)?;
    passed("deleted", delete(member, kind, &service).await?)?;
    reports_have_a_size(world).await
}

/// What an executor reports of a Pod.
async fn reports_have_a_size(world: &World) -> Result<()> {
    let kind = kinds::POD_IMPORT;
    let export = offload::spec(WEST, "p2-report", EAST);
    let name = format!("p2-report.{WEST}");
    let import = offload::object(kind, EAST, &name, json!({ "export": export }));
    passed("by the hub", create(&world.agent, kind, &import).await?)?;
    let reported = |count: usize| {
        move |object: &mut Value| {
            let container = |number| {
                json!({ "name": format!("c{number}"), "image": "i".repeat(512),
                    "state": { "message": "m".repeat(256), "reason": "r".repeat(256) } })
            };
            let containers: Value = (0..count).map(container).collect();
            object["status"] = json!({ "remote": {
                "phase": "Running", "containers": containers, "initContainers": containers,
            } });
        }
    };
    let answer = change(&world.east, kind, &import, Way::JsonPatch, reported(16)).await?;
    names("status has more than 16384 bytes", answer)?;
    passed("reported", change(&world.east, kind, &import, Way::JsonPatch, reported(3)).await?)?;
    let noted = |object: &mut Value| object["metadata"]["annotations"] = entries(33, "");
    refused_by_all(("noted", &REMOVING), &world.east, kind, &import, noted, "P2").await?;
    passed("deleted", delete(&world.agent, kind, &import).await?)
}
