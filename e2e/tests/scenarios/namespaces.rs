//! A user's namespace on an importer is deleted with everything in it, and made again.

use anyhow::Result;
use fleet_api::kinds;
use fleet_e2e::exchange::import;
use fleet_e2e::wait::wait_until;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::DeleteParams;

use crate::stage::{DEADLINE, IMPORTER, Stage};
use crate::tests::Tests;

pub(crate) fn add(tests: &mut Tests) {
    tests.beside("namespaces::an_importers_namespace_goes", an_importers_namespace_goes);
}

async fn an_importers_namespace_goes(stage: &Stage) -> Result<()> {
    let mut crossing = stage.crossing("ending", &[IMPORTER]).await?;
    let namespace = crossing.namespace.clone();
    let importer = stage.importer();
    let all: Api<Namespace> = Api::all(importer.client());
    all.delete(&namespace, &DeleteParams::default()).await?;
    wait_until("the namespace is gone", DEADLINE, async || {
        Ok(all.get_opt(&namespace).await?.is_none())
    })
    .await?;
    wait_until("nothing is left of the import", DEADLINE, async || {
        let left = stage.leftovers_of(&namespace).await?;
        let request = kinds::INTERNAL_SERVICE_IMPORT;
        let copy = kinds::ENDPOINT_SLICE_IMPORT;
        Ok(left
            .iter()
            .all(|one| one.cluster != importer.name() && one.kind != request && one.kind != copy))
    })
    .await?;

    stage.user_namespace(&namespace).await?;
    import(importer, &namespace, "web", "web").await?;
    crossing.arrived().await?;
    crossing.change(2).await?;
    crossing.arrived().await?;
    crossing.withdraw().await
}
