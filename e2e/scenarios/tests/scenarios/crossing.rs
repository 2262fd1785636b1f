//! A Service that crosses from the exporter to importers: what most scenarios begin with.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use fleet_testbed::exchange;
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address};
use futures::future::try_join_all;

use crate::stage::{DEADLINE, Stage};

impl Stage {
    /// Makes a Service with one slice of one address in a new namespace, exports it and imports it into these members.
    pub(crate) async fn crossing(&self, what: &str, importers: &[usize]) -> Result<Crossing<'_>> {
        let namespace = self.namespace(what).await?;
        self.crossing_in(&namespace, "web", importers).await
    }

    /// [`Self::crossing`] under a name in a namespace that exists.
    pub(crate) async fn crossing_in(
        &self,
        namespace: &str,
        name: &str,
        importers: &[usize],
    ) -> Result<Crossing<'_>> {
        let crossing = self.departing(namespace, name, importers).await?;
        crossing.arrived().await?;
        Ok(crossing)
    }

    /// [`Self::crossing_in`] that does not wait for the effect.
    pub(crate) async fn departing(
        &self,
        namespace: &str,
        name: &str,
        importers: &[usize],
    ) -> Result<Crossing<'_>> {
        let crossing = self.exported(namespace, name).await?;
        let imports = importers.iter().map(|&importer| {
            let cluster = self.member(importer);
            exchange::import(cluster, namespace, name, name)
        });
        try_join_all(imports).await?;
        Ok(Crossing { importers: importers.to_vec(), ..crossing })
    }

    /// Makes a Service with one slice of one address, and exports it.
    pub(crate) async fn exported(&self, namespace: &str, name: &str) -> Result<Crossing<'_>> {
        let addresses = [next_address()];
        let spec = ServiceSpec::http(namespace, name);
        let service = ManualService::deploy(self.exporter(), &spec, &addresses).await?;
        exchange::export(self.exporter(), namespace, name).await?;
        Ok(Crossing {
            stage: self,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            service,
            addresses: addresses.into(),
            importers: Vec::new(),
        })
    }
}

/// A Service on its way from the exporter to importers, where it has the same name.
pub(crate) struct Crossing<'a> {
    stage: &'a Stage,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) service: ManualService,
    /// What importers have to see.
    pub(crate) addresses: BTreeSet<String>,
    importers: Vec<usize>,
}

impl Crossing<'_> {
    /// Namespace and name, the same for Service, ServiceExport and MultiClusterService.
    pub(crate) fn key(&self) -> (&str, &str) {
        (&self.namespace, &self.name)
    }

    /// Gives the Service other addresses, and does not wait for the effect.
    pub(crate) async fn change(&mut self, count: usize) -> Result<()> {
        let addresses: Vec<String> = (0..count).map(|_| next_address()).collect();
        self.service.set_addresses(&addresses).await?;
        self.addresses = addresses.into_iter().collect();
        Ok(())
    }

    /// Waits until every importer has exactly the Service's addresses.
    pub(crate) async fn arrived(&self) -> Result<()> {
        try_join_all(self.importers.iter().map(|&importer| {
            let cluster = self.stage.member(importer);
            exchange::wait_imported(cluster, &self.namespace, &self.name, &self.addresses, DEADLINE)
        }))
        .await?;
        Ok(())
    }

    /// Imports it into one more member, and does not wait for the effect.
    pub(crate) async fn enter(&mut self, importer: usize) -> Result<()> {
        let cluster = self.stage.member(importer);
        exchange::import(cluster, &self.namespace, &self.name, &self.name).await?;
        self.importers.push(importer);
        Ok(())
    }

    /// Ends the import of one member, and does not wait for the effect.
    pub(crate) async fn leave(&mut self, importer: usize) -> Result<()> {
        exchange::unimport(self.stage.member(importer), &self.namespace, &self.name).await?;
        self.importers.retain(|one| *one != importer);
        Ok(())
    }

    /// Withdraws the export and deletes the Service, and does not wait for the effect; the imports stay.
    pub(crate) async fn close(&mut self) -> Result<()> {
        exchange::unexport(self.stage.exporter(), &self.namespace, &self.name).await?;
        self.service.delete().await?;
        self.addresses.clear();
        Ok(())
    }

    /// The derived Service of an importer.
    pub(crate) async fn derived(&self, importer: usize) -> Result<String> {
        let cluster = self.stage.member(importer);
        let derived = exchange::derived_service(cluster, &self.namespace, &self.name).await?;
        derived.context("the MultiClusterService has no derived Service")
    }

    /// Withdraws export and imports and deletes the Service, and does not wait for the effect.
    pub(crate) async fn end(self) -> Result<()> {
        exchange::unexport(self.stage.exporter(), &self.namespace, &self.name).await?;
        try_join_all(self.importers.iter().map(|&importer| {
            exchange::unimport(self.stage.member(importer), &self.namespace, &self.name)
        }))
        .await?;
        self.service.delete().await
    }

    /// [`Self::end`] of the last Service of a namespace, of which then nothing may be left.
    pub(crate) async fn withdraw(self) -> Result<()> {
        let (stage, namespace) = (self.stage, self.namespace.clone());
        self.end().await?;
        stage.nothing_left(&namespace).await
    }
}
