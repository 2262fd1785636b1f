//! P1, P7, P8 and P11: a member speaks in its own name, consistently, of one thing at a time, and leaves to the hub
//! what the hub has to tidy up.

use anyhow::{Context, Result, bail, ensure};
use fleet_api::kinds;
use serde_json::{Value, json};

use crate::Tests;
use crate::objects::{EXPORTED, finalizer, object};
use crate::ways::{
    REMOVING, WAYS, Way, change, create, create_by_apply, delete, passed, refused, refused_by_all,
};
use crate::world::{EAST, WEST, World};

pub(crate) fn add(tests: &mut Tests) {
    tests.add("P1::a_member_speaks_in_its_own_name", a_member_speaks_in_its_own_name);
    tests.add("P7::references_do_not_contradict_themselves", references_do_not_contradict);
    tests.add("P8::what_an_object_is_about_stays", what_an_object_is_about_stays);
    tests.add("P11::the_hubs_finalizers_stay", the_hubs_finalizers_stay);
}

/// C2.
async fn a_member_speaks_in_its_own_name(world: &World) -> Result<()> {
    // The last but one has a Cyrillic letter.
    let spoofed = [WEST, "", "EAST", "hub", "../west", "e\u{430}st", &"x".repeat(253)];
    for (kind, reference) in EXPORTED {
        let mine = object(kind, EAST, "p1");
        passed("its own name", create(&world.east, kind, &mine).await?)?;
        for name in spoofed {
            let spoof = |object: &mut Value| object["spec"][reference]["clusterId"] = json!(name);
            let mut other = object(kind, EAST, "p1-spoofed");
            spoof(&mut other);
            let what = format!("{} of {name:?}", kind.kind);
            refused(&what, create(&world.east, kind, &other).await?, "P1")?;
            refused(&what, create_by_apply(&world.east, kind, &other).await?, "P1")?;
            refused_by_all((&what, &WAYS), &world.east, kind, &mine, spoof, "P1").await?;
        }
        // Rights end at the namespace, policies or not.
        let foreign = create(&world.west, kind, &object(kind, EAST, "p1-foreign")).await?;
        let Err(kube::Error::Api(status)) = foreign else { bail!("{foreign:?}") };
        ensure!(status.code == 403 && status.message.contains("cannot create"), "{status:?}");
    }
    Ok(())
}

async fn references_do_not_contradict(world: &World) -> Result<()> {
    for (kind, reference) in EXPORTED {
        let mine = object(kind, EAST, "p7");
        passed("consistent", create(&world.east, kind, &mine).await?)?;
        let of_slice = (kind == kinds::ENDPOINT_SLICE_EXPORT).then_some("ownerServiceReference");
        for field in [reference].into_iter().chain(of_slice) {
            for (key, text) in [
                ("namespacedName", "kube-system/dns"),
                ("namespacedName", "web"),
                ("namespacedName", ""),
                ("namespace", "kube-system"),
                ("name", "other"),
            ] {
                let mut other = object(kind, EAST, "p7-other");
                other["spec"][field][key] = json!(text);
                let what = format!("{} with {field}.{key}={text:?}", kind.kind);
                refused(&what, create(&world.east, kind, &other).await?, "P7")?;
            }
            // Joined they are the same text.
            let mut slash = object(kind, EAST, "p7-slash");
            slash["spec"][field]["name"] = json!("a/b");
            slash["spec"][field]["namespacedName"] = json!("team/a/b");
            refused("a name with a slash", create(&world.east, kind, &slash).await?, "P7")?;
        }
        if let Some(field) = of_slice {
            let mut apart = object(kind, EAST, "p7-apart");
            apart["spec"][field] =
                json!({ "namespace": "a", "name": "web", "namespacedName": "a/web" });
            refused("slice and Service apart", create(&world.east, kind, &apart).await?, "P7")?;
        }
        let spoil = |object: &mut Value| object["spec"][reference]["namespacedName"] = json!("a/b");
        refused_by_all(("changed", &WAYS), &world.east, kind, &mine, spoil, "P7").await?;
    }
    Ok(())
}

/// C5. Versions and times go on, as both implementations write them.
async fn what_an_object_is_about_stays(world: &World) -> Result<()> {
    for (kind, reference) in EXPORTED {
        let mine = object(kind, EAST, "p8");
        passed("made", create(&world.east, kind, &mine).await?)?;
        for (number, way) in WAYS.into_iter().enumerate() {
            let refresh = |object: &mut Value| {
                let of = &mut object["spec"][reference];
                of["resourceVersion"] = json!(format!("8{number}"));
                of["generation"] = json!(2 + number);
                of["exportedSince"] = json!(format!("2026-01-01T00:00:0{number}Z"));
            };
            passed("refreshed", change(&world.east, kind, &mine, way, refresh).await?)?;
        }
        let other_uid = |object: &mut Value| object["spec"][reference]["uid"] = json!("another");
        if kind == kinds::ENDPOINT_SLICE_EXPORT {
            refused_by_all(("uid", &WAYS), &world.east, kind, &mine, other_uid, "P8").await?;
        } else {
            // The ServiceImport or the Service of the member was made anew.
            for way in [Way::Put, Way::JsonPatch] {
                passed("uid", change(&world.east, kind, &mine, way, other_uid).await?)?;
            }
        }
        let rename = |of: &mut Value| {
            of["name"] = json!("admin");
            of["namespacedName"] = json!("team/admin");
        };
        let renamed = |object: &mut Value| rename(&mut object["spec"][reference]);
        refused_by_all(("name", &WAYS), &world.east, kind, &mine, renamed, "P8").await?;
        if kind == kinds::ENDPOINT_SLICE_EXPORT {
            let given = |object: &mut Value| rename(&mut object["spec"]["ownerServiceReference"]);
            refused_by_all(("Service", &WAYS), &world.east, kind, &mine, given, "P8").await?;
        }
    }
    Ok(())
}

/// C8. What is deleted goes when the hub has removed its finalizer, and another may take its name.
async fn the_hubs_finalizers_stay(world: &World) -> Result<()> {
    for (kind, reference) in EXPORTED {
        let mine = object(kind, EAST, "p11");
        passed("made", create(&world.east, kind, &mine).await?)?;
        let strip = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
        let swap = |object: &mut Value| object["metadata"]["finalizers"] = json!(["a.b/c"]);
        refused_by_all(("stripped", &REMOVING), &world.east, kind, &mine, strip, "P11").await?;
        refused_by_all(("swapped", &REMOVING), &world.east, kind, &mine, swap, "P11").await?;
        let more = |object: &mut Value| {
            object["metadata"]["finalizers"] = json!(["a.b/c", finalizer(kind)]);
        };
        passed("one more", change(&world.east, kind, &mine, Way::JsonPatch, more).await?)?;
        let own = |object: &mut Value| object["metadata"]["finalizers"] = json!([finalizer(kind)]);
        passed("and off", change(&world.east, kind, &mine, Way::JsonPatch, own).await?)?;

        passed("deleted", delete(&world.east, kind, &mine).await?)?;
        refused_by_all(("going", &REMOVING), &world.east, kind, &mine, strip, "P11").await?;
        let released = change(&world.agent, kind, &mine, Way::JsonPatch, strip).await?;
        passed("the hub lets go", released)?;
        let mut next = mine;
        next["spec"][reference]["uid"] = json!("another");
        passed("the next of the name", create(&world.east, kind, &next).await?)
            .context(kind.kind)?;
        let released = change(&world.original, kind, &next, Way::Put, strip).await?;
        passed("the original lets go", released)?;
    }
    Ok(())
}
