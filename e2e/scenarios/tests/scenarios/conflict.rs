//! Two members export a Service: who wins, what the other one reads, and what importers see when one of them leaves.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{kinds, labels};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::exchange::{export, imported_slices, unexport, unimport, wait_imported};
use fleet_testbed::objects::find;
use fleet_testbed::observer::{Observer, What};
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address, ready_addresses};
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::stage::{Crossing, DEADLINE, IMPORTER, SECOND_IMPORTER, Stage, condition};
use crate::tests::Tests;

pub(crate) fn add(tests: &mut Tests) {
    tests.beside("conflict::the_loser_is_told_and_takes_over", the_loser_is_told_and_takes_over);
    tests.beside("conflict::an_equal_one_leaves_without_a_gap", an_equal_one_leaves_without_a_gap);
}

/// The member that exports second.
fn second(stage: &Stage) -> &Cluster {
    stage.member(SECOND_IMPORTER)
}

/// Exports a Service of the same name from the second member; returns its address.
async fn export_second(
    stage: &Stage,
    crossing: &Crossing<'_>,
    (port, target): (u16, u16),
) -> Result<(ManualService, BTreeSet<String>)> {
    let (namespace, name) = crossing.key();
    let spec = ServiceSpec::new(namespace, name).port("http", "TCP", port, target);
    let address = next_address();
    let service =
        ManualService::deploy(second(stage), &spec, std::slice::from_ref(&address)).await?;
    export(second(stage), namespace, name).await?;
    Ok((service, BTreeSet::from([address])))
}

/// The second one's other port is named, with the winner; when that one leaves, the import stays what it is and
/// serves the second one's endpoints, without a moment with none.
async fn the_loser_is_told_and_takes_over(stage: &Stage) -> Result<()> {
    let first = stage.crossing("conflict", &[IMPORTER]).await?;
    let importer = stage.importer();
    let (service, addresses) = export_second(stage, &first, (81, 8080)).await?;
    let told = condition(second(stage), kinds::SERVICE_EXPORT, first.key(), ("Conflict", "True"));
    let told = told.await?["message"].as_str().context("a message")?.to_owned();
    ensure!(told.contains("port TCP/81 is exported here only"), "{told}");
    let winner = format!("cluster {}, which has exported it since 20", stage.exporter().name());
    ensure!(told.contains(&winner), "{told}");
    first.arrived().await?;

    let derived = first.derived(IMPORTER).await?;
    let watched = [kinds::MULTI_CLUSTER_SERVICE, kinds::SERVICE].map(|kind| (importer, kind));
    let mut observer = Observer::start_for(watched).await?;
    let mut serving = Serving::start(importer, &derived).await?;
    let (namespace, name) = first.key();
    unexport(stage.exporter(), namespace, name).await?;
    wait_imported(importer, namespace, name, &addresses, DEADLINE).await?;
    condition(second(stage), kinds::SERVICE_EXPORT, first.key(), ("Conflict", "False")).await?;
    let port = async || {
        let service = find(importer, kinds::SERVICE, (SYSTEM_NAMESPACE, &derived)).await?;
        Ok(service.is_some_and(|service| service.data["spec"]["ports"][0]["port"] == 81))
    };
    wait_until("the derived Service has the second one's port", DEADLINE, port).await?;
    serving.check("nobody serves", |serving| !serving.is_empty())?;
    for seen in observer.take() {
        let object = &seen.object;
        let ours = object.metadata.name.as_deref() == Some(name)
            && object.metadata.namespace.as_deref() == Some(namespace);
        if seen.kind == kinds::MULTI_CLUSTER_SERVICE && ours {
            let conditions = object.data["status"]["conditions"].to_string();
            ensure!(conditions.contains(r#""status":"True""#), "the import was lost: {conditions}");
        }
        let gone = seen.is(importer.name(), kinds::SERVICE, What::Gone);
        ensure!(!gone || object.metadata.name.as_ref() != Some(&derived), "{seen}");
    }
    end(stage, first, service).await
}

/// Of two exporters whose Pods listen on different ports one leaves: the other one's endpoints are there all the time.
async fn an_equal_one_leaves_without_a_gap(stage: &Stage) -> Result<()> {
    let first = stage.crossing("equal", &[IMPORTER]).await?;
    let importer = stage.importer();
    let (service, addresses) = export_second(stage, &first, (80, 9090)).await?;
    let (namespace, name) = first.key();
    let both = first.addresses.union(&addresses).cloned().collect();
    wait_imported(importer, namespace, name, &both, DEADLINE).await?;

    let derived = first.derived(IMPORTER).await?;
    let mut serving = Serving::start(importer, &derived).await?;
    unexport(stage.exporter(), namespace, name).await?;
    wait_imported(importer, namespace, name, &addresses, DEADLINE).await?;
    serving.check("the second one's are missing", |serving| serving.is_superset(&addresses))?;
    end(stage, first, service).await
}

/// What a derived Service's clients reach, from moment to moment.
struct Serving {
    derived: String,
    slices: BTreeMap<Option<String>, EndpointSlice>,
    observer: Observer,
}

impl Serving {
    async fn start(importer: &Cluster, derived: &str) -> Result<Self> {
        let observer = Observer::start_for([(importer, kinds::ENDPOINT_SLICE)]).await?;
        let slices = imported_slices(importer, derived).await?;
        let slices = slices.into_iter().map(|slice| (slice.metadata.name.clone(), slice)).collect();
        Ok(Self { derived: derived.to_owned(), slices, observer })
    }

    /// Whether it was right after every change so far.
    fn check(&mut self, wrong: &str, is_right: impl Fn(&BTreeSet<String>) -> bool) -> Result<()> {
        for seen in self.observer.take() {
            let slice: EndpointSlice = serde_json::from_value(serde_json::to_value(&seen.object)?)?;
            let bound = slice.metadata.labels.iter().flatten();
            let mut bound = bound.filter(|(label, _)| **label == *labels::SERVICE_NAME);
            if bound.next().is_none_or(|(_, service)| *service != self.derived) {
                continue;
            }
            if seen.what == What::Gone {
                self.slices.remove(&slice.metadata.name);
            } else {
                self.slices.insert(slice.metadata.name.clone(), slice);
            }
            let serving = ready_addresses(&self.slices.values().cloned().collect::<Vec<_>>());
            ensure!(is_right(&serving), "{wrong} after {seen}: {serving:?}");
        }
        Ok(())
    }
}

/// Withdraws what is left.
async fn end(stage: &Stage, first: Crossing<'_>, second_one: ManualService) -> Result<()> {
    let namespace = first.namespace.clone();
    unimport(stage.importer(), &namespace, &first.name).await?;
    unexport(second(stage), &namespace, &first.name).await?;
    first.service.delete().await?;
    second_one.delete().await?;
    stage.nothing_left(&namespace).await
}
