//! Endpoints of this cluster itself: they are those that its slices have now, whatever the hub has of them.
//!
//! That they are part of the import, under which names and with which ports, is the hub's word: each copy that it has distributed of a
//! slice of this cluster is imported as that of any other. So own endpoints follow while the hub is away, and a Go agent that takes over
//! finds the slices that it knows.

use std::borrow::Cow;
use std::collections::HashSet;

use fleet_accumulator::Object;
use fleet_api::{Endpoint, ExportedSliceSpec, limits};
use fleet_model::endpoints::printed;
use fleet_model::objects::{EndpointSlice, EndpointSliceImport, SliceIndex};
use fleet_model::ports;

use super::state::ServiceState;
use crate::executing::Executing;
use crate::slicing;

/// Endpoints that are ready, and those that terminate.
type Endpoints = (Vec<Endpoint>, Vec<Endpoint>);

/// The content of the copies that stay, with own endpoints as they are now.
pub(super) fn contents<'a>(
    state: &ServiceState<'_>,
    executing: &Executing<'_>,
    staying: &[&'a Object<EndpointSliceImport>],
) -> Vec<Content<'a>> {
    let own = Own::of(state, executing, staying);
    let mut contents: Vec<_> = staying.iter().map(|copy| own.content(copy)).collect();
    own.add_new(&mut contents);
    contents
}

/// What a copy leads to.
pub(super) struct Content<'a> {
    pub(super) spec: Cow<'a, ExportedSliceSpec>,
    /// Whether that is what the exporter's slice has in the generation of the copy.
    pub(super) is_as_copied: bool,
}

/// The slices of the exported Service of this cluster, and the copies that the hub has of them.
struct Own<'a> {
    cluster: &'a str,
    slices: Vec<&'a Object<EndpointSlice>>,
    /// Uids of the slices of which there are copies.
    known: HashSet<&'a str>,
    executing: &'a Executing<'a>,
}

impl<'a> Own<'a> {
    fn of(
        state: &'a ServiceState<'_>,
        executing: &'a Executing<'_>,
        staying: &[&'a Object<EndpointSliceImport>],
    ) -> Self {
        let (settings, snapshot) = (state.settings, state.snapshot);
        let cluster = state.identity.cluster.as_str();
        // Those of Pods on a secondary network are exported as another controller here makes them.
        let on_network = slicing::is_on_network(settings, snapshot.services.get(state.service));
        let of_own: Vec<_> = staying.iter().filter(|copy| copy.origin() == cluster).collect();
        // Until the slice of a copy is here, the one that has its endpoints meanwhile keeps them.
        let here = of_own.iter().filter(|copy| {
            snapshot.endpoint_slices.get(&state.in_system(&copy.name.name)).is_some()
        });
        let known: HashSet<_> =
            here.map(|copy| copy.spec.endpoint_slice_reference.uid.as_str()).collect();
        let backs = SliceIndex::Backs(state.service.clone());
        let slices = snapshot.endpoint_slices.by(&backs);
        let slices = slices.filter(|it| slicing::is_exportable(settings, it, on_network));
        let slices = if of_own.is_empty() { Vec::new() } else { slices.collect() };
        Self { cluster, slices, known, executing }
    }

    fn content<'b>(&self, copy: &'b Object<EndpointSliceImport>) -> Content<'b> {
        let reference = &copy.spec.endpoint_slice_reference;
        let copied = || Content { spec: Cow::Borrowed(&copy.spec), is_as_copied: true };
        if copy.origin() != self.cluster {
            return copied();
        }
        let slice = self.slices.iter().find(|slice| slice.uid.is(&reference.uid));
        // The watch of own slices lags behind what this cluster has exported already.
        if slice.is_some_and(|slice| slice.meta.generation < reference.generation) {
            return copied();
        }
        let (endpoints, draining_endpoints) =
            slice.map(|slice| self.offered(slice)).unwrap_or_default();
        let spec = ExportedSliceSpec { endpoints, draining_endpoints, ..(*copy.spec).clone() };
        let is_as_copied = slice.is_some_and(|slice| slice.meta.generation == reference.generation);
        Content { spec: Cow::Owned(spec), is_as_copied }
    }

    /// Adds the endpoints of slices of which the hub has no copy yet to the first that takes them.
    fn add_new(&self, contents: &mut [Content<'_>]) {
        let is_new =
            |slice: &&&Object<EndpointSlice>| !self.known.iter().any(|uid| slice.uid.is(uid));
        for slice in self.slices.iter().filter(is_new) {
            let takes = |content: &&mut Content<'_>| {
                let spec = &content.spec;
                self.known.contains(&*spec.endpoint_slice_reference.uid)
                    && spec.endpoint_slice_reference.cluster_id == self.cluster
                    && spec.address_type == slice.address_type
                    && ports::same_in_slices(&spec.ports, &slice.ports)
            };
            if let Some(content) = contents.iter_mut().find(takes) {
                content.is_as_copied = false;
                add(content.spec.to_mut(), self.offered(slice));
            }
        }
    }

    /// What a slice offers to other clusters, and to this one.
    fn offered(&self, slice: &EndpointSlice) -> Endpoints {
        let (mut ready, mut draining) = (slice.ready.to_vec(), slice.draining.to_vec());
        self.executing.name(slice, ready.iter_mut().chain(&mut draining));
        (printed(ready, &slice.address_type), printed(draining, &slice.address_type))
    }
}

/// Adds endpoints, no more than a slice can have.
fn add(content: &mut ExportedSliceSpec, (ready, draining): Endpoints) {
    let most = limits::slice::ENDPOINTS.accepted;
    for endpoint in ready {
        if content.endpoints.len() < most && !content.endpoints.contains(&endpoint) {
            content.endpoints.push(endpoint);
        }
    }
    let left = most.saturating_sub(content.endpoints.len());
    for endpoint in draining {
        if content.draining_endpoints.len() < left
            && !content.draining_endpoints.contains(&endpoint)
        {
            content.draining_endpoints.push(endpoint);
        }
    }
}
