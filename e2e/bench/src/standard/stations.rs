//! What the standard API adds to the way of an endpoint change: the chain of bare relays with as many hops as it has, and what
//! the importing member shows of it.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use fleet_api::multicluster::standard::ServiceImport;
use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace};
use fleet_api::{kinds, labels};
use fleet_model::objects::{EndpointSliceExportWire, ManagedSliceWire};
use fleet_testbed::agents::Agent;
use fleet_testbed::fleet::Fleet;
use fleet_testbed::rbac;
use kube::Api;
use kube::runtime::watcher;
use tokio::sync::watch;

use crate::access;
use crate::arrivals::{Arrivals, Station};
use crate::change_path::{ChangePath, EXPORTER, IMPORTER};
use crate::relay::{self, DirectBindRelay, DirectExportRelay, Output, slice_addresses};
use crate::watching::Listener;

/// Starts the relays and the watches. Returns how many imports have addresses.
pub(super) async fn add(path: &mut ChangePath, fleet: &Fleet) -> Result<watch::Receiver<usize>> {
    relays(path, fleet).await?;
    let user = access::admin(fleet.member(IMPORTER)).await?;
    let imported = watcher::Config::default().labels(labels::MULTICLUSTER_SOURCE_CLUSTER);
    let slices = Api::<ManagedSliceWire>::all(user.watch.clone());
    let bound = Bound(path.arrivals.clone());
    path.watches.start_narrow((slices, imported), bound).await?;
    let (count, addressed) = watch::channel(0);
    let listener = Addressed { names: BTreeSet::new(), count };
    path.watches.start(Api::<ServiceImport>::all(user.watch), listener).await?;
    Ok(addressed)
}

async fn relays(path: &mut ChangePath, fleet: &Fleet) -> Result<()> {
    let local = access::as_agent(fleet, Agent::Member(EXPORTER)).await?;
    let hub = access::on_hub(fleet, relay::EXPORTER).await?;
    let copy = relay::DIRECT_COPY.to_owned();
    let place = (member_namespace(relay::EXPORTER), copy.clone());
    let hub = Output::named(hub.write, kinds::ENDPOINT_SLICE_EXPORT, place);
    let place = (SYSTEM_NAMESPACE.to_owned(), copy.clone());
    let own = Output::named(local.write, kinds::ENDPOINT_SLICE, place);
    let only = watcher::Config::default().fields(&format!("metadata.name={}", relay::DIRECT));
    let slices = Api::<ManagedSliceWire>::all(local.watch);
    let relay = DirectExportRelay { hub, own };
    path.watches.start_narrow((slices, only), relay).await.context("direct relay 1")?;

    rbac::multicluster_on_hub(relay::IMPORTER).apply(&fleet.hub().client()).await?;
    let hub = access::on_hub(fleet, relay::IMPORTER).await?;
    let local = access::as_agent(fleet, Agent::Member(IMPORTER)).await?;
    let place = (SYSTEM_NAMESPACE.to_owned(), copy);
    let relay = DirectBindRelay(Output::named(local.write, kinds::ENDPOINT_SLICE, place));
    let labelled = watcher::Config::default().labels(relay::DIRECT_LABEL);
    let slices = Api::<EndpointSliceExportWire>::all(hub.watch);
    path.watches.start_narrow((slices, labelled), relay).await.context("direct relay 2")
}

/// Imported slices.
struct Bound(Arrivals);

impl Listener<ManagedSliceWire> for Bound {
    async fn applied(&mut self, slice: ManagedSliceWire) -> Result<()> {
        self.0.seen(Station::Target, slice_addresses(&slice));
        Ok(())
    }
}

/// Counts imports that clients can reach.
struct Addressed {
    names: BTreeSet<String>,
    count: watch::Sender<usize>,
}

impl Listener<ServiceImport> for Addressed {
    async fn applied(&mut self, import: ServiceImport) -> Result<()> {
        if !import.spec.ips.is_empty() {
            let name = import.metadata.name.unwrap_or_default();
            self.names.insert(format!("{}/{name}", import.metadata.namespace.unwrap_or_default()));
            self.count.send_replace(self.names.len());
        }
        Ok(())
    }
}
