//! Which field of which kind has which bound.

use super::bound::Bound;
use super::table::{SERVICE_PORTS, port, reference, report, service, slice};

const REFERENCE: [Bound; 8] = [
    reference::CLUSTER_ID,
    reference::API_VERSION,
    reference::KIND,
    reference::NAMESPACE,
    reference::NAME,
    reference::RESOURCE_VERSION,
    reference::UID,
    reference::NAMESPACED_NAME,
];
const OWNER: [Bound; 3] = [reference::NAMESPACE, reference::NAME, reference::NAMESPACED_NAME];
const SERVICE_PORT: [Bound; 4] =
    [port::NAME, port::PROTOCOL, port::APP_PROTOCOL, port::TARGET_PORT];
const ENDPOINT: [Bound; 2] = [slice::ADDRESSES, slice::ADDRESS];
const SLICE_PORT: [Bound; 3] = [port::NAME, port::PROTOCOL, port::APP_PROTOCOL];

/// The bounds of a kind's spec by path, in which `[]` is each entry of a list; a list is before what is in it. Empty for
/// a kind that members neither write to the hub nor read there.
pub fn of_kind(kind: &str) -> Vec<(String, Bound)> {
    match kind {
        "InternalServiceExport" => exported_service(),
        "InternalServiceImport" => below("spec.serviceImportReference", &REFERENCE),
        "EndpointSliceExport" | "EndpointSliceImport" => exported_slice(),
        "ClusterReport" => below("spec", &[report::CLUSTER_UID]),
        _ => Vec::new(),
    }
}

fn exported_service() -> Vec<(String, Bound)> {
    let fields = [SERVICE_PORTS, service::TYPE, service::PUBLIC_IP_RESOURCE_ID];
    [
        below("spec", &fields),
        below("spec.ports[]", &SERVICE_PORT),
        below("spec.serviceReference", &REFERENCE),
    ]
    .concat()
}

fn exported_slice() -> Vec<(String, Bound)> {
    [
        below("spec", &[slice::ADDRESS_TYPE, slice::ENDPOINTS, slice::PORTS]),
        below("spec.endpoints[]", &ENDPOINT),
        vec![("spec.drainingEndpoints".to_owned(), slice::ENDPOINTS)],
        below("spec.drainingEndpoints[]", &ENDPOINT),
        below("spec.ports[]", &SLICE_PORT),
        below("spec.endpointSliceReference", &REFERENCE),
        below("spec.ownerServiceReference", &OWNER),
    ]
    .concat()
}

/// The bounds of fields of the object at a path.
fn below(path: &str, bounds: &[Bound]) -> Vec<(String, Bound)> {
    bounds.iter().map(|bound| (format!("{path}.{}", bound.field), *bound)).collect()
}
