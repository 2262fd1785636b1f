//! Which addresses a member agent does not import. No object shows its flags, but what it has skipped does.

use std::collections::HashSet;
use std::net::IpAddr;

use fleet_api::{ObjectName, annotations};
use fleet_model::cidr::{Cidr, Cidrs};
use fleet_model::objects::{EndpointSlice, EndpointSliceImport};
use member_agent::Identity;
use member_agent::snapshot::MemberSnapshot;

/// Addresses that imported slices lack although they were imported from the newest generation.
pub(crate) fn by_member(identity: &Identity, snapshot: &MemberSnapshot) -> Cidrs {
    let copies = snapshot.slice_imports.iter().filter(|copy| !copy.meta.is_terminating());
    let skipped = copies.flat_map(|copy| {
        let name = ObjectName::new(identity.system_namespace.as_str(), copy.name.name.clone());
        let slice = snapshot.endpoint_slices.get(&name).filter(|slice| is_of(copy, slice));
        slice.into_iter().flat_map(|slice| lacking(copy, slice))
    });
    skipped.collect()
}

/// Whether a slice was imported from the generation that the hub has.
fn is_of(copy: &EndpointSliceImport, slice: &EndpointSlice) -> bool {
    let seen = slice.meta.annotation(annotations::LAST_OBSERVED_GENERATION);
    let seen = seen.and_then(|text| text.parse::<i64>().ok());
    seen == Some(copy.spec.endpoint_slice_reference.generation)
}

fn lacking(copy: &EndpointSliceImport, slice: &EndpointSlice) -> Vec<Cidr> {
    if slice.ready == *copy.spec.endpoints && slice.draining == *copy.spec.draining_endpoints {
        return Vec::new();
    }
    let has: HashSet<_> = slice.ready.addresses().chain(slice.draining.addresses()).collect();
    let endpoints = copy.spec.endpoints.iter().chain(&copy.spec.draining_endpoints);
    let all = endpoints.flat_map(|endpoint| &endpoint.addresses).map(String::as_str);
    let lacks = all.filter(|text| !has.contains(text)).filter_map(|text| text.parse().ok());
    lacks.map(|address: IpAddr| Cidr::from(address)).collect()
}
