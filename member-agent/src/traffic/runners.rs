//! Endpoints that run elsewhere than at their exporters (docs/design/traffic.md#virtual-nodes).

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use super::ground::Ground;
use super::shaping::address;
use crate::executing::{Executing, of_imported};

/// Executors that an exporter can name for one Service. What exceeds that counts as its own: each is one more source to decide on.
const MOST: usize = 16;

/// The executors of the endpoints of a Service.
#[derive(Debug)]
pub(crate) struct Runners<'a> {
    importer: &'a str,
    /// Whether this cluster runs Pods of others: without, an exporter that claims so would be preferred here.
    is_executor: bool,
    executing: &'a Executing<'a>,
    by_exporter: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

impl<'a> Runners<'a> {
    /// Those of all slices, each with its exporter.
    pub(crate) fn of(
        ground: &'a Ground<'a>,
        slices: impl Iterator<Item = (&'a str, &'a EndpointSlice)>,
    ) -> Self {
        let (importer, executing) = (ground.importer(), ground.executing());
        let is_executor = ground.is_executor();
        let by_exporter = BTreeMap::new();
        let mut runners = Self { importer, is_executor, executing, by_exporter };
        for (exporter, slice) in slices {
            let named = slice.endpoints.iter().filter_map(|one| runners.named(exporter, one));
            let named: BTreeSet<_> = named.collect();
            if !named.is_empty() {
                runners.by_exporter.entry(exporter).or_default().extend(named);
            }
        }
        for executors in runners.by_exporter.values_mut() {
            // The first by name, whatever others there are.
            while executors.len() > MOST {
                executors.pop_last();
            }
        }
        runners
    }

    /// The executor of an endpoint; `None` for one that runs at its exporter.
    pub(crate) fn executor<'b>(&self, exporter: &str, endpoint: &'b Endpoint) -> Option<&'b str> {
        let executor = self.named(exporter, endpoint)?;
        self.by_exporter.get(exporter)?.contains(executor).then_some(executor)
    }

    /// All executors.
    pub(crate) fn clusters(&self) -> BTreeSet<&'a str> {
        self.by_exporter.values().flatten().copied().collect()
    }

    /// The addresses of the endpoints of a slice that run elsewhere.
    pub(crate) fn elsewhere(&self, exporter: &str, slice: &EndpointSlice) -> BTreeSet<String> {
        let endpoints = slice.endpoints.iter();
        let elsewhere = endpoints.filter(|one| self.executor(exporter, one).is_some());
        elsewhere.map(|one| address(one).to_owned()).collect()
    }

    fn named<'b>(&self, exporter: &str, endpoint: &'b Endpoint) -> Option<&'b str> {
        let executor = if exporter == self.importer {
            self.executing.of_node(endpoint.node_name.as_deref())
        } else {
            of_imported(endpoint).filter(|it| self.is_executor || *it != self.importer)
        };
        executor.filter(|executor| *executor != exporter)
    }
}
