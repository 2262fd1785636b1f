//! Which addresses a member agent does not import. No object shows its flags, but what it has skipped does.

use std::collections::HashSet;
use std::net::IpAddr;

use fleet_api::{Endpoint, ObjectName, annotations};
use fleet_model::cidr::{Cidr, Cidrs};
use fleet_model::objects::{EndpointSlice, EndpointSliceImport};
use member_agent::Identity;
use member_agent::snapshot::MemberSnapshot;

/// Addresses that imported slices lack although they were imported from the newest generation. Where the agent `directs` traffic, a
/// slice without any endpoint shows nothing: a weight, a drain, a verdict or a preference can have put its exporter out of use.
pub(crate) fn by_member(identity: &Identity, directs: bool, snapshot: &MemberSnapshot) -> Cidrs {
    let shows = |slice: &EndpointSlice| !directs || has_endpoints(slice);
    let copies = snapshot.slice_imports.iter().filter(|copy| !copy.meta.is_terminating());
    let skipped = copies.flat_map(|copy| {
        let name = ObjectName::new(identity.system_namespace.as_str(), copy.name.name.clone());
        let slice = snapshot.endpoint_slices.get(&name);
        let slice = slice.filter(|slice| is_of(copy, slice) && shows(slice));
        slice.into_iter().flat_map(|slice| lacking(directs, copy, slice))
    });
    skipped.chain(by_standard(directs, snapshot, shows)).collect()
}

/// The same of what was imported by the API of multicluster.x-k8s.io.
fn by_standard(
    directs: bool,
    snapshot: &MemberSnapshot,
    shows: impl Fn(&EndpointSlice) -> bool,
) -> impl Iterator<Item = Cidr> {
    let imported = snapshot.managed_slices.iter().filter_map(move |imported| {
        let slice = snapshot.endpoint_slices.get(&imported.name).filter(|slice| shows(slice))?;
        let (own, on_hub) = (annotations::SLICE_UID, annotations::SLICE_EXPORT_UID);
        let [own, on_hub] = [own, on_hub].map(|key| slice.meta.annotation(key));
        let exported = snapshot.fleet_slices.by(&slice.imported_for()?);
        let mut exported = exported.filter(|exported| match own {
            Some(uid) => exported.slice_uid.is(uid),
            None => on_hub.is_some_and(|uid| exported.uid.is(uid)),
        });
        let exported =
            exported.find(|exported| generation(slice) == Some(exported.slice_generation))?;
        let (ready, draining) = exported.endpoints();
        Some(missing(directs, [&ready, &draining], slice))
    });
    imported.flatten()
}

fn has_endpoints(slice: &EndpointSlice) -> bool {
    !slice.ready.is_empty() || !slice.draining.is_empty()
}

/// Whether a slice was imported from the generation that the hub has.
fn is_of(copy: &EndpointSliceImport, slice: &EndpointSlice) -> bool {
    generation(slice) == Some(copy.spec.endpoint_slice_reference.generation)
}

/// The generation of the exporter's slice that a slice was imported from.
fn generation(slice: &EndpointSlice) -> Option<i64> {
    slice.meta.annotation(annotations::LAST_OBSERVED_GENERATION)?.parse().ok()
}

fn lacking(directs: bool, copy: &EndpointSliceImport, slice: &EndpointSlice) -> Vec<Cidr> {
    if slice.ready == *copy.spec.endpoints && slice.draining == *copy.spec.draining_endpoints {
        return Vec::new();
    }
    missing(directs, [&copy.spec.endpoints, &copy.spec.draining_endpoints], slice)
}

/// The addresses of these endpoints that a slice lacks. Where traffic is directed, the member that runs one can be out of use.
fn missing(directs: bool, exported: [&[Endpoint]; 2], slice: &EndpointSlice) -> Vec<Cidr> {
    let has: HashSet<_> = slice.ready.addresses().chain(slice.draining.addresses()).collect();
    let endpoints = exported.into_iter().flatten();
    let endpoints = endpoints.filter(|endpoint| !directs || endpoint.executor.is_none());
    let all = endpoints.flat_map(|endpoint| &endpoint.addresses).map(String::as_str);
    let lacks = all.filter(|text| !has.contains(text)).filter_map(|text| text.parse().ok());
    lacks.map(|address: IpAddr| Cidr::from(address)).collect()
}
