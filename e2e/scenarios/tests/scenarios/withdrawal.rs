//! Unexport, several importers, and a hub that lacks the user's namespace.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use fleet_api::kinds;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::exchange::{import, unexport, unimport, wait_gone, wait_imported};
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;

use crate::stage::{DEADLINE, IMPORTER, SECOND_IMPORTER, Stage, accepted, becomes, condition};
use crate::tests::Tests;

pub(crate) fn add(tests: &mut Tests) {
    tests.beside("withdrawal::unexport_leaves_the_wish_alone", unexport_leaves_the_wish_alone);
    tests.beside("withdrawal::several_importers_are_served", several_importers_are_served);
    tests.beside("withdrawal::an_export_goes_and_comes", an_export_goes_and_comes);
    tests.beside("withdrawal::a_missing_hub_namespace_is_told", a_missing_hub_namespace_is_told);
}

async fn unexport_leaves_the_wish_alone(stage: &Stage) -> Result<()> {
    let crossing = stage.crossing("unexport", &[IMPORTER]).await?;
    unexport(stage.exporter(), &crossing.namespace, "web").await?;
    wait_gone(stage.exporter(), kinds::SERVICE_EXPORT, &crossing.namespace, "web", DEADLINE)
        .await?;
    let nothing = BTreeSet::new();
    wait_imported(stage.importer(), &crossing.namespace, "web", &nothing, DEADLINE).await?;
    let mcs = kinds::MULTI_CLUSTER_SERVICE;
    condition(stage.importer(), mcs, crossing.key(), ("Valid", "Unknown")).await?;
    let mut left = Vec::new();
    let expected = BTreeSet::from([
        (stage.hub().name().to_owned(), kinds::INTERNAL_SERVICE_IMPORT.kind),
        (stage.importer().name().to_owned(), kinds::SERVICE_IMPORT.kind),
        (stage.importer().name().to_owned(), mcs.kind),
    ]);
    fleet_testbed::wait::wait_until("only the wish is left", DEADLINE, async || {
        left = stage.leftovers_of(&crossing.namespace).await?;
        let kinds: BTreeSet<_> =
            left.iter().map(|one| (one.cluster.clone(), one.kind.kind)).collect();
        Ok(kinds == expected && left.len() == expected.len())
    })
    .await
    .with_context(|| format!("{left:#?}"))?;
    unimport(stage.importer(), &crossing.namespace, "web").await?;
    stage.nothing_left(&crossing.namespace).await
}

async fn several_importers_are_served(stage: &Stage) -> Result<()> {
    let mut crossing = stage.crossing("several", &[IMPORTER, SECOND_IMPORTER]).await?;
    for count in [3, 1, 2] {
        crossing.change(count).await?;
        crossing.arrived().await?;
    }
    // The exporter may import what it exports: its slices come back under another Service.
    let (namespace, exporter) = (crossing.namespace.as_str(), stage.exporter());
    import(exporter, namespace, "web", "web").await?;
    wait_imported(exporter, namespace, "web", &crossing.addresses, DEADLINE).await?;
    unimport(exporter, namespace, "web").await?;
    wait_gone(exporter, kinds::MULTI_CLUSTER_SERVICE, namespace, "web", DEADLINE).await?;

    // One importer goes, the other does not notice.
    let second = stage.member(SECOND_IMPORTER);
    unimport(second, namespace, "web").await?;
    wait_gone(second, kinds::MULTI_CLUSTER_SERVICE, namespace, "web", DEADLINE).await?;
    crossing.change(2).await?;
    let namespace = crossing.namespace.as_str();
    wait_imported(stage.importer(), namespace, "web", &crossing.addresses, DEADLINE).await?;
    ensure!(
        stage.leftovers_of(namespace).await?.iter().all(|one| one.cluster != second.name()),
        "something is left where nothing is imported any more"
    );
    import(second, namespace, "web", "web").await?;
    crossing.arrived().await?;
    crossing.withdraw().await
}

/// Withdrawn and exported again, at once and after a while.
async fn an_export_goes_and_comes(stage: &Stage) -> Result<()> {
    let mut crossing = stage.crossing("again", &[IMPORTER, SECOND_IMPORTER]).await?;
    for wait_for_the_end in [false, true, false] {
        let namespace = crossing.namespace.as_str();
        unexport(stage.exporter(), namespace, "web").await?;
        wait_gone(stage.exporter(), kinds::SERVICE_EXPORT, namespace, "web", DEADLINE).await?;
        if wait_for_the_end {
            let nothing = BTreeSet::new();
            try_join_all([IMPORTER, SECOND_IMPORTER].map(|importer| {
                wait_imported(stage.member(importer), namespace, "web", &nothing, DEADLINE)
            }))
            .await?;
        }
        fleet_testbed::exchange::export(stage.exporter(), namespace, "web").await?;
        crossing.change(2).await?;
        crossing.arrived().await?;
        accepted(stage, crossing.key()).await?;
    }
    crossing.withdraw().await
}

/// The hub agent makes no namespaces; the user of a missing one reads so.
async fn a_missing_hub_namespace_is_told(stage: &Stage) -> Result<()> {
    let namespace = stage.namespace_name("absent");
    for member in [stage.exporter(), stage.importer()] {
        make_namespace(member, &namespace).await?;
    }
    let mut crossing = stage.exported(&namespace, "web").await?;
    import(stage.importer(), &namespace, "web", "web").await?;
    let is_told = |export: &kube::api::DynamicObject| {
        let conditions = export.data["status"]["conditions"].as_array();
        conditions.into_iter().flatten().any(|condition| {
            let message = condition["message"].as_str().unwrap_or_default();
            condition["type"] == "Conflict"
                && condition["status"] == "Unknown"
                && message.contains(&namespace)
                && message.contains("hub")
        })
    };
    let what = "says that the hub lacks the namespace";
    let kind = kinds::SERVICE_EXPORT;
    becomes(stage.exporter(), kind, crossing.key(), what, is_told).await?;

    make_namespace(stage.hub(), &namespace).await?;
    accepted(stage, crossing.key()).await?;
    crossing.change(2).await?;
    wait_imported(stage.importer(), &namespace, "web", &crossing.addresses, DEADLINE).await?;
    unexport(stage.exporter(), &namespace, "web").await?;
    unimport(stage.importer(), &namespace, "web").await?;
    stage.nothing_left(&namespace).await
}

async fn make_namespace(cluster: &Cluster, name: &str) -> Result<()> {
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    let namespace = serde_json::from_value(json!({ "metadata": { "name": name } }))?;
    namespaces.create(&PostParams::default(), &namespace).await?;
    Ok(())
}
