//! P16: which endpoints get new connections. Members read it, administrators and owners of Services ask for it, the hub agent answers.

use anyhow::{Context, Result, ensure};
use fleet_api::{ResourceKind, kinds};
use serde_json::{Value, json};

use crate::Tests;
use crate::ways::{
    WAYS, Way, change, create, create_by_apply, delete, passed, refused, refused_by_all,
};
use crate::world::{TEAM, World};

pub(crate) fn add(tests: &mut Tests) {
    tests.add("P16::members_write_nothing_about_traffic", members_write_nothing_about_traffic);
    tests.add("P16::statuses_are_the_hub_agents", statuses_are_the_hub_agents);
    tests.add("P16::definitions_refuse_what_contradicts_itself", definitions_refuse);
}

#[expect(clippy::needless_pass_by_value, reason = "a literal of each case")]
fn object(kind: ResourceKind, name: &str, spec: Value) -> Value {
    let mut object = json!({
        "apiVersion": kind.api_version(), "kind": kind.kind,
        "metadata": { "name": name }, "spec": spec,
    });
    if kind.namespaced {
        object["metadata"]["namespace"] = json!(TEAM);
    }
    object
}

/// With every right on the kinds, of which the charts give it none.
async fn members_write_nothing_about_traffic(world: &World) -> Result<()> {
    let all = [
        (object(kinds::MEMBER_TRAFFIC, "p16-a", json!({})), kinds::MEMBER_TRAFFIC),
        (object(kinds::SERVICE_TRAFFIC, "p16-a", json!({})), kinds::SERVICE_TRAFFIC),
    ];
    for (object, kind) in all {
        refused("made", create(&world.east, kind, &object).await?, "P16")?;
        refused("applied", create_by_apply(&world.east, kind, &object).await?, "P16")?;
        passed("by a user", create(&world.user, kind, &object).await?)?;
        let labelled = |object: &mut Value| object["metadata"]["labels"] = json!({ "a": "b" });
        refused_by_all(("labelled", &WAYS), &world.east, kind, &object, labelled, "P16").await?;
        let condition = json!({ "type": "A", "status": "True", "reason": "R", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z" });
        let answered =
            |object: &mut Value| object["status"] = json!({ "conditions": [condition.clone()] });
        refused_by_all(("answered", &WAYS), &world.east, kind, &object, answered, "P16").await?;
        refused("deleted", delete(&world.east, kind, &object).await?, "P16")?;
        passed("by a user", delete(&world.user, kind, &object).await?)?;
    }
    let kind = kinds::FLEET_TRAFFIC;
    let fleet = object(kind, "fleet", json!({ "maxSilentPercent": 50 }));
    refused("limits", create(&world.east, kind, &fleet).await?, "P16")
}

async fn statuses_are_the_hub_agents(world: &World) -> Result<()> {
    let kind = kinds::MEMBER_TRAFFIC;
    let east = object(kind, "p16-b", json!({}));
    passed("made by the hub agent", create(&world.agent, kind, &east).await?)?;
    let drain = |object: &mut Value| {
        object["spec"]["drains"] = json!([{ "service": "*", "percent": 100, "overSeconds": 600 }]);
    };
    passed("a drain", change(&world.user, kind, &east, Way::MergePatch, drain).await?)?;
    let drained = |object: &mut Value| {
        object["status"] = json!({ "serial": 1, "drains": [
            { "service": "*", "percent": 100, "reason": "Drained" }] });
    };
    refused_by_all(("forged", &WAYS), &world.user, kind, &east, drained, "P16").await?;
    passed("by the hub", change(&world.agent, kind, &east, Way::JsonPatch, drained).await?)?;
    passed("deleted by the hub agent", delete(&world.agent, kind, &east).await?)
}

/// The API server accepts the definitions, and their rules hold.
async fn definitions_refuse(world: &World) -> Result<()> {
    let cases = [
        (object(kinds::FLEET_TRAFFIC, "other", json!({})), "the name has to be fleet"),
        (
            object(kinds::FLEET_TRAFFIC, "fleet", json!({ "heartbeatSeconds": 30 })),
            "silentAfterSeconds",
        ),
        (
            object(kinds::SERVICE_TRAFFIC, "web", json!({ "preference": "Selectors" })),
            "clusterSelectors",
        ),
        (
            object(
                kinds::SERVICE_TRAFFIC,
                "web",
                json!({ "preference": "Selectors",
                "clusterSelectors": [{ "propertySelector": {} }] }),
            ),
            "at least one property",
        ),
        (
            object(
                kinds::SERVICE_TRAFFIC,
                "web",
                json!({ "weights": [{ "cluster": "East", "weight": 1 }] }),
            ),
            "weights",
        ),
        (
            object(
                kinds::MEMBER_TRAFFIC,
                "east",
                json!({ "drains": [{ "service": "web", "percent": 1 }] }),
            ),
            "service",
        ),
        (
            object(
                kinds::MEMBER_TRAFFIC,
                "east",
                json!({ "drains": [{ "service": "*", "percent": 101 }] }),
            ),
            "percent",
        ),
        (object(kinds::MEMBER_TRAFFIC, &"x".repeat(51), json!({})), "50"),
    ];
    for (object, word) in cases {
        let kind = [kinds::FLEET_TRAFFIC, kinds::SERVICE_TRAFFIC, kinds::MEMBER_TRAFFIC];
        let kind = kind.into_iter().find(|kind| object["kind"] == kind.kind).context("a kind")?;
        let answer = create(&world.admin, kind, &object).await?;
        let refusal = answer.err().with_context(|| format!("{object} was accepted"))?.to_string();
        ensure!(refusal.contains(word), "{refusal}");
    }
    Ok(())
}
