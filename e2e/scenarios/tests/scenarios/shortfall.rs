//! Endpoints of a Service that do not reach importers: the user reads why where the Service is exported, as long as that lasts.

use anyhow::{Context, Result};
use fleet_api::events::EXPORT_REFUSED;
use fleet_api::kinds;
use fleet_testbed::agents::{Agent, Agents};
use kube::api::DynamicObject;

use crate::blocked::told;
use crate::crossing::Crossing;
use crate::stage::{IMPORTER, Stage, becomes};
use crate::tests::Tests;

const MORE: &str = "web-more";
const ADDRESS: &str = "192.0.2.78";

pub(crate) fn add(tests: &mut Tests) {
    // Alone, since the limit holds for all members.
    tests.alone("shortfall::endpoints_beyond_the_limit", endpoints_beyond_the_limit);
}

/// A member exports more endpoints of a Service than the hub agent distributes. Its user does not see the hub.
async fn endpoints_beyond_the_limit(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let mut crossing = stage.crossing("shortfall", &[IMPORTER]).await?;
    agents.restart_with(Agent::Hub, &["--max-endpoints-per-service=1"]).await?;
    crossing.service.add_slice(MORE, &[ADDRESS.to_owned()]).await?;
    let why = "more than 1 endpoints of service";
    is_valid_but(stage, &crossing, Some(why)).await?;
    told(stage.exporter(), &crossing.namespace, EXPORT_REFUSED, why).await?;
    crossing.arrived().await.context("what importers had")?;

    agents.restart_with(Agent::Hub, &[]).await?;
    crossing.addresses.insert(ADDRESS.to_owned());
    crossing.arrived().await?;
    is_valid_but(stage, &crossing, None).await?;
    crossing.withdraw().await
}

/// Waits until the message of `Valid=True` on the ServiceExport has this in further clauses, or has none.
pub(crate) async fn is_valid_but(
    stage: &Stage,
    crossing: &Crossing<'_>,
    why: Option<&str>,
) -> Result<()> {
    let says = |export: &DynamicObject| {
        let conditions = export.data["status"]["conditions"].as_array();
        let valid = conditions.into_iter().flatten().find(|found| found["type"] == "Valid");
        let message = valid.filter(|valid| valid["status"] == "True");
        let message = message.and_then(|valid| valid["message"].as_str()).unwrap_or_default();
        let clauses = message.split_once("; ").map(|(_, clauses)| clauses);
        message.contains("is valid for export")
            && match (why, clauses) {
                (Some(why), Some(clauses)) => clauses.contains(why),
                (why, clauses) => why.is_none() && clauses.is_none(),
            }
    };
    let what = why.map_or_else(|| "is valid".to_owned(), |why| format!("is valid, but {why}"));
    let (exporter, kind) = (stage.exporter(), kinds::SERVICE_EXPORT);
    becomes(exporter, kind, crossing.key(), &what, says).await?;
    Ok(())
}
