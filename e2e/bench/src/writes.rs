//! API writes per operation, counted in the audit logs by the agents' service accounts.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result};
use fleet_api::kinds;

use fleet_testbed::agents::{AgentOptions, Agents};
use fleet_testbed::audit::{WriteCounts, WriteMeter};
use fleet_testbed::exchange;
use fleet_testbed::fleet::Fleet;
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address};
use fleet_testbed::{Options, Testbed};

const NAMESPACE: &str = "bench-writes";
const EXPORTER: usize = 0;
const IMPORTER: usize = 1;
const SECOND_IMPORTER: usize = 2;
const DEADLINE: Duration = Duration::from_mins(1);
/// Longer than the 500 ms after which a status with the reason "waiting" is written.
const QUIET: Duration = Duration::from_millis(1500);

/// Writes of each operation: the most of all rounds.
#[derive(Clone, Debug, Default)]
pub(super) struct Writes {
    /// First export, then, with everything at rest, import.
    pub(super) export_first: usize,
    /// Import, and the export right behind it.
    pub(super) import_first: usize,
    /// Import, and the export when everything is at rest: the import had the status "waiting".
    pub(super) import_long_before: usize,
    /// Endpoint change with one importer.
    pub(super) change: usize,
    /// Endpoint change with two importers.
    pub(super) change_two_importers: usize,
    pub(super) unexport: usize,
    pub(super) mcs_delete: usize,
    /// Writes in all operations that were answered with 4xx.
    pub(super) refused: usize,
    /// Every write of the first export and import, with the export first.
    pub(super) first_in_full: String,
}

/// Starts a testbed of its own, with audit logs, and counts.
pub(super) async fn count(rounds: usize) -> Result<Writes> {
    let testbed = Testbed::start(Options::members(3).with_policies()).await?;
    testbed.user_namespace(NAMESPACE).await?;
    let mut agents = Agents::start(&testbed, &AgentOptions::default()).await?;
    let meter = WriteMeter::start(&testbed)?;
    let mut counter = Counter { fleet: &testbed, meter, writes: Writes::default() };
    counter.settle().await?;
    let mut result = Ok(());
    for round in 0..rounds {
        result = counter.round(round).await;
        if result.is_err() {
            break;
        }
    }
    agents.check_alive()?;
    let writes = counter.writes;
    testbed.explain(result.map(|()| writes)).await
}

struct Counter<'a> {
    fleet: &'a Fleet,
    meter: WriteMeter,
    writes: Writes,
}

impl Counter<'_> {
    /// All operations on new Services.
    async fn round(&mut self, round: usize) -> Result<()> {
        let name = format!("export-first-{round}");
        let service = self.deploy(&name).await?;
        self.export(&name).await?;
        self.rest().await?;
        self.import(IMPORTER, &name).await?;
        self.bound(IMPORTER, &name, &service.1).await?;
        let writes = self.count(|writes| &mut writes.export_first).await?;
        if round == 0 {
            self.writes.first_in_full = writes.to_string();
        }

        let addresses = self.change(&service.0).await?;
        self.bound(IMPORTER, &name, &addresses).await?;
        self.count(|writes| &mut writes.change).await?;

        self.import(SECOND_IMPORTER, &name).await?;
        self.bound(SECOND_IMPORTER, &name, &addresses).await?;
        self.settle().await?;
        let addresses = self.change(&service.0).await?;
        self.bound(IMPORTER, &name, &addresses).await?;
        self.bound(SECOND_IMPORTER, &name, &addresses).await?;
        self.count(|writes| &mut writes.change_two_importers).await?;
        exchange::unimport(self.fleet.member(SECOND_IMPORTER), NAMESPACE, &name).await?;
        self.bound(SECOND_IMPORTER, &name, &BTreeSet::new()).await?;
        self.settle().await?;

        exchange::unexport(self.fleet.member(EXPORTER), NAMESPACE, &name).await?;
        self.bound(IMPORTER, &name, &BTreeSet::new()).await?;
        self.count(|writes| &mut writes.unexport).await?;
        self.clean(&name, service.0).await?;

        let name = format!("import-first-{round}");
        let service = self.deploy(&name).await?;
        self.import(IMPORTER, &name).await?;
        self.export(&name).await?;
        self.bound(IMPORTER, &name, &service.1).await?;
        self.count(|writes| &mut writes.import_first).await?;

        let member = self.fleet.member(IMPORTER);
        exchange::unimport(member, NAMESPACE, &name).await?;
        let kind = kinds::MULTI_CLUSTER_SERVICE;
        exchange::wait_gone(member, kind, NAMESPACE, &name, DEADLINE).await?;
        self.count(|writes| &mut writes.mcs_delete).await?;
        exchange::unexport(self.fleet.member(EXPORTER), NAMESPACE, &name).await?;
        self.clean(&name, service.0).await?;

        let name = format!("import-long-before-{round}");
        let service = self.deploy(&name).await?;
        self.import(IMPORTER, &name).await?;
        self.rest().await?;
        self.export(&name).await?;
        self.bound(IMPORTER, &name, &service.1).await?;
        self.count(|writes| &mut writes.import_long_before).await?;
        exchange::unexport(self.fleet.member(EXPORTER), NAMESPACE, &name).await?;
        self.clean(&name, service.0).await
    }

    async fn deploy(&self, name: &str) -> Result<(ManualService, BTreeSet<String>)> {
        let addresses = [next_address()];
        let spec = ServiceSpec::http(NAMESPACE, name);
        let service = ManualService::deploy(self.fleet.member(EXPORTER), &spec, &addresses).await?;
        Ok((service, addresses.into()))
    }

    async fn export(&self, name: &str) -> Result<()> {
        exchange::export(self.fleet.member(EXPORTER), NAMESPACE, name).await
    }

    async fn import(&self, member: usize, name: &str) -> Result<()> {
        exchange::import(self.fleet.member(member), NAMESPACE, name, name).await
    }

    async fn bound(&self, member: usize, name: &str, wanted: &BTreeSet<String>) -> Result<()> {
        let member = self.fleet.member(member);
        exchange::wait_imported(member, NAMESPACE, name, wanted, DEADLINE).await
    }

    async fn change(&self, service: &ManualService) -> Result<BTreeSet<String>> {
        let addresses = [next_address()];
        service.set_addresses(&addresses).await?;
        Ok(addresses.into())
    }

    /// Deletes what is left of a Service that is not exported any more, and waits for the end.
    async fn clean(&mut self, name: &str, service: ManualService) -> Result<()> {
        let importer = self.fleet.member(IMPORTER);
        let kind = kinds::MULTI_CLUSTER_SERVICE;
        if fleet_testbed::objects::api(importer.client(), kind, Some(NAMESPACE))
            .get_opt(name)
            .await?
            .is_some()
        {
            exchange::unimport(importer, NAMESPACE, name).await?;
            exchange::wait_gone(importer, kind, NAMESPACE, name, DEADLINE).await?;
        }
        let exporter = self.fleet.member(EXPORTER);
        exchange::wait_gone(exporter, kinds::SERVICE_EXPORT, NAMESPACE, name, DEADLINE).await?;
        service.delete().await?;
        self.settle().await?;
        Ok(())
    }

    /// Waits until the agents write no more.
    async fn rest(&mut self) -> Result<()> {
        self.meter.wait_quiet(QUIET, DEADLINE).await.context("count writes")
    }

    /// Waits until the agents write no more, and returns what they wrote since the last call.
    async fn settle(&mut self) -> Result<WriteCounts> {
        self.rest().await?;
        let counts = self.meter.take()?;
        self.writes.refused += counts.refused();
        Ok(counts)
    }

    /// [`Self::settle`] at the end of an operation: the most writes of all rounds count.
    async fn count(&mut self, of: fn(&mut Writes) -> &mut usize) -> Result<WriteCounts> {
        let counts = self.settle().await?;
        let most = of(&mut self.writes);
        *most = (*most).max(counts.done());
        Ok(counts)
    }
}
