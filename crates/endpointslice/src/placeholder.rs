//! The placeholder: the empty slice of a Service without endpoints.

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::changes::Packed;
use crate::ownership;
use crate::ports::PortKey;
use crate::slice::Template;

/// Makes sure that an address type has at least one slice.
pub(crate) fn ensure(template: &Template<'_>, existing: usize, packed: &mut Packed<'_>) {
    if packed.deletes.len() < existing || !packed.creates.is_empty() {
        return;
    }
    let placeholder = template.empty(Vec::new());
    if let [only] = packed.deletes[..]
        && is_placeholder(template.service, only, &placeholder)
    {
        packed.deletes.clear();
        packed.unchanged.push(only);
    } else {
        packed.creates.push(placeholder);
    }
}

/// Whether a slice is the placeholder of this Service. Kubernetes' controller also keeps the placeholder of an earlier
/// Service of the same name; the garbage collector then deletes it without a replacement.
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
