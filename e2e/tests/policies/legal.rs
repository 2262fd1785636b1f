//! Writes that must stay legal whatever the rules: those of agents of both kinds with no more rights than they have, of
//! Kubernetes, of admins, and tidying up what is older than the policies.

use std::time::Duration;

use anyhow::Result;
use fleet_api::names::member_namespace;
use fleet_api::{annotations, finalizers, kinds};
use fleet_testbed::objects::api;
use fleet_testbed::wait::wait_until;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::DeleteParams;
use serde_json::{Value, json};

use crate::Tests;
use crate::objects::{EXPORTED, finalizer, object};
use crate::ways::{Way, change, create, delete, passed};
use crate::world::{WEST, World};

/// For the namespace controller.
const DEADLINE: Duration = Duration::from_mins(2);

pub(crate) fn add(tests: &mut Tests) {
    tests.add("legal::what_our_member_agent_writes", what_our_member_agent_writes);
    tests.add("legal::what_the_original_writes", what_the_original_writes);
    tests.add("legal::what_is_broken_already_can_be_tidied_up", what_is_broken_can_be_tidied_up);
    tests.add("legal::a_member_namespace_goes", a_member_namespace_goes);
}

/// With the rights of the chart: a `POST` with the hub's finalizer, then a `PUT` of slices and patches of exports.
async fn what_our_member_agent_writes(world: &World) -> Result<()> {
    for (kind, reference) in EXPORTED {
        let mine = object(kind, WEST, "ours");
        passed("made", create(&world.west, kind, &mine).await?)?;
        let next = |object: &mut Value| object["spec"][reference]["resourceVersion"] = json!("8");
        let way = match kind {
            kinds::ENDPOINT_SLICE_EXPORT => Some(Way::Put),
            kinds::INTERNAL_SERVICE_EXPORT => Some(Way::JsonPatch),
            _ => None,
        };
        if let Some(way) = way {
            passed("changed", change(&world.west, kind, &mine, way, next).await?)?;
        }
        passed("deleted", delete(&world.west, kind, &mine).await?)?;
        let strip = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
        passed("let go", change(&world.agent, kind, &mine, Way::JsonPatch, strip).await?)?;
    }
    Ok(())
}

/// A `POST` without finalizers, `PUT`s of everything; the hub's side adds the finalizer later.
async fn what_the_original_writes(world: &World) -> Result<()> {
    const MEMBER: &str = "original";
    let member = &world.join(MEMBER).await?;
    for (kind, reference) in EXPORTED {
        let mut mine = object(kind, MEMBER, "theirs");
        mine["metadata"]["finalizers"] = json!([]);
        passed("made", create(member, kind, &mine).await?)?;
        let hold = |object: &mut Value| object["metadata"]["finalizers"] = json!([finalizer(kind)]);
        passed("held", change(&world.original, kind, &mine, Way::Put, hold).await?)?;
        let next = |object: &mut Value| {
            object["spec"][reference]["resourceVersion"] = json!("8");
            object["spec"][reference]["generation"] = json!(8);
        };
        passed("refreshed", change(member, kind, &mine, Way::Put, next).await?)?;
        let observed = |object: &mut Value| {
            object["metadata"]["annotations"][annotations::LAST_OBSERVED_RESOURCE_VERSION] =
                json!("8");
        };
        passed("measured", change(member, kind, &mine, Way::Put, observed).await?)?;
        passed("deleted", delete(member, kind, &mine).await?)?;
        let strip = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
        passed("let go", change(&world.original, kind, &mine, Way::Put, strip).await?)?;
    }
    let mut copy = object(kinds::ENDPOINT_SLICE_IMPORT, MEMBER, "theirs");
    copy["metadata"]["finalizers"] = json!([]);
    let kind = kinds::ENDPOINT_SLICE_IMPORT;
    passed("copied", create(&world.original, kind, &copy).await?)?;
    let hold = |object: &mut Value| {
        object["metadata"]["finalizers"] = json!([finalizers::ENDPOINT_SLICE_IMPORT]);
    };
    passed("held", change(member, kind, &copy, Way::Put, hold).await?)?;
    let observed = |object: &mut Value| {
        object["metadata"]["annotations"][annotations::LAST_OBSERVED_GENERATION] = json!("8");
    };
    passed("measured", change(member, kind, &copy, Way::Put, observed).await?)?;
    passed("deleted", delete(&world.original, kind, &copy).await?)?;
    let strip = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
    passed("let go", change(member, kind, &copy, Way::Put, strip).await?)?;
    Ok(())
}

/// An admin can write anything, and stands for the time before the policies.
async fn what_is_broken_can_be_tidied_up(world: &World) -> Result<()> {
    for (kind, reference) in EXPORTED {
        let mut broken = object(kind, WEST, "broken");
        broken["spec"][reference]["clusterId"] = json!("nobody");
        broken["spec"][reference]["namespacedName"] = json!("nothing");
        if kind == kinds::ENDPOINT_SLICE_EXPORT {
            broken["spec"]["endpoints"] = json!([{ "addresses": ["localhost"] }]);
        }
        passed("by an admin", create(&world.admin, kind, &broken).await?)?;
        let note = |object: &mut Value| object["metadata"]["annotations"]["a.b/c"] = json!("d");
        passed("noted", change(&world.agent, kind, &broken, Way::JsonPatch, note).await?)?;
        passed("deleted", delete(&world.west, kind, &broken).await?)?;
        let strip = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
        passed("let go", change(&world.agent, kind, &broken, Way::JsonPatch, strip).await?)?;
    }
    Ok(())
}

/// As KubeFleet takes a member away. Kubernetes deletes what the member has, imports too.
async fn a_member_namespace_goes(world: &World) -> Result<()> {
    const MEMBER: &str = "leaver";
    let member = &world.join(MEMBER).await?;
    let mut left = Vec::new();
    for (kind, _) in EXPORTED {
        let mine = object(kind, MEMBER, "left");
        passed("made", create(member, kind, &mine).await?)?;
        left.push((kind, mine));
    }
    let copy = object(kinds::ENDPOINT_SLICE_IMPORT, MEMBER, "left");
    let kind = kinds::ENDPOINT_SLICE_IMPORT;
    passed("given", create(&world.agent, kind, &copy).await?)?;
    left.push((kind, copy));

    let namespace = member_namespace(MEMBER);
    let namespaces: Api<Namespace> = Api::all(world.admin.clone());
    namespaces.delete(&namespace, &DeleteParams::default()).await?;
    for (kind, object) in &left {
        let objects = api(world.admin.clone(), *kind, Some(&namespace));
        wait_until(&format!("the {} is deleted", kind.kind), DEADLINE, async || {
            Ok(objects.get("left").await?.metadata.deletion_timestamp.is_some())
        })
        .await?;
        let strip = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
        passed("let go", change(&world.agent, *kind, object, Way::JsonPatch, strip).await?)?;
    }
    wait_until("the namespace is gone", DEADLINE, async || {
        Ok(namespaces.get_opt(&namespace).await?.is_none())
    })
    .await
}
