//! Groups of slices and endpoints with equal ports.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::{EndpointPort, EndpointSlice};

use crate::desired::DesiredSet;
use crate::ports::{self, Alike, PortKey, Resolved};
use crate::source::{Numbers, Problem, Source};
use crate::{AddressType, Config};

/// A set of ports, and the endpoints that serve on them.
#[derive(Debug)]
pub(crate) struct DesiredGroup<'a> {
    pub(crate) ports: Vec<EndpointPort>,
    pub(crate) endpoints: DesiredSet<'a>,
}

/// Returns the desired groups in order of appearance, and adds endpoints that were left out to `problems`. Most Services
/// have one group, so the first one gets capacity for the `expected` number of endpoints.
pub(crate) fn desired<'a>(
    service: &'a Service,
    source: &'a impl Source,
    address_type: AddressType,
    config: &Config,
    expected: usize,
    problems: &mut Vec<Problem>,
) -> Vec<DesiredGroup<'a>> {
    let mut groups: Vec<DesiredGroup<'a>> = Vec::new();
    let mut known: BTreeMap<Numbers, usize> = BTreeMap::new();
    // Different numbers can lead to the same ports. Anybody who owns machines can have thousands of combinations: each is looked up.
    let alike = Alike::of(service, config);
    let mut by_ports: BTreeMap<Resolved, usize> = BTreeMap::new();
    for candidate in source.candidates(service, address_type) {
        let at = if let Some(&at) = known.get(&candidate.ports) {
            at
        } else {
            let at = *by_ports.entry(alike.resolved(&candidate.ports)).or_insert_with(|| {
                let ports = ports::resolved(service, &candidate.ports, config);
                let capacity = if groups.is_empty() { expected } else { 0 };
                let endpoints = DesiredSet::with_capacity(capacity);
                groups.push(DesiredGroup { ports, endpoints });
                groups.len() - 1
            });
            known.insert(candidate.ports, at);
            at
        };
        match candidate.endpoint {
            Ok(Some(endpoint)) => groups[at].endpoints.insert(endpoint),
            Ok(None) => {}
            Err(problem) => problems.push(problem),
        }
    }
    groups
}

/// Groups existing slices by their ports.
pub(crate) fn existing<'a>(
    slices: impl Iterator<Item = &'a EndpointSlice>,
) -> BTreeMap<PortKey<'a>, Vec<&'a EndpointSlice>> {
    let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for slice in slices {
        groups.entry(PortKey::of(slice.ports.as_deref())).or_default().push(slice);
    }
    groups
}
