//! P18: a member reports what it reaches for itself alone, and nothing but that.

use anyhow::{Context, Result};
use fleet_api::kinds;
use fleet_api::names::member_namespace;
use serde_json::{Value, json};

use crate::Tests;
use crate::ways::{
    WAYS, Way, change, create, create_by_apply, delete, passed, refused, refused_by_all,
};
use crate::world::{EAST, WEST, World};

pub(crate) fn add(tests: &mut Tests) {
    tests.add("P18::a_member_reports_for_itself", a_member_reports_for_itself);
}

fn report(namespace: &str, name: &str) -> Value {
    let kind = kinds::REACH_REPORT;
    json!({
        "apiVersion": kind.api_version(), "kind": kind.kind,
        "metadata": { "name": name, "namespace": member_namespace(namespace) },
        "spec": { "reachable": 1 },
    })
}

async fn a_member_reports_for_itself(world: &World) -> Result<()> {
    let kind = kinds::REACH_REPORT;
    // With every right in its namespace.
    refused("of another name", create(&world.east, kind, &report(EAST, WEST)).await?, "P18")?;
    refused("applied", create_by_apply(&world.east, kind, &report(EAST, WEST)).await?, "P18")?;
    let own = report(EAST, EAST);
    passed("its own", create(&world.east, kind, &own).await?)?;
    let large = |object: &mut Value| object["metadata"]["annotations"] = json!({ "a": "b" });
    refused_by_all(("annotated", &WAYS), &world.east, kind, &own, large, "P18").await?;
    let labelled = |object: &mut Value| object["metadata"]["labels"] = json!({ "a": "b" });
    refused_by_all(("labelled", &WAYS), &world.east, kind, &own, labelled, "P18").await?;
    let other = |object: &mut Value| object["spec"] = json!({ "unreachable": 1 });
    passed("changed", change(&world.east, kind, &own, Way::MergePatch, other).await?)?;

    // The definition bounds it.
    let many: Vec<_> = (0..257).map(|number| json!({ "cluster": format!("m{number}") })).collect();
    let large = |object: &mut Value| object["spec"] = json!({ "exporters": many });
    let answer = change(&world.east, kind, &own, Way::MergePatch, large).await?;
    answer.err().context("257 exporters were accepted")?;
    passed("deleted", delete(&world.admin, kind, &own).await?)?;

    // With the rights of the chart, the same is enough for its own and for nothing else.
    passed("of the chart", create(&world.west, kind, &report(WEST, WEST)).await?)?;
    let forbidden = create(&world.west, kind, &report(EAST, EAST)).await?;
    forbidden.err().context("a report of another member was accepted")?;
    passed("deleted", delete(&world.admin, kind, &report(WEST, WEST)).await?)
}
