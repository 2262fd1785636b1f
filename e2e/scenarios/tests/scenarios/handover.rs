//! Imports that wait, follow each other, or have the names of others (MCS-13 to MCS-15; for MCS-11, MCS-12
//! and MCS-14 see `changes` and `withdrawal`).

use anyhow::Result;
use fleet_api::kinds;
use fleet_testbed::exchange::{import, unexport, unimport};
use futures::future::try_join_all;

use crate::stage::{Crossing, IMPORTER, Stage, condition};
use crate::tests::Tests;

pub(crate) fn add(tests: &mut Tests) {
    tests.beside("handover::a_wish_comes_before_its_export", a_wish_comes_before_its_export);
    tests.beside("handover::equal_names_live_side_by_side", equal_names_live_side_by_side);
    if std::env::var_os(fleet_testbed::fleet::HUB_KUBECONFIG).is_none() {
        // One namespace has the name of the other and more: the stage would not clean up behind it.
        tests.beside("handover::joined_names_live_side_by_side", joined_names_live_side_by_side);
    }
}

async fn a_wish_comes_before_its_export(stage: &Stage) -> Result<()> {
    let namespace = stage.namespace("before").await?;
    let (importer, kind) = (stage.importer(), kinds::MULTI_CLUSTER_SERVICE);
    import(importer, &namespace, "web", "web").await?;
    let key = (namespace.as_str(), "web");
    condition(importer, kind, key, ("Valid", "Unknown")).await?;
    let crossing = stage.exported(&namespace, "web").await?;
    condition(importer, kind, key, ("Valid", "True")).await?;
    unimport(importer, &namespace, "web").await?;
    crossing.withdraw().await
}

/// Two namespaces with two Services each, of the same names.
async fn equal_names_live_side_by_side(stage: &Stage) -> Result<()> {
    let namespaces = [stage.namespace("red").await?, stage.namespace("blue").await?];
    let mut crossings = Vec::new();
    for namespace in &namespaces {
        for name in ["web", "desk"] {
            crossings.push(stage.departing(namespace, name, &[IMPORTER]).await?);
        }
    }
    all_valid(stage, &crossings).await?;
    end(stage, crossings).await?;
    try_join_all(namespaces.iter().map(|namespace| stage.nothing_left(namespace))).await?;
    Ok(())
}

/// `a-b/c` and `a/b-c` would have one name for their objects on the hub and for their derived Services.
async fn joined_names_live_side_by_side(stage: &Stage) -> Result<()> {
    let outer = stage.namespace("joined").await?;
    let inner = format!("{outer}-b");
    stage.user_namespace(&inner).await?;
    let crossings = vec![
        stage.departing(&outer, "b-c", &[IMPORTER]).await?,
        stage.departing(&inner, "c", &[IMPORTER]).await?,
    ];
    all_valid(stage, &crossings).await?;
    end(stage, crossings).await?;
    stage.nothing_left(&outer).await
}

async fn all_valid(stage: &Stage, crossings: &[Crossing<'_>]) -> Result<()> {
    try_join_all(crossings.iter().map(async |crossing| {
        crossing.arrived().await?;
        let mcs = kinds::MULTI_CLUSTER_SERVICE;
        condition(stage.importer(), mcs, crossing.key(), ("Valid", "True")).await
    }))
    .await?;
    Ok(())
}

async fn end(stage: &Stage, crossings: Vec<Crossing<'_>>) -> Result<()> {
    for crossing in crossings {
        unexport(stage.exporter(), &crossing.namespace, &crossing.name).await?;
        unimport(stage.importer(), &crossing.namespace, &crossing.name).await?;
        crossing.service.delete().await?;
    }
    Ok(())
}
