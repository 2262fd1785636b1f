//! The zones of a cluster, and the Services whose hints depend on them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Node;

use crate::AddressType;

use super::allocation::least;
use super::zones::{Counts, Zones};

/// Number of endpoints of a Service hinted to each zone, per address type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceHints(BTreeMap<AddressType, Counts>);

impl ServiceHints {
    /// Stores the counts of an address type.
    pub fn set(&mut self, address_type: AddressType, counts: Counts) {
        self.0.insert(address_type, counts);
    }

    pub(crate) fn has(&self, address_type: AddressType) -> bool {
        self.0.contains_key(&address_type)
    }

    pub(crate) fn forget(&mut self, address_type: AddressType) -> bool {
        self.0.remove(&address_type).is_some()
    }

    fn is_overloaded(&self, zones: &Zones) -> bool {
        let mut counted = self.0.values().filter(|counts| !counts.is_empty());
        match zones {
            Zones::Unknown => counted.next().is_some(),
            Zones::Shares(shares) => counted.any(|counts| {
                let total = counts.values().sum();
                let short = |(zone, share): (&String, &f64)| {
                    counts.get(zone).is_none_or(|count| *count < least(*share, total))
                };
                shares.iter().any(short)
            }),
        }
    }
}

impl Extend<(AddressType, Counts)> for ServiceHints {
    fn extend<I: IntoIterator<Item = (AddressType, Counts)>>(&mut self, counts: I) {
        self.0.extend(counts);
    }
}

/// The part of a [`TopologyCache`] that one reconcile reads.
#[derive(Clone, Copy, Debug)]
pub struct Overview<'a> {
    /// Capacity of the zones.
    pub zones: &'a Zones,
    /// Hints of the Service.
    pub service: &'a ServiceHints,
}

/// The zones of a cluster and the hints of its Services. Keys are `namespace/name`.
#[derive(Clone, Debug, Default)]
pub struct TopologyCache {
    zones: Zones,
    services: BTreeMap<String, ServiceHints>,
}

impl TopologyCache {
    /// Computes the capacity of the zones from all nodes.
    pub fn set_nodes<'a>(&mut self, nodes: impl IntoIterator<Item = &'a Node>) {
        self.zones = Zones::of(nodes);
    }

    /// Returns the part that a reconcile of one Service reads.
    pub fn overview<'a>(&'a self, service: &str) -> Overview<'a> {
        static NOTHING: ServiceHints = ServiceHints(BTreeMap::new());
        Overview { zones: &self.zones, service: self.services.get(service).unwrap_or(&NOTHING) }
    }

    /// Stores the hints that a reconcile returned.
    pub fn set_hints(&mut self, service: &str, hints: ServiceHints) {
        if hints.0.is_empty() {
            self.services.remove(service);
        } else {
            self.services.insert(service.to_owned(), hints);
        }
    }

    /// Removes a Service.
    pub fn remove(&mut self, service: &str) {
        self.services.remove(service);
    }

    /// The Services whose hints would overload a zone with its current capacity.
    pub fn overloaded(&self) -> impl Iterator<Item = &str> {
        let overloaded = self.services.iter().filter(|(_, hints)| hints.is_overloaded(&self.zones));
        overloaded.map(|(service, _)| service.as_str())
    }
}
