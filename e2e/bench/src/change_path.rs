//! Everything that stands along the way of an endpoint change: relays, watches, and the users' clients.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use fleet_api::kinds;
use fleet_api::labels;
use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace};
use fleet_model::objects::ManagedSliceWire;
use kube::{Api, Client};
use tokio::sync::watch;

use super::access;
use super::arrivals::{Arrivals, Station};
use super::relay::{
    self, BindRelay, ExportRelay, ImportEcho, ImportRelay, Output, slice_addresses,
};
use super::watching::{Listener, Watches};
use fleet_testbed::agents::Agent;
use fleet_testbed::fleet::Fleet;
use fleet_testbed::join;

/// Position of the exporting member.
pub(super) const EXPORTER: usize = 0;
/// Position of the importing member.
pub(super) const IMPORTER: usize = 1;

/// Clients of users and the relays between the clusters. Dropping it ends the relays.
pub(super) struct ChangePath {
    /// A user of the hub.
    pub(super) hub: Client,
    /// A user of the exporting member.
    pub(super) exporter: Client,
    /// A user of the importing member.
    pub(super) importer: Client,
    /// What the watches see.
    pub(super) arrivals: Arrivals,
    /// How many imported slices the importing member has.
    pub(super) imported: watch::Receiver<usize>,
    /// All watches; one that fails is why no change arrives.
    pub(super) watches: Watches,
}

impl ChangePath {
    /// Starts the relays and makes the slice that they carry.
    pub(super) async fn build(fleet: &Fleet) -> Result<Self> {
        let exporter = fleet.member(EXPORTER);
        join::namespace(&exporter.client(), relay::USER_NAMESPACE).await?;

        let arrivals = Arrivals::default();
        let mut watches = Watches::default();

        let local = access::as_agent(fleet, Agent::Member(EXPORTER)).await?;
        let hub = access::on_hub(fleet, relay::EXPORTER).await?;
        let namespace = member_namespace(relay::EXPORTER);
        let output = Output::new(hub.write, kinds::ENDPOINT_SLICE_EXPORT, namespace);
        let listener = ExportRelay { arrivals: arrivals.clone(), output };
        watches.start(Api::all(local.watch), listener).await.context("relay 1")?;

        let hub = access::as_agent(fleet, Agent::Hub).await?;
        let namespace = member_namespace(relay::IMPORTER);
        let output = Output::new(hub.write, kinds::ENDPOINT_SLICE_IMPORT, namespace.clone());
        let relay_hub = access::on_hub(fleet, relay::IMPORTER).await?;
        let listener = ImportRelay { arrivals: arrivals.clone(), output };
        watches.start(Api::all(hub.watch.clone()), listener).await.context("relay 2")?;
        watches.start(Api::all(hub.watch), ImportEcho(arrivals.clone())).await?;

        let local = access::as_agent(fleet, Agent::Member(IMPORTER)).await?;
        let output = Output::new(local.write, kinds::ENDPOINT_SLICE, SYSTEM_NAMESPACE.to_owned());
        let api = Api::namespaced(relay_hub.watch, &namespace);
        watches.start(api, BindRelay(output)).await.context("relay 3")?;

        let user = access::admin(fleet.member(IMPORTER)).await?;
        let (count, imported) = watch::channel(0);
        let listener =
            Target { arrivals: arrivals.clone(), names: BTreeSet::new(), imported: count };
        watches.start(Api::namespaced(user.watch, SYSTEM_NAMESPACE), listener).await?;

        Ok(Self {
            hub: access::admin(fleet.hub()).await?.write,
            exporter: access::admin(exporter).await?.write,
            importer: user.write,
            arrivals,
            imported,
            watches,
        })
    }

    /// Why no change arrives any more, if a relay has failed; otherwise the result as it is.
    pub(super) fn explain<T>(&mut self, result: Result<T>) -> Result<T> {
        if result.is_err() {
            self.watches.check()?;
        }
        result
    }
}

/// The importing member's slices, as a user of it sees them.
struct Target {
    arrivals: Arrivals,
    names: BTreeSet<String>,
    imported: watch::Sender<usize>,
}

impl Listener<ManagedSliceWire> for Target {
    async fn applied(&mut self, slice: ManagedSliceWire) -> Result<()> {
        self.arrivals.seen(Station::Target, slice_addresses(&slice));
        let label = |key| slice.metadata.labels.as_ref().and_then(|labels| labels.get(key));
        if label(labels::MANAGED_BY).is_some_and(|manager| manager == labels::MANAGED_BY_IMPORT) {
            self.names.extend(slice.metadata.name);
            self.imported.send_replace(self.names.len());
        }
        Ok(())
    }

    fn deleted(&mut self, name: String) {
        self.names.remove(&name);
        self.imported.send_replace(self.names.len());
    }
}
