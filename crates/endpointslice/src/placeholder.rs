//! The empty slice that says that a Service has no endpoints.

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::changes::Packed;
use crate::ownership;
use crate::ports::PortKey;
use crate::slice::Mould;

/// Keeps an address type from ending without any slice.
pub(crate) fn ensure(mould: &Mould<'_>, existing: usize, packed: &mut Packed<'_>) {
    if packed.deletes.len() < existing || !packed.creates.is_empty() {
        return;
    }
    let placeholder = mould.empty(Vec::new());
    if let [only] = packed.deletes[..]
        && is_placeholder(mould.service, only, &placeholder)
    {
        packed.deletes.clear();
        packed.unchanged.push(only);
    } else {
        packed.creates.push(placeholder);
    }
}

/// The original also keeps the placeholder of an earlier Service of the name; garbage collection then removes it, and
/// nothing replaces it.
fn is_placeholder(service: &Service, slice: &EndpointSlice, placeholder: &EndpointSlice) -> bool {
    ownership::owns(service, slice) && equals(slice, placeholder)
}

/// Whether two slices have the same namespace, labels, address type, ports and endpoints.
fn equals(a: &EndpointSlice, b: &EndpointSlice) -> bool {
    a.metadata.namespace == b.metadata.namespace
        && same_labels(a, b)
        && a.address_type == b.address_type
        && PortKey::of(a.ports.as_deref()) == PortKey::of(b.ports.as_deref())
        && a.endpoints == b.endpoints
}

/// A missing label equals an empty one.
fn same_labels(a: &EndpointSlice, b: &EndpointSlice) -> bool {
    fn meaningful(slice: &EndpointSlice) -> impl Iterator<Item = (&String, &String)> {
        slice.metadata.labels.iter().flatten().filter(|(_, value)| !value.is_empty())
    }
    meaningful(a).eq(meaningful(b))
}

#[cfg(test)]
mod tests;
