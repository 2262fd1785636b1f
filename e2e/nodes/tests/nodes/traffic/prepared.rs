//! The endpoints in use, from EndpointSlices.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use fleet_api::labels;
use fleet_testbed::cluster::Cluster;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use kube::Api;
use kube::api::ListParams;

/// All slices of a derived Service.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    slices: Vec<EndpointSlice>,
    /// First parts of the addresses of each cluster's Pods.
    ranges: BTreeMap<String, String>,
    /// Zone of the node; empty for none.
    zone: String,
}

impl Prepared {
    pub(super) async fn read(
        cluster: &Cluster,
        (namespace, derived): (&str, &str),
        ranges: &BTreeMap<String, String>,
        zone: &str,
    ) -> Result<Self> {
        let all: Api<EndpointSlice> = Api::namespaced(cluster.client(), namespace);
        let of_service = format!("{}={derived}", labels::SERVICE_NAME);
        let slices = all.list(&ListParams::default().labels(&of_service)).await?.items;
        Ok(Self { slices, ranges: ranges.clone(), zone: zone.to_owned() })
    }

    /// Endpoints in use of each cluster, as kube-proxy chooses: those that are ready and name the zone; without such all that are
    /// ready; without such those that serve while they terminate.
    pub(super) fn in_use(&self) -> BTreeMap<String, usize> {
        let ready: Vec<_> = self.endpoints().filter(|(_, one)| is_ready(one)).collect();
        let all_named = ready.iter().all(|(_, one)| !zones(one).is_empty());
        let near = ready.iter().filter(|(_, one)| zones(one).contains(self.zone.as_str()));
        let near: Vec<_> = near.copied().collect();
        let used = if all_named && !near.is_empty() {
            near
        } else if ready.is_empty() {
            self.endpoints().filter(|(_, one)| is_last_resort(one)).collect()
        } else {
            ready
        };
        let mut counts = BTreeMap::new();
        let addresses: BTreeSet<_> =
            used.iter().filter_map(|(_, one)| one.addresses.first()).collect();
        for address in addresses {
            *counts.entry(self.cluster_of(address)).or_default() += 1;
        }
        counts
    }

    /// Endpoints of a cluster that are ready here.
    pub(super) fn ready(&self, cluster: &str) -> usize {
        let own = self.endpoints().filter(|(_, one)| self.is_of(one, cluster));
        own.filter(|(_, one)| is_ready(one)).count()
    }

    /// Endpoints of a cluster, in whatever state.
    pub(super) fn all(&self, cluster: &str) -> usize {
        self.endpoints().filter(|(_, one)| self.is_of(one, cluster)).count()
    }

    /// First addresses of the endpoints of a cluster that are in use.
    pub(super) fn chosen(&self, cluster: &str) -> Vec<String> {
        let own = self.endpoints().filter(|(_, one)| self.is_of(one, cluster) && is_ready(one));
        own.filter_map(|(_, one)| one.addresses.first().cloned()).collect()
    }

    /// What has made the slices that have endpoints of a cluster.
    pub(super) fn managers_of(&self, cluster: &str) -> BTreeSet<String> {
        let own = self.endpoints().filter(|(_, one)| self.is_of(one, cluster));
        own.filter_map(|(slice, _)| manager(slice)).collect()
    }

    /// What has made the slices, those without endpoints as well.
    pub(super) fn managers(&self) -> BTreeSet<String> {
        self.slices.iter().filter_map(manager).collect()
    }

    /// Versions of the slices of all clusters but one.
    pub(super) fn versions_but(&self, cluster: &str) -> BTreeMap<String, String> {
        let others = self.slices.iter().filter(|slice| {
            slice.endpoints.iter().all(|endpoint| !self.is_of(endpoint, cluster))
                && !slice.endpoints.is_empty()
        });
        let versions = others.filter_map(|slice| {
            Some((slice.metadata.name.clone()?, slice.metadata.resource_version.clone()?))
        });
        versions.collect()
    }

    /// Whether all ready endpoints of a cluster name a zone.
    pub(super) fn names(&self, cluster: &str, zone: &str) -> bool {
        let mut own = self.endpoints().filter(|(_, one)| self.is_of(one, cluster) && is_ready(one));
        own.all(|(_, one)| zones(one).contains(zone))
    }

    /// Whether an endpoint names a zone.
    pub(super) fn names_zones(&self) -> bool {
        self.endpoints().any(|(_, one)| !zones(one).is_empty())
    }

    fn endpoints(&self) -> impl Iterator<Item = (&EndpointSlice, &Endpoint)> {
        let of_ipv4 = self.slices.iter().filter(|slice| slice.address_type == "IPv4");
        of_ipv4.flat_map(|slice| slice.endpoints.iter().map(move |endpoint| (slice, endpoint)))
    }

    fn is_of(&self, endpoint: &Endpoint, cluster: &str) -> bool {
        endpoint.addresses.first().is_some_and(|address| self.cluster_of(address) == cluster)
    }

    fn cluster_of(&self, address: &str) -> String {
        let mut ranges = self.ranges.iter();
        let found = ranges.find(|(_, range)| address.starts_with(range.as_str()));
        found.map(|(cluster, _)| cluster.clone()).unwrap_or_default()
    }
}

fn manager(slice: &EndpointSlice) -> Option<String> {
    slice.metadata.labels.as_ref()?.get(labels::MANAGED_BY).cloned()
}

fn is_ready(endpoint: &Endpoint) -> bool {
    endpoint.conditions.as_ref().and_then(|conditions| conditions.ready).unwrap_or(true)
}

fn is_last_resort(endpoint: &Endpoint) -> bool {
    endpoint.conditions.as_ref().is_some_and(|conditions| {
        conditions.serving == Some(true) && conditions.terminating == Some(true)
    })
}

fn zones(endpoint: &Endpoint) -> BTreeSet<&str> {
    let hints = endpoint.hints.iter().flat_map(|hints| hints.for_zones.iter().flatten());
    hints.map(|zone| zone.name.as_str()).collect()
}

/// `10.200.0.` of `10.200.0.0/24`.
pub(super) fn prefix(range: &str) -> Result<String> {
    let (address, _) = range.split_once('/').context("a range of Pods")?;
    Ok(address.strip_suffix('0').context("a range of Pods ends with 0")?.to_owned())
}
