//! Slices and endpoints with equal ports.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::{EndpointPort, EndpointSlice};

use crate::desired::DesiredSet;
use crate::ports::{self, PortKey};
use crate::source::{Numbers, Problem, Source};
use crate::{AddressType, Config};

/// A set of ports with the endpoints that serve it.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) ports: Vec<EndpointPort>,
    pub(crate) endpoints: DesiredSet<'a>,
}

/// The groups that should exist, in order of appearance, and what was left out. Most Services have one, with about as
/// many endpoints as are `expected`.
pub(crate) fn wanted<'a>(
    service: &'a Service,
    source: &'a impl Source,
    address_type: AddressType,
    config: &Config,
    expected: usize,
    problems: &mut Vec<Problem>,
) -> Vec<Wanted<'a>> {
    let mut groups: Vec<Wanted<'a>> = Vec::new();
    let mut known: BTreeMap<Numbers, usize> = BTreeMap::new();
    for candidate in source.candidates(service, address_type) {
        let at = if let Some(&at) = known.get(&candidate.ports) {
            at
        } else {
            let ports = ports::resolved(service, &candidate.ports, config);
            let at = position(&mut groups, ports, expected);
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

/// Different numbers can give one set: of two equal ports of the Service one may be unresolved, or both.
fn position(groups: &mut Vec<Wanted<'_>>, ports: Vec<EndpointPort>, expected: usize) -> usize {
    let key = PortKey::of(Some(&ports));
    let same = groups.iter().position(|group| PortKey::of(Some(&group.ports)) == key);
    same.unwrap_or_else(|| {
        let capacity = if groups.is_empty() { expected } else { 0 };
        groups.push(Wanted { ports, endpoints: DesiredSet::with_capacity(capacity) });
        groups.len() - 1
    })
}

/// Existing slices by their ports.
pub(crate) fn existing<'a>(
    slices: impl Iterator<Item = &'a EndpointSlice>,
) -> BTreeMap<PortKey<'a>, Vec<&'a EndpointSlice>> {
    let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for slice in slices {
        groups.entry(PortKey::of(slice.ports.as_deref())).or_default().push(slice);
    }
    groups
}
