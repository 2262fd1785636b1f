//! What a user sets on a ServiceExport: weights, and namespaces that nothing leaves.

use anyhow::{Result, ensure};
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{annotations, kinds};
use fleet_testbed::exchange::{export, wait_imported};
use fleet_testbed::objects::{edit, find, remove};
use serde_json::{Value, json};

use crate::stage::{DEADLINE, IMPORTER, Stage, becomes, condition};
use crate::tests::Tests;

pub(crate) fn add(tests: &mut Tests) {
    tests.beside("weight::weight_0_withdraws_until_it_is_gone", weight_0_withdraws);
    tests.beside("weight::an_invalid_weight_changes_nothing", an_invalid_weight_changes_nothing);
    tests
        .beside("weight::nothing_leaves_the_system_namespace", nothing_leaves_the_system_namespace);
}

async fn weigh(stage: &Stage, key: (&str, &str), weight: Value) -> Result<()> {
    let patch = json!({ "metadata": { "annotations": { annotations::WEIGHT: weight } } });
    edit(stage.exporter(), kinds::SERVICE_EXPORT, key, patch).await?;
    Ok(())
}

/// MSE-8 on real API servers.
async fn weight_0_withdraws(stage: &Stage) -> Result<()> {
    let crossing = stage.crossing("weight", &[IMPORTER]).await?;
    let (namespace, name) = crossing.key();
    let derived = crossing.derived(IMPORTER).await?;
    weigh(stage, crossing.key(), json!("0")).await?;
    let wanted = ("Conflict", "Unknown");
    condition(stage.exporter(), kinds::SERVICE_EXPORT, crossing.key(), wanted).await?;
    let what = "has no slice any more";
    let imported = fleet_testbed::exchange::imported_slices;
    fleet_testbed::wait::wait_until(what, DEADLINE, async || {
        Ok(imported(stage.importer(), &derived).await?.is_empty())
    })
    .await?;
    weigh(stage, (namespace, name), Value::Null).await?;
    wait_imported(stage.importer(), namespace, name, &crossing.addresses, DEADLINE).await?;
    crossing.withdraw().await
}

/// MSE-7 on real API servers.
async fn an_invalid_weight_changes_nothing(stage: &Stage) -> Result<()> {
    let mut crossing = stage.crossing("weight", &[IMPORTER]).await?;
    weigh(stage, crossing.key(), json!("heavy")).await?;
    let wanted = ("Valid", "False");
    let valid = condition(stage.exporter(), kinds::SERVICE_EXPORT, crossing.key(), wanted).await?;
    ensure!(valid["reason"] == "ServiceExportInvalidWeightAnnotation", "{valid}");
    crossing.arrived().await?;
    crossing.change(3).await?;
    crossing.arrived().await?;
    crossing.withdraw().await
}

async fn nothing_leaves_the_system_namespace(stage: &Stage) -> Result<()> {
    let crossing = stage.crossing("weight", &[IMPORTER]).await?;
    let derived = crossing.derived(IMPORTER).await?;
    let key = (SYSTEM_NAMESPACE, derived.as_str());
    export(stage.importer(), SYSTEM_NAMESPACE, &derived).await?;
    let told = becomes(stage.importer(), kinds::SERVICE_EXPORT, key, "is refused", |export| {
        export.data["status"]["conditions"][0]["reason"] == "ServiceIneligible"
    })
    .await?;
    ensure!(told.metadata.finalizers.is_none_or(|held| held.is_empty()), "it is held");
    remove(stage.importer(), kinds::SERVICE_EXPORT, key).await?;
    ensure!(find(stage.importer(), kinds::SERVICE_EXPORT, key).await?.is_none(), "it stays");
    crossing.withdraw().await
}
