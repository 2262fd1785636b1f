//! User namespaces are deleted with everything in them, and made again.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use fleet_api::kinds;
use fleet_api::names::member_namespace;
use fleet_testbed::audit::WriteMeter;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::exchange::{self, wait_imported};
use fleet_testbed::join;
use fleet_testbed::objects::Found;
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::{ManualService, ServiceSpec};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::DeleteParams;

use crate::stage::{DEADLINE, IMPORTER, SECOND_IMPORTER, Stage, accepted, becomes};
use crate::tests::Tests;

pub(crate) fn add(tests: &mut Tests) {
    tests.beside("terminating::the_exporters_goes_and_comes", the_exporters_goes_and_comes);
    tests.beside("terminating::the_importers_goes_and_comes", the_importers_goes_and_comes);
    tests.beside("terminating::the_hubs_goes_and_comes", the_hubs_goes_and_comes);
}

/// How many writes to a namespace that is going away may be refused: those that were on their way, not a loop.
const REFUSALS: usize = 10;

/// Deletes a namespace and waits until it is gone: whatever holds it has to be released.
async fn delete(cluster: &Cluster, name: &str) -> Result<()> {
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    namespaces.delete(name, &DeleteParams::default()).await?;
    let what = format!("the namespace {name} on {} is gone", cluster.name());
    wait_until(&what, DEADLINE, async || Ok(namespaces.get_opt(name).await?.is_none())).await
}

/// Counts writes about a namespace, where there are audit logs.
fn meter(stage: &Stage, namespace: &str) -> Result<Option<WriteMeter>> {
    let own = stage.hub().audit_log_path().is_some();
    own.then(|| Ok(WriteMeter::start(stage)?.about(namespace))).transpose()
}

fn no_loop(meter: Option<WriteMeter>) -> Result<()> {
    let Some(mut meter) = meter else { return Ok(()) };
    let counts = meter.counts()?;
    ensure!(counts.refused() <= REFUSALS, "tried again and again:\n{counts}");
    Ok(())
}

/// F29, F31, S31: importers lose the Service with its namespace, and get the next one of its name.
async fn the_exporters_goes_and_comes(stage: &Stage) -> Result<()> {
    let crossing = stage.crossing("nsexp", &[IMPORTER, SECOND_IMPORTER]).await?;
    let (namespace, exporter) = (crossing.namespace.clone(), stage.exporter());
    let meter = meter(stage, &namespace)?;
    delete(exporter, &namespace).await?;
    for importer in [IMPORTER, SECOND_IMPORTER] {
        let nothing = BTreeSet::new();
        wait_imported(stage.member(importer), &namespace, "web", &nothing, DEADLINE).await?;
    }
    no_loop(meter)?;

    join::namespace(&exporter.client(), &namespace).await?;
    let addresses: Vec<String> = crossing.addresses.iter().cloned().collect();
    let spec = ServiceSpec::http(&namespace, "web");
    ManualService::deploy(exporter, &spec, &addresses).await?;
    exchange::export(exporter, &namespace, "web").await?;
    crossing.arrived().await?;
    crossing.withdraw().await
}

/// F29, F30, S31: the other importer does not notice, and the next import of the name is a new one.
async fn the_importers_goes_and_comes(stage: &Stage) -> Result<()> {
    let mut crossing = stage.crossing("nsimp", &[IMPORTER, SECOND_IMPORTER]).await?;
    let (namespace, importer) = (crossing.namespace.clone(), stage.importer());
    let meter = meter(stage, &namespace)?;
    delete(importer, &namespace).await?;
    let home = member_namespace(importer.name());
    let what = "nothing is left of it where the namespace was, nor on the hub";
    wait_until(what, DEADLINE, async || {
        let left = stage.leftovers_of(&namespace).await?;
        let at_home = |one: &Found| one.object.metadata.namespace.as_deref() == Some(&*home);
        Ok(left.iter().all(|one| one.cluster != importer.name() && !at_home(one)))
    })
    .await?;
    crossing.change(2).await?;
    let other = stage.member(SECOND_IMPORTER);
    wait_imported(other, &namespace, "web", &crossing.addresses, DEADLINE).await?;
    no_loop(meter)?;

    join::namespace(&importer.client(), &namespace).await?;
    exchange::import(importer, &namespace, "web", "web").await?;
    crossing.arrived().await?;
    crossing.withdraw().await
}

/// F29: the hub's namespace of the Service goes with the Service, is released, and all is well again when it is back.
async fn the_hubs_goes_and_comes(stage: &Stage) -> Result<()> {
    let mut crossing = stage.crossing("nshub", &[IMPORTER, SECOND_IMPORTER]).await?;
    let namespace = crossing.namespace.clone();
    let meter = meter(stage, &namespace)?;
    delete(stage.hub(), &namespace).await?;
    let is_told = |export: &kube::api::DynamicObject| {
        let conditions = export.data["status"]["conditions"].as_array();
        conditions.into_iter().flatten().any(|condition| {
            let message = condition["message"].as_str().unwrap_or_default();
            condition["type"] == "Conflict"
                && condition["status"] == "Unknown"
                && message.contains("hub")
        })
    };
    let what = "says that the hub lacks the namespace";
    let kind = kinds::SERVICE_EXPORT;
    becomes(stage.exporter(), kind, crossing.key(), what, is_told).await?;
    no_loop(meter)?;

    join::namespace(&stage.hub().client(), &namespace).await?;
    accepted(stage, crossing.key()).await?;
    crossing.change(2).await?;
    crossing.arrived().await?;
    crossing.withdraw().await
}
