//! What the slices of a cluster come to: everything that consumers see, and nothing that the packing may choose.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use fleet_testbed::cluster::Cluster;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};

use crate::change::NAMESPACE;

const SERVICE: &str = "kubernetes.io/service-name";
const TOPOLOGY: &str = "service.kubernetes.io/topology-mode";

/// Differences of a kind that are shown.
const SHOWN: usize = 12;

/// Endpoints by what they belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outlook {
    /// Service, address type, and ports as JSON; the endpoints as JSON, sorted.
    groups: BTreeMap<(String, String, String), Vec<String>>,
    /// Service and address type, with the labels of their slices.
    labels: BTreeSet<(String, String, String)>,
    /// Versions of all slices: equal if nothing was written in between.
    versions: BTreeSet<String>,
}

/// The slices of a cluster.
pub(crate) async fn slices(cluster: &Cluster) -> Result<Vec<EndpointSlice>> {
    let api: Api<EndpointSlice> = Api::namespaced(cluster.client(), NAMESPACE);
    Ok(api.list(&ListParams::default()).await?.items)
}

impl Outlook {
    /// Content of these slices. `balanced` are Services whose hints depend on who was packed where: only whether there are
    /// any is compared.
    pub(crate) fn of(slices: &[EndpointSlice], balanced: &BTreeSet<String>) -> Result<Self> {
        let mut outlook = Self::default();
        for slice in slices {
            let labels = slice.metadata.labels.clone().unwrap_or_default();
            let service = labels.get(SERVICE).context("a slice of no Service")?.clone();
            let version = slice.metadata.resource_version.clone().unwrap_or_default();
            outlook.versions.insert(version);
            let of = (service.clone(), slice.address_type.clone());
            outlook.labels.insert((of.0.clone(), of.1.clone(), json!(labels).to_string()));
            let mut ports: Vec<_> =
                slice.ports.iter().flatten().map(|port| json!(port).to_string()).collect();
            ports.sort_unstable();
            let endpoints = slice.endpoints.iter();
            let mut endpoints = endpoints
                .map(|endpoint| read(endpoint, balanced.contains(&service)).to_string())
                .peekable();
            if endpoints.peek().is_some() {
                outlook.groups.entry((of.0, of.1, ports.join(","))).or_default().extend(endpoints);
            }
        }
        outlook.groups.values_mut().for_each(|endpoints| endpoints.sort_unstable());
        Ok(outlook)
    }

    /// Whether every one of these Services has slices, and no other.
    pub(crate) fn covers(&self, services: &BTreeSet<String>) -> bool {
        let shown: BTreeSet<_> =
            self.labels.iter().map(|(service, _, _)| service.clone()).collect();
        shown == *services
    }

    /// Whether two clusters show the same.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        self.groups == other.groups && self.labels == other.labels
    }

    /// What only one of two clusters shows, one line each.
    pub(crate) fn differences(&self, other: &Self) -> String {
        let lines = |outlook: &Self| -> BTreeSet<String> {
            let endpoints = outlook.groups.iter().flat_map(|(group, endpoints)| {
                endpoints.iter().map(move |endpoint| format!("{group:?} {endpoint}"))
            });
            endpoints.chain(outlook.labels.iter().map(|labels| format!("{labels:?}"))).collect()
        };
        let (ours, theirs) = (lines(self), lines(other));
        let first = ours.difference(&theirs).map(|line| format!("\n  only the first: {line}"));
        let second = theirs.difference(&ours).map(|line| format!("\n  only the second: {line}"));
        first.take(SHOWN).chain(second.take(SHOWN)).collect()
    }
}

/// An endpoint without what differs between clusters: uids.
fn read(endpoint: &Endpoint, balanced: bool) -> Value {
    let hints = match &endpoint.hints {
        Some(hints) if balanced => {
            json!(hints.for_zones.as_ref().is_some_and(|zones| !zones.is_empty()))
        }
        hints => json!(hints),
    };
    let target = endpoint.target_ref.as_ref();
    json!({
        "addresses": endpoint.addresses, "conditions": endpoint.conditions, "hints": hints,
        "hostname": endpoint.hostname, "node": endpoint.node_name, "zone": endpoint.zone,
        "target": target.map(|target| json!([target.kind, target.name])),
    })
}

/// Sizes that follow from the packing rules however endpoints came and went: no slice beyond the limit, and no endpoint
/// twice in a group.
pub(crate) fn ensure_packed(cluster: &str, slices: &[EndpointSlice], limit: usize) -> Result<()> {
    let mut seen = BTreeSet::new();
    for slice in slices {
        let name = slice.metadata.name.as_deref().unwrap_or_default();
        let size = slice.endpoints.len();
        ensure!(size <= limit, "{cluster}: {name} has {size} endpoints");
        let service = slice.metadata.labels.as_ref().and_then(|labels| labels.get(SERVICE));
        let ports: BTreeSet<_> =
            slice.ports.iter().flatten().map(|port| json!(port).to_string()).collect();
        for endpoint in &slice.endpoints {
            let target = endpoint.target_ref.as_ref().and_then(|target| target.name.clone());
            let identity = (service.cloned(), slice.address_type.clone(), ports.clone(), target);
            ensure!(seen.insert(identity.clone()), "{cluster}: {identity:?} is there twice");
        }
    }
    Ok(())
}

/// Services that spread hints over zones by capacity.
pub(crate) async fn balanced(cluster: &Cluster) -> Result<BTreeSet<String>> {
    let api: Api<k8s_openapi::api::core::v1::Service> =
        Api::namespaced(cluster.client(), NAMESPACE);
    let services = api.list(&ListParams::default()).await?.items.into_iter();
    let auto = services.filter(|service| {
        let annotations = service.metadata.annotations.as_ref();
        annotations.and_then(|all| all.get(TOPOLOGY)).is_some_and(|mode| mode == "Auto")
    });
    Ok(auto.filter_map(|service| service.metadata.name).collect())
}
