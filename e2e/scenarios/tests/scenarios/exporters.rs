//! What exporters do is followed by importers (MCS-17 and MCS-18; for MCS-19 see `withdrawal`).

use std::collections::BTreeSet;

use anyhow::Result;
use fleet_api::kinds;
use fleet_testbed::exchange::{export, import, unexport, unimport, wait_imported};
use fleet_testbed::objects::edit;
use fleet_testbed::workload::{ManualService, ServiceSpec, Workload, next_address};
use serde_json::json;

use crate::stage::{DEADLINE, SECOND_IMPORTER, Stage, accepted, condition};
use crate::tests::Tests;

pub(crate) fn add(tests: &mut Tests) {
    tests.beside("exporters::a_scaled_workload_is_followed", a_scaled_workload_is_followed);
    tests.beside("exporters::a_conflict_takes_one_exporter_away", a_conflict_takes_one_away);
}

async fn a_scaled_workload_is_followed(stage: &Stage) -> Result<()> {
    let namespace = stage.namespace("scaled").await?;
    let spec = ServiceSpec::http(&namespace, "web");
    let mut web = Workload::deploy(stage.exporter(), spec, 1).await?;
    export(stage.exporter(), &namespace, "web").await?;
    import(stage.importer(), &namespace, "web", "web").await?;
    for replicas in [1, 4, 2] {
        web.scale(replicas).await?;
        wait_imported(stage.importer(), &namespace, "web", &web.addresses(), DEADLINE).await?;
    }
    unexport(stage.exporter(), &namespace, "web").await?;
    unimport(stage.importer(), &namespace, "web").await?;
    web.delete().await?;
    stage.nothing_left(&namespace).await
}

async fn a_conflict_takes_one_away(stage: &Stage) -> Result<()> {
    let crossing = stage.crossing("conflict", &[crate::stage::IMPORTER]).await?;
    accepted(stage, crossing.key()).await?;
    let (namespace, importer) = (crossing.namespace.as_str(), stage.importer());
    let other = stage.member(SECOND_IMPORTER);
    let address = next_address();
    let spec = ServiceSpec::http(namespace, "web");
    let second = ManualService::deploy(other, &spec, std::slice::from_ref(&address)).await?;
    export(other, namespace, "web").await?;
    let both: BTreeSet<_> = crossing.addresses.iter().cloned().chain([address]).collect();
    wait_imported(importer, namespace, "web", &both, DEADLINE).await?;

    let port = |port: u16| json!({ "spec": { "ports": [{ "name": "http", "port": port, "targetPort": 8080 }] } });
    edit(other, kinds::SERVICE, crossing.key(), port(81)).await?;
    condition(other, kinds::SERVICE_EXPORT, crossing.key(), ("Conflict", "True")).await?;
    crossing.arrived().await?;
    condition(importer, kinds::MULTI_CLUSTER_SERVICE, crossing.key(), ("Valid", "True")).await?;

    edit(other, kinds::SERVICE, crossing.key(), port(80)).await?;
    condition(other, kinds::SERVICE_EXPORT, crossing.key(), ("Conflict", "False")).await?;
    wait_imported(importer, namespace, "web", &both, DEADLINE).await?;
    unexport(other, namespace, "web").await?;
    second.delete().await?;
    crossing.arrived().await?;
    crossing.withdraw().await
}
