//! Members that import and are played at the hub: with credentials of their own and the watches of an importing agent, without
//! clusters. What an agent would do in its own cluster costs the hub nothing.

use std::time::Duration;

use anyhow::{Context, Result};
use fleet_api::multicluster::{ClusterReport, ResolvedService};
use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace};
use fleet_api::{ExportedSliceSpec, kinds, labels};
use fleet_model::objects::{EndpointSliceExportWire, EndpointSliceImportWire};
use fleet_runtime::clients::ClientSet;
use futures::{StreamExt, TryStreamExt, stream};
use kube::Api;
use kube::runtime::watcher;
use tokio::sync::watch;

use crate::access;
use crate::flood::objects;
use crate::relay::Output;
use crate::watching::{Listener, Watches};
use fleet_testbed::fleet::Fleet;
use fleet_testbed::rbac;

/// Members that join at the same time.
const JOINING: usize = 4;
/// How long a change may be on its way to one of them.
const DEADLINE: Duration = Duration::from_mins(1);

/// A member that is played: its place on the hub.
pub(super) struct Played {
    pub(super) member: String,
    pub(super) hub: ClientSet,
}

/// Makes places for so many members, with the rights of both front ends.
pub(super) async fn prepare(fleet: &Fleet, count: usize) -> Result<Vec<Played>> {
    let join = async |number: usize| {
        let member = format!("bench-importer-{number}");
        let hub = access::on_hub(fleet, &member).await?;
        rbac::multicluster_on_hub(&member).apply(&fleet.hub().client()).await?;
        anyhow::Ok(Played { member, hub })
    };
    stream::iter(0..count).map(join).buffered(JOINING).try_collect().await
}

/// Requests the copies of a Service for each.
pub(super) async fn request(played: &[Played], service: (&str, &str)) -> Result<()> {
    for Played { member, hub } in played {
        let place = (member_namespace(member), format!("{}-{}", service.0, service.1));
        let kind = kinds::INTERNAL_SERVICE_IMPORT;
        let mut output = Output::named(hub.write.clone(), kind, place);
        output.write(objects::request(member, service)).await?;
    }
    Ok(())
}

/// Importers at work. Dropping them ends their watches.
pub(super) struct Importers {
    size: usize,
    seen: watch::Receiver<usize>,
    watches: Watches,
}

impl Importers {
    /// Each watches the copies that it gets of a Service.
    pub(super) async fn of_copies(played: &[Played], service: &str) -> Result<Self> {
        let (mut importers, counted) = Self::new(played, service);
        for Played { member, hub } in played {
            let copies = Api::<EndpointSliceImportWire>::namespaced(
                hub.watch.clone(),
                &member_namespace(member),
            );
            importers.watches.start(copies, counted.clone()).await.context("an importer")?;
        }
        Ok(importers)
    }

    /// Each watches what is in force for all Services, their slices on the hub, and who may take part.
    pub(super) async fn of_standard(played: &[Played], service: &str) -> Result<Self> {
        let (mut importers, counted) = Self::new(played, service);
        for Played { hub, .. } in played {
            let client = &hub.watch;
            let watches = &mut importers.watches;
            let resolved = Api::<ResolvedService>::namespaced(client.clone(), SYSTEM_NAMESPACE);
            watches.start(resolved, Ignored).await.context("an importer")?;
            watches.start(Api::<ClusterReport>::all(client.clone()), Ignored).await?;
            let exported = watcher::Config::default().labels(labels::MULTICLUSTER_NAMESPACE);
            let slices = Api::<EndpointSliceExportWire>::all(client.clone());
            watches.start_narrow((slices, exported), counted.clone()).await?;
        }
        Ok(importers)
    }

    fn new(played: &[Played], service: &str) -> (Self, Counted) {
        let (sender, seen) = watch::channel(0);
        let importers = Self { size: played.len(), seen, watches: Watches::default() };
        (importers, Counted { service: service.to_owned(), seen: sender })
    }

    /// How many changes they have seen, all together.
    pub(super) fn seen(&self) -> usize {
        *self.seen.borrow()
    }

    /// Waits until each has seen one change more than when there were so many.
    pub(super) async fn reach_one_more(&mut self, before: usize) -> Result<()> {
        let wanted = before + self.size;
        let reached =
            tokio::time::timeout(DEADLINE, self.seen.wait_for(|seen| *seen >= wanted)).await;
        self.watches.check()?;
        reached.context("a change has not reached all importers")?.context("no one watches")?;
        Ok(())
    }
}

/// Counts the events of slices of one Service.
#[derive(Clone)]
struct Counted {
    service: String,
    seen: watch::Sender<usize>,
}

impl Counted {
    fn count(&self, spec: Option<ExportedSliceSpec>) {
        if spec.is_some_and(|spec| spec.owner_service_reference.name == self.service) {
            self.seen.send_modify(|seen| *seen += 1);
        }
    }
}

impl Listener<EndpointSliceImportWire> for Counted {
    async fn applied(&mut self, copy: EndpointSliceImportWire) -> Result<()> {
        self.count(copy.spec);
        Ok(())
    }
}

impl Listener<EndpointSliceExportWire> for Counted {
    async fn applied(&mut self, export: EndpointSliceExportWire) -> Result<()> {
        self.count(export.spec);
        Ok(())
    }
}

/// Decodes, and looks at nothing.
struct Ignored;

impl<K: Send + 'static> Listener<K> for Ignored {
    async fn applied(&mut self, _: K) -> Result<()> {
        Ok(())
    }
}
