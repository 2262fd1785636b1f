//! Services that cross by either API.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Result;
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{kinds, labels};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::exchange;
use fleet_testbed::multicluster::{self, MODE, SETTLE};
use fleet_testbed::objects::api;
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address};
use kube::ResourceExt;
use kube::api::{DynamicObject, ListParams};

use crate::SHOP;

const DEADLINE: Duration = Duration::from_mins(4);
/// One Service for each API.
pub(crate) const FLEET: &str = "by-the-fleet";
pub(crate) const STANDARD: &str = "by-the-standard";

/// What one member exports.
pub(crate) struct Exported {
    pub(crate) services: [ManualService; 2],
    /// Their endpoints.
    pub(crate) addresses: [String; 2],
}

impl Exported {
    /// Exports a Service by each API, with an endpoint each.
    pub(crate) async fn by(member: &Cluster) -> Result<Self> {
        let addresses = [next_address(), next_address()];
        let deploy = async |name: &str, address: &String| {
            let spec = ServiceSpec::http(SHOP, name);
            ManualService::deploy(member, &spec, std::slice::from_ref(address)).await
        };
        let services =
            [deploy(FLEET, &addresses[0]).await?, deploy(STANDARD, &addresses[1]).await?];
        exchange::export(member, SHOP, FLEET).await?;
        multicluster::export(member, SHOP, STANDARD).await?;
        Ok(Self { services, addresses })
    }

    /// Other endpoints take the place of those there are.
    pub(crate) async fn change(&mut self) -> Result<()> {
        self.addresses = [next_address(), next_address()];
        for (service, address) in self.services.iter().zip(&self.addresses) {
            service.set_addresses(std::slice::from_ref(address)).await?;
        }
        Ok(())
    }
}

/// What agents need for both APIs, and for traffic.
pub(crate) fn environment() -> Vec<(String, String)> {
    let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let on = ["TRAFFIC", "MEMBER_LEASE"].map(|name| set(name, "true"));
    on.into_iter().chain([set(MODE, "on"), set(SETTLE, "1s")]).collect()
}

/// Waits until a member has exactly the endpoints of these exporters, of each Service.
pub(crate) async fn wait_imported(member: &Cluster, exporters: &[&Exported]) -> Result<()> {
    for (at, name) in [FLEET, STANDARD].into_iter().enumerate() {
        let wanted: BTreeSet<_> = exporters.iter().map(|it| it.addresses[at].clone()).collect();
        wait_until(&format!("{} has {wanted:?} of {name}", member.name()), DEADLINE, async || {
            let slices = imported(member).await?;
            let of_service = slices.iter().filter(|slice| is_of(slice, name));
            Ok(of_service.flat_map(addresses).collect::<BTreeSet<_>>() == wanted)
        })
        .await?;
    }
    Ok(())
}

/// All imported slices of a member.
pub(crate) async fn imported(member: &Cluster) -> Result<Vec<DynamicObject>> {
    let mut slices = Vec::new();
    for namespace in [SYSTEM_NAMESPACE, SHOP] {
        let all = api(member.client(), kinds::ENDPOINT_SLICE, Some(namespace));
        slices.extend(all.list(&ListParams::default()).await?.items);
    }
    slices.retain(is_imported);
    Ok(slices)
}

/// Who leads the agents of a member, and what is noted there for the next leader in an annotation of the Lease by which they elect it.
pub(crate) async fn noted(member: &Cluster, annotation: &str) -> Result<Option<(String, String)>> {
    let leases = api(member.client(), kinds::LEASE, Some(SYSTEM_NAMESPACE));
    let leases = leases.list(&ListParams::default()).await?.items;
    Ok(leases.iter().find_map(|lease| {
        let holder = lease.data["spec"]["holderIdentity"].as_str().unwrap_or_default();
        Some((holder.to_owned(), lease.annotations().get(annotation)?.clone()))
    }))
}

/// Whether an agent has imported a slice.
pub(crate) fn is_imported(slice: &DynamicObject) -> bool {
    let by = slice.metadata.labels.as_ref().and_then(|labels| labels.get(labels::MANAGED_BY));
    by.is_some_and(|by| {
        [labels::MANAGED_BY_IMPORT, labels::MANAGED_BY_MULTICLUSTER].contains(&by.as_str())
    })
}

/// Whether a slice is imported for a Service.
pub(crate) fn is_of(slice: &DynamicObject, service: &str) -> bool {
    let noted = slice.metadata.annotations.as_ref();
    let noted = noted.and_then(|noted| noted.get(fleet_api::annotations::FLEET_SERVICE));
    noted.is_some_and(|noted| *noted == format!("{SHOP}/{service}"))
}

/// The addresses of a slice.
pub(crate) fn addresses(slice: &DynamicObject) -> Vec<String> {
    let endpoints = slice.data["endpoints"].as_array().into_iter().flatten();
    let addresses = endpoints.filter_map(|endpoint| endpoint["addresses"][0].as_str());
    addresses.map(str::to_owned).collect()
}
