//! What an agent makes of a refusal. Users read of those that are about what is written; a missing right is the
//! administrators' to mend.

use anyhow::{Context, Result, ensure};
use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_plan::{Action, Step};
use fleet_runtime::metrics::Metrics;
use fleet_runtime::writer::{Class, WriteGate, Writer, WriterSettings};
use kube::Client;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::objects::object;
use crate::world::{EAST, WEST, World};
use crate::{Tests, quotas};

pub(crate) fn add(tests: &mut Tests) {
    tests.add("refusals::a_denial_is_no_missing_right", a_denial_is_no_missing_right);
}

async fn a_denial_is_no_missing_right(world: &World) -> Result<()> {
    const BOUND: &str = "bound";
    let bound = world.join(BOUND).await?;
    quotas::limit(world, BOUND).await?;
    let of = |kind, member| (kind, object(kind, member, "refusals"));
    let mut forged = of(kinds::INTERNAL_SERVICE_EXPORT, EAST);
    forged.1["spec"]["serviceReference"]["clusterId"] = json!(WEST);
    for (what, client, written, wanted) in [
        ("P1", &world.east, forged, Class::Invalid),
        // The same write: the one may make any object, the other not this one.
        ("P9", &world.east, of(kinds::ENDPOINT_SLICE_IMPORT, EAST), Class::Denied),
        ("a right", &world.west, of(kinds::ENDPOINT_SLICE_IMPORT, WEST), Class::Forbidden),
        ("a quota", &bound, of(kinds::INTERNAL_SERVICE_IMPORT, BOUND), Class::Denied),
    ] {
        let class = write(client, written).await.with_context(|| what.to_owned())?;
        ensure!(class == wanted, "{what}: {class}");
    }
    Ok(())
}

/// Makes an object as an agent would, which fails: how.
async fn write(client: &Client, (kind, object): (ResourceKind, Value)) -> Result<Class> {
    let metadata = &object["metadata"];
    let name = [&metadata["namespace"], &metadata["name"]].map(|name| name.as_str());
    let [Some(namespace), Some(name)] = name else { anyhow::bail!("an object without name") };
    let name = ObjectName::new(namespace, name);
    let metrics = Metrics::new("policies", "0")?.writer();
    let clients = [(ClusterId::Hub, client.clone())];
    let writer = Writer::new(clients, WriterSettings::new("policies"), WriteGate::open(), metrics);
    let step = Step::new(ClusterId::Hub, kind, name, Action::Create(object.into()));
    let outcome = writer.execute(&[step], &CancellationToken::new()).await;
    Ok(outcome.failures.first().context("it passed")?.class)
}
