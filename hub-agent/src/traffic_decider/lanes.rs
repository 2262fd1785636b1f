//! What clients of a Service use at the endpoints of an exporter.

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use fleet_accumulator::Object;
use fleet_api::multicluster::IpFamily;
use fleet_api::{ExportedSliceSpec, ObjectName, labels};
use fleet_model::objects::EndpointSliceExport;
use fleet_model::objects::multicluster::ResolvedService;

use crate::snapshot::HubSnapshot;

/// What clients use at an endpoint. They import by one of two APIs, and kube-proxy chooses for each port and address family by itself:
/// each of these needs an endpoint of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lane<'a> {
    /// Whether it is imported by the standard API, or by that of the fleet.
    standard: bool,
    family: &'a str,
    /// Name of the port; empty for one without.
    port: &'a str,
}

impl fmt::Display for Lane<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.port.is_empty() {
            write!(f, "port {:?} over ", self.port)?;
        }
        let api = if self.standard { "the standard API" } else { "the API of the fleet" };
        write!(f, "{} by {api}", self.family)
    }
}

/// The members whose endpoints are part of a Service, by either API.
pub(super) struct Accepted<'a> {
    by_fleet: HashSet<&'a str>,
    /// `None` where `ResolvedService`s were never listed, or cannot be had any more.
    standard: Option<Vec<Standard<'a>>>,
}

/// What is in force by the standard API.
struct Standard<'a> {
    resolved: &'a ResolvedService,
    /// Exporters, each with the name of a port that is withheld: one can have as many as the Service.
    withheld: HashSet<(&'a str, &'a str)>,
}

impl<'a> Standard<'a> {
    fn of(resolved: &'a ResolvedService) -> Self {
        let withheld = resolved.exporters.iter().flat_map(|exporter| {
            exporter.withheld.iter().map(|port| (exporter.cluster.as_str(), port.as_str()))
        });
        Self { resolved, withheld: withheld.collect() }
    }

    fn has(&self, exporter: &str, family: IpFamily, port: &str) -> bool {
        self.resolved.properties.ip_families.contains(&family)
            && self.resolved.exporter(exporter).is_some()
            && !self.withheld.contains(&(exporter, port))
    }
}

impl<'a> Accepted<'a> {
    pub(super) fn of(service: &ObjectName, snapshot: &'a HubSnapshot) -> Self {
        let import = snapshot.service_imports.get(service);
        let by_fleet = import.into_iter().flat_map(|import| &import.status.clusters);
        let resolved = &snapshot.resolved_services;
        let is_known = resolved.bootstrapped() && !resolved.state().cannot_be_had();
        let standard = || resolved.by(service).map(|resolved| Standard::of(resolved)).collect();
        Self {
            by_fleet: by_fleet.map(|exporter| exporter.cluster.as_str()).collect(),
            standard: is_known.then(standard),
        }
    }

    /// What clients use at the endpoints of a slice, if they use them at all.
    pub(super) fn lanes(
        &self,
        exporter: &str,
        slice: &'a Object<EndpointSliceExport>,
    ) -> BTreeSet<Lane<'a>> {
        let family = slice.spec.address_type.as_str();
        let by_fleet = self.by_fleet.contains(exporter);
        let lane = |standard: bool, port: &'a str| Lane { standard, family, port };
        let of_fleet = ports(&slice.spec).filter(|_| by_fleet).map(|port| lane(false, port));
        let of_standard =
            ports(&slice.spec).filter(|port| self.has_standard(exporter, slice, port));
        of_fleet.chain(of_standard.map(|port| lane(true, port))).collect()
    }

    /// Whether clients use a port of a slice by the standard API. Members import by it also where the hub agent does not watch what is
    /// in force: then slices show who counts, by the label that exporters give them once they do.
    fn has_standard(
        &self,
        exporter: &str,
        slice: &Object<EndpointSliceExport>,
        port: &str,
    ) -> bool {
        let Some(standard) = &self.standard else {
            return slice.meta.label(labels::MULTICLUSTER_NAMESPACE).is_some();
        };
        let family = IpFamily::parse(slice.spec.address_type.as_str());
        family.is_some_and(|family| standard.iter().any(|one| one.has(exporter, family, port)))
    }
}

/// Names of the ports of a slice. One without ports, as headless Services can have it, counts as one port without a name.
fn ports(spec: &ExportedSliceSpec) -> impl Iterator<Item = &str> {
    let names = spec.ports.iter().map(|port| port.name.as_deref().unwrap_or_default());
    names.chain(spec.ports.is_empty().then_some(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_named_for_people() {
        let lane = Lane { standard: true, family: "IPv6", port: "http" };
        assert_eq!(lane.to_string(), "port \"http\" over IPv6 by the standard API");
        let lane = Lane { standard: false, family: "IPv4", port: "" };
        assert_eq!(lane.to_string(), "IPv4 by the API of the fleet");
    }
}
