//! P2, and the bounds in the definitions of the kinds: what a member writes has a size.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use fleet_api::limits::{Bound, Unit, of_kind};
use fleet_api::{ResourceKind, kinds};
use fleet_testbed::crds;
use fleet_testbed::objects::api;
use fleet_testbed::wait::wait_until;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::PostParams;
use serde_json::{Value, json};

use crate::Tests;
use crate::objects::{EXPORTED, finalizer, object};
use crate::ways::{
    WAYS, Way, change, create, create_by_apply, delete, passed, refused, refused_by_all,
};
use crate::world::{EAST, World};

const EXPORT: ResourceKind = kinds::INTERNAL_SERVICE_EXPORT;
/// Longest time in which a server takes note of a definition.
pub(crate) const DEADLINE: Duration = Duration::from_mins(2);

pub(crate) fn add(tests: &mut Tests) {
    tests.add("P2::exports_have_a_sane_size", exports_have_a_sane_size);
    tests.add("P2::ports_are_listed_once", ports_are_listed_once);
    tests.add("P2::what_is_too_large_already_may_stay", what_is_too_large_already_may_stay);
    tests.add("P2::ports_and_endpoints_have_a_size", ports_and_endpoints_have_a_size);
    tests.add("P2::every_bound_is_checked", every_bound_is_checked);
}

/// So many ports of a Service or slice.
pub(crate) fn ports(count: usize) -> Value {
    let port = |number| json!({ "name": format!("p{number}"), "protocol": "TCP", "port": number });
    (1..=count).map(port).collect()
}

fn export(name: &str, count: usize) -> Value {
    let mut export = object(EXPORT, EAST, name);
    export["spec"]["ports"] = ports(count);
    export
}

async fn exports_have_a_sane_size(world: &World) -> Result<()> {
    let largest = export("p2-export", 100);
    passed("the largest", create(&world.east, EXPORT, &largest).await?)?;
    let another = |object: &mut Value| object["spec"]["ports"][99]["port"] = json!(9999);
    for way in [Way::Put, Way::JsonPatch] {
        passed("the largest, changed", change(&world.east, EXPORT, &largest, way, another).await?)?;
    }
    let large = export("p2-export-large", 101);
    refused("ports", create(&world.east, EXPORT, &large).await?, "P2")?;
    refused("ports", create_by_apply(&world.east, EXPORT, &large).await?, "P2")?;
    let grow = |object: &mut Value| object["spec"]["ports"] = ports(101);
    refused_by_all(("grown", &WAYS), &world.east, EXPORT, &largest, grow, "P2").await
}

async fn ports_are_listed_once(world: &World) -> Result<()> {
    let both = json!([
        { "name": "tcp", "protocol": "TCP", "port": 53 },
        { "name": "udp", "protocol": "UDP", "port": 53 },
    ]);
    let mut export = export("p2-twice", 0);
    export["spec"]["ports"] = both.clone();
    passed("of two protocols", create(&world.east, EXPORT, &export).await?)?;
    for (what, key, value) in [("protocol and number", "protocol", "TCP"), ("name", "name", "tcp")]
    {
        let spoil = |object: &mut Value| {
            object["spec"]["ports"] = both.clone();
            object["spec"]["ports"][1][key] = json!(value);
        };
        let answer = change(&world.east, EXPORT, &export, Way::Put, spoil).await?;
        names(&format!("two entries of spec.ports have the same {what}"), answer)?;
    }
    // As some objects of the original.
    let unnamed = |object: &mut Value| {
        object["spec"]["ports"] = json!([{ "port": 80 }, { "port": 81, "name": "" }]);
    };
    passed("unnamed", change(&world.east, EXPORT, &export, Way::Put, unnamed).await?)?;
    Ok(())
}

/// An agent of the original has exported 150 ports before there was a bound. It goes on, but cannot grow.
async fn what_is_too_large_already_may_stay(world: &World) -> Result<()> {
    let large = export("p2-old", 150);
    passed("by an admin", create(&world.admin, EXPORT, &large).await?)?;
    for (number, way) in WAYS.into_iter().enumerate() {
        let refresh = |object: &mut Value| {
            object["spec"]["serviceReference"]["resourceVersion"] = json!(format!("8{number}"));
        };
        passed("refreshed", change(&world.east, EXPORT, &large, way, refresh).await?)?;
    }
    stays_writable(world, EXPORT, &large).await?;
    let shrink = |object: &mut Value| object["spec"]["ports"] = ports(149);
    refused_by_all(("changed", &WAYS), &world.east, EXPORT, &large, shrink, "P2").await?;
    let enough = |object: &mut Value| object["spec"]["ports"] = ports(100);
    passed("small enough", change(&world.east, EXPORT, &large, Way::Put, enough).await?)?;
    Ok(())
}

/// Fields that are all within their bounds can be too much together.
async fn ports_and_endpoints_have_a_size(world: &World) -> Result<()> {
    let ports = |protocol: &str| -> Value {
        let port = |number| json!({ "name": format!("p{number:0>60}"), "port": number, "appProtocol": protocol });
        (1..=100).map(port).collect()
    };
    for kind in [EXPORT, kinds::ENDPOINT_SLICE_EXPORT] {
        let mut large = object(kind, EAST, "p2-size");
        large["spec"]["ports"] = ports(&"a".repeat(317));
        let answer = create(&world.east, kind, &large).await?;
        names("spec.ports has more than 32768 bytes", answer)?;
        large["spec"]["ports"] = ports("kubernetes.io/h2c");
        passed("the longest names", create(&world.east, kind, &large).await?)?;
    }
    let kind = kinds::ENDPOINT_SLICE_EXPORT;
    let endpoints = |count: usize, addresses: usize, text: &str| -> Value {
        let address =
            |number: usize| format!("10.{}.{}.{}", number >> 16, number >> 8 & 255, number & 255);
        let endpoint = |at: usize| {
            let own: Vec<_> = (at * addresses..(at + 1) * addresses).map(address).collect();
            json!({ "addresses": own, "hostname": text, "zone": text, "executor": text })
        };
        (0..count).map(endpoint).collect()
    };
    for (text, endpoints, fits) in [
        ("more than 2000 addresses", endpoints(401, 5, "a"), endpoints(400, 5, "a")),
        (
            "more than 262144 bytes",
            endpoints(1000, 1, &"ä".repeat(50)),
            endpoints(1000, 1, &"a".repeat(50)),
        ),
    ] {
        let mut slice = object(kind, EAST, "p2-endpoints");
        slice["spec"]["endpoints"] = endpoints;
        names(text, create(&world.east, kind, &slice).await?)?;
        slice["spec"]["endpoints"] = fits;
        passed(text, create(&world.east, kind, &slice).await?)?;
        let release = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
        passed(text, change(&world.agent, kind, &slice, Way::JsonPatch, release).await?)?;
        passed(text, delete(&world.east, kind, &slice).await?)?;
    }
    Ok(())
}

/// First with definitions as others have installed them, without bounds: then the policy holds each field. What is stored
/// beyond a bound stays writable with the bounds; nothing new is stored beyond one, not even by an admin, and
/// everything within.
async fn every_bound_is_checked(world: &World) -> Result<()> {
    let bounded = crds::load(&crds::HUB)?;
    let bounded: Vec<_> =
        bounded.into_iter().filter(|crd| !of_kind(&crd.spec.names.kind).is_empty()).collect();
    let unbounded: Vec<_> = bounded.iter().map(without_bounds).collect::<Result<_>>()?;
    crds::install(&world.admin, &unbounded).await?;
    for (kind, _) in EXPORTED {
        in_force(world, kind, false).await?;
        for (path, bound) in free(kind) {
            let mut large = object(kind, EAST, "p2-field");
            set_length(&mut large, &path, bound.unit, bound.accepted + 1);
            let answer = create(&world.east, kind, &large).await?;
            if held_by_others(&path) {
                ensure!(answer.is_err(), "{path}: it passed");
                continue;
            }
            let text = format!("{path} has more than {} {}", bound.accepted, bound.unit.as_str());
            names(&text, answer)?;
        }
        passed("beyond all bounds", create(&world.admin, kind, &beyond_all(kind)).await?)?;
    }

    crds::install(&world.admin, &bounded).await?;
    for (kind, _) in EXPORTED {
        in_force(world, kind, true).await?;
        stays_writable(world, kind, &beyond_all(kind)).await?;
        for (path, bound) in free(kind) {
            let Bound { unit, stored, .. } = bound;
            let mut largest = object(kind, EAST, "stored");
            set_length(&mut largest, &path, unit, stored);
            passed(&path, dry_run(&world.admin, kind, &largest).await?)?;
            set_length(&mut largest, &path, unit, stored + 1);
            let refusal = match dry_run(&world.admin, kind, &largest).await? {
                Err(kube::Error::Api(status)) => status.message,
                other => bail!("{path}: {other:?}"),
            };
            let field = path.replace("[]", "[0]");
            ensure!(refusal.contains(&field) && refusal.contains("Too "), "{path}: {refusal}");
        }
    }
    Ok(())
}

/// The bounds of a kind but for those of fields with fixed values.
fn free(kind: ResourceKind) -> impl Iterator<Item = (String, Bound)> {
    let fixed = move |path: &str| match kind {
        EXPORT => path == "spec.ports[].protocol",
        _ => path == "spec.addressType",
    };
    of_kind(kind.kind).into_iter().filter(move |(path, _)| !fixed(path))
}

/// Whether P1, P3 or P7 refuses what is too long there, too: a server names but one of the policies.
fn held_by_others(path: &str) -> bool {
    let of_reference = ["clusterId", "namespace", "name", "namespacedName"];
    let field = path.split_once("Reference.").map(|(_, field)| field);
    path.ends_with(".addresses[]") || field.is_some_and(|field| of_reference.contains(&field))
}

/// The hub agent can hold, judge and release an object, whatever is in its spec.
async fn stays_writable(world: &World, kind: ResourceKind, object: &Value) -> Result<()> {
    let held =
        |object: &mut Value| object["metadata"]["finalizers"] = json!([finalizer(kind), "a.b/c"]);
    passed("held", change(&world.agent, kind, object, Way::JsonPatch, held).await?)?;
    let released = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
    if kind != kinds::ENDPOINT_SLICE_EXPORT {
        let judged = |object: &mut Value| match kind {
            EXPORT => {
                object["status"]["conditions"] = json!([{
                    "type": "Valid", "status": "False", "reason": "LimitExceeded", "message": "too large",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }]);
            }
            _ => object["status"]["ports"] = json!([{ "port": 80 }]),
        };
        passed("judged", change(&world.agent, kind, object, Way::MergePatch, judged).await?)?;
    }
    passed("released", change(&world.agent, kind, object, Way::JsonPatch, released).await?)?;
    Ok(())
}

/// An object in which every field exceeds what is stored.
fn beyond_all(kind: ResourceKind) -> Value {
    let mut large = object(kind, EAST, "p2-beyond");
    for (path, bound) in free(kind) {
        set_length(&mut large, &path, bound.unit, bound.stored + 1);
    }
    large
}

/// Gives the field at a path so many entries or characters.
fn set_length(object: &mut Value, path: &str, unit: Unit, length: usize) {
    let mut field = object;
    for segment in path.split('.') {
        let name = segment.trim_end_matches("[]");
        field = &mut field[name];
        if segment == name {
            continue;
        }
        if field.is_null() {
            *field = json!([{ "addresses": ["10.1.0.1"] }]);
        }
        field = &mut field[0];
    }
    *field = match unit {
        Unit::Characters => json!("x".repeat(length)),
        Unit::Entries if path.ends_with("ports") => ports(length),
        Unit::Entries if path.ends_with("addresses") => json!(vec!["10.1.0.1"; length]),
        Unit::Entries => json!(vec![json!({ "addresses": ["10.1.0.1"] }); length]),
    };
}

async fn dry_run(client: &Client, kind: ResourceKind, object: &Value) -> Result<kube::Result<()>> {
    let namespace = object["metadata"]["namespace"].as_str();
    let params = PostParams { dry_run: true, ..PostParams::default() };
    let object = serde_json::from_value(object.clone())?;
    Ok(api(client.clone(), kind, namespace).create(&params, &object).await.map(|_| ()))
}

/// Waits until the server stores what is beyond a bound, or no more.
async fn in_force(world: &World, kind: ResourceKind, bounded: bool) -> Result<()> {
    let mut large = object(kind, EAST, "probe");
    let (path, bound) = of_kind(kind.kind).pop().context("it has bounds")?;
    set_length(&mut large, &path, bound.unit, bound.stored + 1);
    let what = format!("the bounds of {} are in force: {bounded}", kind.kind);
    wait_until(&what, DEADLINE, async || {
        Ok(dry_run(&world.admin, kind, &large).await?.is_err() == bounded)
    })
    .await
}

fn without_bounds(crd: &CustomResourceDefinition) -> Result<CustomResourceDefinition> {
    fn strip(value: &mut Value) {
        if let Value::Object(fields) = value {
            fields.remove("maxItems");
            fields.remove("maxLength");
            fields.values_mut().for_each(strip);
        }
    }
    let mut value = serde_json::to_value(crd)?;
    value["spec"]["versions"].as_array_mut().into_iter().flatten().for_each(strip);
    Ok(serde_json::from_value(value)?)
}

/// An error unless P2 refused a write and named the bound.
pub(crate) fn names<T>(text: &str, answer: kube::Result<T>) -> Result<()> {
    if let Err(kube::Error::Api(status)) = &answer {
        ensure!(status.message.contains(text), "{}", status.message);
    }
    refused(text, answer, "P2")
}
