//! How long a Service takes to cross while another member's export of the same Service has more ports than anybody can use,
//! and how long without: in turns.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fleet_api::names::member_namespace;
use fleet_api::{ResourceKind, finalizers, kinds};
use kube::api::{DynamicObject, PostParams};
use serde_json::{Value, json};

use super::access;
use super::arrivals::Station;
use super::change_path::{ChangePath, EXPORTER, IMPORTER};
use super::slice::Slice;
use fleet_testbed::exchange;
use fleet_testbed::fleet::Fleet;
use fleet_testbed::objects::{api, find, remove};
use fleet_testbed::wait::wait_until;

/// The member with the export. It has no agent, which would delete what its cluster does not export.
const HOSTILE: &str = "bench-hostile";
/// Ports of its export: those that the definitions accept, and no policy, which do not bind who writes it here.
const PORTS: usize = 14_000;
/// Crossings of each kind.
const CROSSINGS: usize = 15;
/// Longest time until the hub agent has rejected or released such an export: its API server takes seconds for each write of it.
const DEADLINE: Duration = Duration::from_mins(2);
const EXPORT: ResourceKind = kinds::INTERNAL_SERVICE_EXPORT;

/// Times of Services that cross.
pub(super) struct Crossings {
    /// Without the other export.
    pub(super) without: Vec<Duration>,
    /// With it, stored and rejected before.
    pub(super) with: Vec<Duration>,
}

/// Lets Services cross in turns.
pub(super) async fn measure(
    path: &ChangePath,
    fleet: &Fleet,
    namespace: &str,
) -> Result<Crossings> {
    access::on_hub(fleet, HOSTILE).await?;
    let mut crossings = Crossings { without: Vec::new(), with: Vec::new() };
    // Agents and servers have met all kinds by then.
    cross(path, fleet, (namespace, "crossing")).await?;
    for number in 0..CROSSINGS {
        let (alone, beside) = (format!("alone-{number}"), format!("beside-{number}"));
        crossings.without.push(cross(path, fleet, (namespace, &alone)).await?);
        store(fleet, (namespace, &beside)).await?;
        crossings.with.push(cross(path, fleet, (namespace, &beside)).await?);
        take_away(fleet, (namespace, &beside)).await?;
    }
    Ok(crossings)
}

/// How long it takes from the user's requests to the imported slice.
async fn cross(
    path: &ChangePath,
    fleet: &Fleet,
    (namespace, name): (&str, &str),
) -> Result<Duration> {
    let slice = Slice::of_service(&path.exporter, namespace, name).await?;
    let arrival = path.arrivals.expect(slice.address(), Station::Target);
    let begin = Instant::now();
    let export = exchange::export(fleet.member(EXPORTER), namespace, name);
    let import = exchange::import(fleet.member(IMPORTER), namespace, name, name);
    let ((), (), way) = futures::try_join!(export, import, arrival.wait())?;
    let arrived = way.at(Station::Target).context("a Service arrived nowhere")?;
    Ok(arrived.saturating_duration_since(begin))
}

/// Stores the export and waits until the hub agent has rejected it.
async fn store(fleet: &Fleet, service: (&str, &str)) -> Result<()> {
    let (home, name) = place(service);
    let object: DynamicObject = serde_json::from_value(export(&name, service))?;
    let exports = api(fleet.hub().client(), EXPORT, Some(&home));
    exports.create(&PostParams::default(), &object).await?;
    wait_until("the export is rejected", DEADLINE, async || {
        let export = find(fleet.hub(), EXPORT, (&home, &name)).await?.context("the export")?;
        Ok(export.data["status"]["conditions"][0]["reason"] == "LimitExceeded")
    })
    .await
}

async fn take_away(fleet: &Fleet, service: (&str, &str)) -> Result<()> {
    let (home, name) = place(service);
    remove(fleet.hub(), EXPORT, (&home, &name)).await?;
    wait_until("the export is released", DEADLINE, async || {
        Ok(find(fleet.hub(), EXPORT, (&home, &name)).await?.is_none())
    })
    .await
}

fn place((namespace, name): (&str, &str)) -> (String, String) {
    (member_namespace(HOSTILE), format!("{namespace}-{name}"))
}

fn export(object: &str, (namespace, name): (&str, &str)) -> Value {
    let port = |number| json!({ "name": format!("p{number}"), "protocol": "TCP", "port": number });
    json!({
        "apiVersion": EXPORT.api_version(), "kind": EXPORT.kind,
        "metadata": { "name": object, "finalizers": [finalizers::INTERNAL_SERVICE_EXPORT] },
        "spec": {
            "ports": (1..=PORTS).map(port).collect::<Vec<_>>(),
            "serviceReference": {
                "clusterId": HOSTILE, "kind": "Service", "namespace": namespace, "name": name,
                "namespacedName": format!("{namespace}/{name}"), "resourceVersion": "1",
                "generation": 1, "uid": object,
            },
        },
    })
}
