//! The definition of a kind of the fleet is deleted, with every object of the kind, and made again.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use fleet_api::{ResourceKind, kinds};
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::crds;
use fleet_testbed::exchange::export;
use fleet_testbed::objects::{api, edit};
use fleet_testbed::observer::{Observation, Observer};
use fleet_testbed::wait::wait_until;
use futures::future::try_join_all;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::stage::{Crossing, DEADLINE, EXPORTER, IMPORTER, Stage, name_of};
use crate::tests::Tests;

/// The kinds whose definitions scenarios delete.
const DELETED: [ResourceKind; 3] =
    [kinds::ENDPOINT_SLICE_IMPORT, kinds::SERVICE_EXPORT, kinds::EXTERNAL_WORKLOAD];
/// So many objects of a kind may go at once without a second look.
const FLOOR: usize = 20;
/// Enough for the brake to have something to save, also when a kind comes back empty.
const SERVICES: usize = 45;

pub(crate) fn add(tests: &mut Tests) {
    if std::env::var_os(fleet_testbed::fleet::HUB_KUBECONFIG).is_some() {
        return; // Definitions of existing clusters are not the suite's to delete.
    }
    tests.apart("definitions::the_hubs_goes_and_comes", the_hubs_goes_and_comes);
    tests.apart("definitions::a_members_goes_and_comes", a_members_goes_and_comes);
}

/// F27: the kind that slices reach importers by. That it is gone is no reason to withdraw anything beyond what may go
/// at once, nor is that it comes back without a single object: then the importer looks twice, while the hub agent makes
/// them anew.
async fn the_hubs_goes_and_comes(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let (namespace, crossings) = crossings(stage, "hubkinds").await?;
    let (hub, kinds) = (stage.hub(), [kinds::ENDPOINT_SLICE_IMPORT]);
    let mut observer = Observer::start_for([(stage.importer(), kinds::ENDPOINT_SLICE)]).await?;
    delete(hub, &kinds).await?;
    for agent in [Agent::Hub, Agent::Member(IMPORTER)] {
        missing(agents, agent).await?;
    }
    let_go(hub, &kinds).await?;
    few_went(&mut observer, &namespace)?;
    install(hub, &crds::HUB, &kinds).await?;
    try_join_all(crossings.iter().map(Crossing::arrived)).await?;
    agents.check_alive()?;
    few_went(&mut observer, &namespace)?;
    end(stage, &namespace, crossings).await
}

/// F27: a user's exports go with their kind, and are applied again once it is back. While it is away no more is
/// withdrawn than may go at once. That it is back and empty, though, is believed when a second list shows it, too.
async fn a_members_goes_and_comes(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let (namespace, crossings) = crossings(stage, "memberkinds").await?;
    let (exporter, kinds) = (stage.exporter(), [kinds::SERVICE_EXPORT]);
    let mut observer = Observer::start_for([(stage.importer(), kinds::ENDPOINT_SLICE)]).await?;
    delete(exporter, &kinds).await?;
    missing(agents, Agent::Member(EXPORTER)).await?;
    let_go(exporter, &kinds).await?;
    few_went(&mut observer, &namespace)?;
    install(exporter, &crds::MEMBER, &kinds).await?;
    try_join_all(crossings.iter().map(|one| export(exporter, &namespace, &one.name))).await?;
    try_join_all(crossings.iter().map(Crossing::arrived)).await?;
    agents.check_alive()?;
    end(stage, &namespace, crossings).await
}

async fn crossings<'a>(stage: &'a Stage, what: &str) -> Result<(String, Vec<Crossing<'a>>)> {
    let namespace = stage.namespace(what).await?;
    let names: Vec<String> = (0..SERVICES).map(|number| format!("web-{number:02}")).collect();
    let crossings =
        try_join_all(names.iter().map(|name| stage.departing(&namespace, name, &[IMPORTER])))
            .await?;
    try_join_all(crossings.iter().map(Crossing::arrived)).await?;
    Ok((namespace, crossings))
}

async fn end(stage: &Stage, namespace: &str, crossings: Vec<Crossing<'_>>) -> Result<()> {
    try_join_all(crossings.into_iter().map(Crossing::end)).await?;
    stage.nothing_left(namespace).await
}

fn definitions(cluster: &Cluster) -> Api<CustomResourceDefinition> {
    Api::all(cluster.client())
}

fn definition_of(kind: ResourceKind) -> String {
    format!("{}.{}", kind.plural, kind.group)
}

pub(crate) async fn delete(cluster: &Cluster, kinds: &[ResourceKind]) -> Result<()> {
    for kind in kinds {
        definitions(cluster).delete(&definition_of(*kind), &DeleteParams::default()).await?;
    }
    Ok(())
}

/// Waits until the agent reports that some kind is not served.
async fn missing(agents: &Agents, agent: Agent) -> Result<()> {
    let what = format!("{agent:?} says that kinds are missing");
    wait_until(&what, DEADLINE, async || {
        let (status, text) = agents.readiness(agent).await?;
        Ok(status == 503 && text.contains("the kind is not served"))
    })
    .await
}

/// Most Services were never without endpoints.
fn few_went(observer: &mut Observer, namespace: &str) -> Result<()> {
    let gone = observer.take_gone(namespace);
    let gone: BTreeSet<String> = gone.iter().map(Observation::name).collect();
    eprintln!("{} of {SERVICES} imported slices went", gone.len());
    ensure!(gone.len() <= FLOOR, "more than {FLOOR} went: {gone:?}");
    Ok(())
}

/// What an administrator does who wants the kinds back: removes the finalizers that block the end of the old ones.
pub(crate) async fn let_go(cluster: &Cluster, kinds: &[ResourceKind]) -> Result<()> {
    for kind in kinds {
        let name = definition_of(*kind);
        wait_until(&format!("the definition {name} is gone"), DEADLINE, async || {
            if definitions(cluster).get_opt(&name).await?.is_none() {
                return Ok(true);
            }
            let all = api(cluster.client(), *kind, None).list(&ListParams::default()).await?;
            let held = all.items.iter().filter(|one| one.metadata.finalizers.is_some());
            try_join_all(held.map(async |one| {
                let metadata = &one.metadata;
                let key = (name_of(metadata.namespace.as_ref())?, name_of(metadata.name.as_ref())?);
                let free = json!({ "metadata": { "finalizers": Value::Null } });
                edit(cluster, *kind, key, free).await
            }))
            .await?;
            Ok(false)
        })
        .await?;
    }
    Ok(())
}

/// Installs those again that a scenario has deleted and, because it failed, not installed.
pub(crate) async fn restore(cluster: &Cluster, folders: &[&str]) -> Result<()> {
    let there = definitions(cluster).list(&ListParams::default()).await?.items;
    let is_whole = |wanted: &CustomResourceDefinition| {
        let mut there = there.iter().filter(|one| one.metadata.name == wanted.metadata.name);
        there.any(|one| one.metadata.deletion_timestamp.is_none())
    };
    let mut missing = crds::load(folders)?;
    missing.retain(|wanted| !is_whole(wanted));
    let names: BTreeSet<_> = missing.iter().map(CustomResourceDefinition::name_any).collect();
    let kinds: Vec<_> =
        DELETED.into_iter().filter(|kind| names.contains(&definition_of(*kind))).collect();
    let_go(cluster, &kinds).await?;
    crds::install(&cluster.client(), &missing).await
}

/// Installs them again.
pub(crate) async fn install(
    cluster: &Cluster,
    folders: &[&str],
    kinds: &[ResourceKind],
) -> Result<()> {
    let mut wanted = crds::load(folders)?;
    let names: BTreeSet<String> = kinds.iter().copied().map(definition_of).collect();
    wanted.retain(|one| one.metadata.name.as_ref().is_some_and(|name| names.contains(name)));
    crds::install(&cluster.client(), &wanted).await
}
