//! Which field of which kind has which bound.

use super::bound::Bound;
use super::table::{SERVICE_PORTS, exported, port, reference, report, resolved, service, slice};

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
const ENDPOINT: [Bound; 5] =
    [slice::ADDRESSES, slice::ADDRESS, slice::HOSTNAME, slice::ZONE, slice::EXECUTOR];
const SHARED_SERVICE: [Bound; 2] = [exported::NAMESPACE, exported::NAME];
const PROPERTIES: [Bound; 7] = [
    exported::PORTS,
    exported::TRAFFIC_DISTRIBUTION,
    exported::IP_FAMILIES,
    exported::LABELS,
    exported::LABEL,
    exported::ANNOTATIONS,
    exported::ANNOTATION,
];
const EXPORTER: [Bound; 3] = [resolved::CLUSTER, resolved::WITHHELD, resolved::WITHHELD_PORT];
const SLICE_PORT: [Bound; 3] = [port::NAME, port::PROTOCOL, port::APP_PROTOCOL];

/// The bounds of a kind's spec by path, in which `[]` is each entry of a list and `{}` each value of a map; a list is before
/// what is in it. Empty for
/// a kind that members neither write to the hub nor read there.
pub fn of_kind(kind: &str) -> Vec<(String, Bound)> {
    match kind {
        "InternalServiceExport" => exported_service(),
        "InternalServiceImport" => below("spec.serviceImportReference", &REFERENCE),
        "EndpointSliceExport" | "EndpointSliceImport" => exported_slice(),
        "ClusterReport" => below("spec", &[report::CLUSTER_UID, report::PUBLISHED_TO]),
        "ExportedService" => shared_export(),
        "ResolvedService" => resolved_service(),
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

fn shared_export() -> Vec<(String, Bound)> {
    [
        below("spec", &[exported::SERVICE_UID]),
        below("spec.export", &[exported::EXPORT_UID]),
        shared_service(),
    ]
    .concat()
}

fn resolved_service() -> Vec<(String, Bound)> {
    [
        shared_service(),
        below("spec", &[resolved::WINNER, resolved::EXPORTERS, resolved::CONFLICTS]),
        below("spec.exporters[]", &EXPORTER),
        below("spec.conflicts[]", &[resolved::MESSAGE]),
    ]
    .concat()
}

/// What both of these have.
fn shared_service() -> Vec<(String, Bound)> {
    [
        below("spec.service", &SHARED_SERVICE),
        below("spec", &PROPERTIES),
        below("spec.ports[]", &SLICE_PORT),
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
