//! P6, P12 and P15 for what members export by the standard API, and the bounds of its kinds.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace};
use fleet_api::{ResourceKind, kinds};
use fleet_testbed::wait::wait_until;
use serde_json::{Value, json};

use crate::Tests;
use crate::ways::{
    WAYS, Way, change, create, create_by_apply, delete, dry_run, passed, refused, refused_by_all,
};
use crate::world::{EAST, World};

const EXPORT: ResourceKind = kinds::EXPORTED_SERVICE;
const RESOLVED: ResourceKind = kinds::RESOLVED_SERVICE;
/// For the API server to take note of a policy's parameters.
const DEADLINE: Duration = Duration::from_mins(2);

pub(crate) fn add(tests: &mut Tests) {
    tests.add("P6::a_member_exports_what_its_policy_lists", a_member_exports_what_its_policy_lists);
    tests
        .add("P12::what_an_export_is_answered_is_the_hubs", what_an_export_is_answered_is_the_hubs);
    tests.add("P15::what_is_in_force_is_the_hubs", what_is_in_force_is_the_hubs);
    tests.add("multicluster::the_kinds_are_bounded", the_kinds_are_bounded);
}

pub(crate) fn export(member: &str, namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": EXPORT.api_version(), "kind": EXPORT.kind,
        "metadata": {
            "name": format!("{namespace}-{name}"), "namespace": member_namespace(member),
        },
        "spec": {
            "service": { "namespace": namespace, "name": name }, "serviceUid": "1",
            "export": { "uid": "2", "created": "2026-01-01T00:00:00Z" },
            "type": "ClusterSetIP", "ports": [{ "name": "http", "protocol": "TCP", "port": 80 }],
        },
    })
}

fn resolved(name: &str) -> Value {
    json!({
        "apiVersion": RESOLVED.api_version(), "kind": RESOLVED.kind,
        "metadata": { "name": name, "namespace": SYSTEM_NAMESPACE },
        "spec": {
            "service": { "namespace": "shop", "name": name }, "type": "ClusterSetIP",
            "winner": EAST, "exporters": [{ "cluster": EAST }],
        },
    })
}

async fn a_member_exports_what_its_policy_lists(world: &World) -> Result<()> {
    const SOUTH: &str = "southwest";
    let south = world.join(SOUTH).await?;
    let policy = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "member-policy", "namespace": member_namespace(SOUTH) },
        "data": { "cidrs": "10.0.0.0/8", "exports": "shop/*, team/web", "imports": "*" },
    });
    passed("by an admin", create(&world.admin, kinds::CONFIG_MAP, &policy).await?)?;
    let foreign = export(SOUTH, "bank", "vault");
    wait_until("the policy is in force", DEADLINE, async || {
        Ok(dry_run(&south, EXPORT, &foreign).await?.is_err())
    })
    .await?;
    refused("of another namespace", create(&south, EXPORT, &foreign).await?, "P6")?;
    refused("applied", create_by_apply(&south, EXPORT, &foreign).await?, "P6")?;
    refused("of another name", create(&south, EXPORT, &export(SOUTH, "team", "db")).await?, "P6")?;
    let own = export(SOUTH, "shop", "web");
    passed("of a listed namespace", create(&south, EXPORT, &own).await?)?;
    passed("of a listed name", create(&south, EXPORT, &export(SOUTH, "team", "web")).await?)?;
    // The definition keeps the name, so that it cannot become another one under a policy that is missing.
    let moved = |object: &mut Value| object["spec"]["service"]["name"] = json!("vault");
    for client in [&south, &world.admin] {
        let answer = change(client, EXPORT, &own, Way::Put, moved).await?;
        ensure!(answer.is_err(), "the Service was changed");
    }
    let changed = |object: &mut Value| object["spec"]["ports"][0]["port"] = json!(81);
    passed("changed", change(&south, EXPORT, &own, Way::Put, changed).await?)?;
    passed("deleted", delete(&south, EXPORT, &own).await?)
}

async fn what_an_export_is_answered_is_the_hubs(world: &World) -> Result<()> {
    let own = export(EAST, "shop", "answered");
    passed("its own", create(&world.east, EXPORT, &own).await?)?;
    let answered = |reason: &'static str| {
        move |object: &mut Value| {
            object["status"] = json!({ "conditions": [{
                "type": "Ready", "status": "False", "reason": reason, "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }] });
        }
    };
    refused_by_all(("answered", &WAYS), &world.east, EXPORT, &own, answered("Forged"), "P12")
        .await?;
    passed(
        "by the hub",
        change(&world.agent, EXPORT, &own, Way::JsonPatch, answered("NamespaceDenied")).await?,
    )?;
    passed("deleted", delete(&world.east, EXPORT, &own).await?)
}

/// Only the hub agent writes what is in force, whatever rights he has; the account of EAST has all rights there.
async fn what_is_in_force_is_the_hubs(world: &World) -> Result<()> {
    let forged = resolved("forged");
    refused("made", create(&world.east, RESOLVED, &forged).await?, "P15")?;
    refused("applied", create_by_apply(&world.east, RESOLVED, &forged).await?, "P15")?;
    let own = resolved("web");
    passed("by the hub", create(&world.agent, RESOLVED, &own).await?)?;
    let joined = |object: &mut Value| object["spec"]["winner"] = json!("evil");
    refused_by_all(("changed", &WAYS), &world.east, RESOLVED, &own, joined, "P15").await?;
    refused("deleted", delete(&world.east, RESOLVED, &own).await?, "P15")?;
    passed("by the hub", change(&world.agent, RESOLVED, &own, Way::Put, joined).await?)?;
    passed("by the hub", delete(&world.agent, RESOLVED, &own).await?)
}

/// What an API server stores even of an administrator.
async fn the_kinds_are_bounded(world: &World) -> Result<()> {
    type Spoil = fn(&mut Value);
    let exports: [(&str, Spoil); 6] = [
        ("ports", |spec| {
            spec["ports"] =
                (1..102).map(|port| json!({ "name": port.to_string(), "port": port })).collect();
        }),
        ("labels", |spec| spec["labels"] = (0..33).map(|at| (at.to_string(), json!(""))).collect()),
        ("labels", |spec| spec["labels"]["x".repeat(318)] = json!("")),
        ("annotations", |spec| spec["annotations"]["a"] = json!("x".repeat(2049))),
        ("affinityTimeoutSeconds", |spec| spec["affinityTimeoutSeconds"] = json!(86401)),
        ("ipFamilies", |spec| spec["ipFamilies"] = json!(["IPv4", "IPv4"])),
    ];
    for (field, spoil) in exports {
        let mut object = export(EAST, "shop", "bounded");
        spoil(&mut object["spec"]);
        rejected(world, EXPORT, &object, field).await?;
    }
    let resolutions: [(&str, Spoil); 4] = [
        ("exporters", |spec| {
            spec["exporters"] = (0..1025).map(|at| json!({ "cluster": at.to_string() })).collect();
        }),
        ("exporters", |spec| spec["exporters"] = json!([{ "cluster": "a" }, { "cluster": "a" }])),
        ("withdrawnAt", |spec| spec["exporters"] = json!([])),
        ("withdrawnAt", |spec| spec["withdrawnAt"] = json!("2026-01-01T00:00:00Z")),
    ];
    for (field, spoil) in resolutions {
        let mut object = resolved("bounded");
        spoil(&mut object["spec"]);
        rejected(world, RESOLVED, &object, field).await?;
    }
    passed("within the bounds", dry_run(&world.admin, EXPORT, &export(EAST, "shop", "a")).await?)?;
    passed("within the bounds", dry_run(&world.admin, RESOLVED, &resolved("a")).await?)
}

async fn rejected(world: &World, kind: ResourceKind, object: &Value, field: &str) -> Result<()> {
    let answer = dry_run(&world.admin, kind, object).await?;
    let refusal = answer.err().with_context(|| format!("{field} of any size"))?.to_string();
    ensure!(refusal.contains(field), "{refusal}");
    Ok(())
}
