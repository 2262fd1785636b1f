//! Reading objects of the fleet as JSON.

use std::collections::BTreeSet;

use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{annotations, kinds, labels};
use serde_json::Value;

/// The text at a JSON pointer; empty if there is none.
pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The object's name.
pub fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

/// The object's namespace.
pub fn namespace(object: &Value) -> &str {
    text(object, "/metadata/namespace")
}

/// A label's value; empty if it is absent.
pub fn label<'a>(object: &'a Value, key: &str) -> &'a str {
    object["metadata"]["labels"][key].as_str().unwrap_or_default()
}

/// An annotation's value; empty if it is absent.
pub fn annotation<'a>(object: &'a Value, key: &str) -> &'a str {
    object["metadata"]["annotations"][key].as_str().unwrap_or_default()
}

/// Name of the `EndpointSliceExport` that an `EndpointSliceImport` of this name copies.
pub fn copied_name<'a>(name: &'a str, copy: &'a Value) -> &'a str {
    let recorded = annotation(copy, annotations::SLICE_EXPORT_NAME);
    if recorded.is_empty() { name } else { recorded }
}

/// Whether it is being deleted.
pub fn terminating(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// The elements of an array, or nothing.
pub fn list<'a>(object: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    object.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

/// Finalizers.
pub fn finalizers(object: &Value) -> BTreeSet<&str> {
    list(object, "/metadata/finalizers").filter_map(Value::as_str).collect()
}

/// Keys of a map.
pub fn keys<'a>(object: &'a Value, pointer: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    let map = object.pointer(pointer).and_then(Value::as_object);
    map.into_iter().flat_map(|map| map.keys().map(String::as_str))
}

/// A condition of its status.
pub fn condition<'a>(object: &'a Value, wanted: &str) -> Option<&'a Value> {
    list(object, "/status/conditions").find(|condition| condition["type"] == wanted)
}

/// Status of a condition; empty if it is absent.
pub fn condition_status<'a>(object: &'a Value, wanted: &str) -> &'a str {
    condition(object, wanted).map_or("", |condition| text(condition, "/status"))
}

/// Clusters that export a Service, by its ServiceImport.
pub fn exporters(import: &Value) -> BTreeSet<&str> {
    list(import, "/status/clusters").map(|cluster| text(cluster, "/cluster")).collect()
}

/// Whether an EndpointSlice came from another cluster.
pub fn is_imported_slice(slice: &Value) -> bool {
    namespace(slice) == SYSTEM_NAMESPACE
        && label(slice, labels::MANAGED_BY) == labels::MANAGED_BY_IMPORT
}

/// Whether a member agent makes it of what a Service of its own cluster selects.
pub fn is_made_slice(slice: &Value) -> bool {
    label(slice, labels::MANAGED_BY) == labels::MANAGED_BY_EXTERNAL_WORKLOADS
}

/// Whether a member agent imported it by the standard API.
pub fn is_standard_slice(slice: &Value) -> bool {
    label(slice, labels::MANAGED_BY) == labels::MANAGED_BY_MULTICLUSTER
}

/// Whether a member agent derived the Service for an import of the standard API.
pub fn is_standard_service(service: &Value) -> bool {
    name(service).starts_with("derived-")
        && namespace(service) != SYSTEM_NAMESPACE
        && !annotation(service, annotations::FLEET_SERVICE).is_empty()
}

/// `namespace/name` of the MultiClusterService that a derived Service names.
pub fn back_pointer(service: &Value) -> Option<String> {
    let namespace = label(service, labels::MULTI_CLUSTER_SERVICE_NAMESPACE);
    let name = label(service, labels::MULTI_CLUSTER_SERVICE_NAME);
    (!namespace.is_empty() && !name.is_empty()).then(|| format!("{namespace}/{name}"))
}

/// `namespace/name` of the Service of the fleet that an object is about; `None` if it is about none.
pub fn subject(kind: &str, object: &Value) -> Option<String> {
    let joined = |namespace: &str, name: &str| {
        (!namespace.is_empty() && !name.is_empty()).then(|| format!("{namespace}/{name}"))
    };
    let reference = |pointer: &str| {
        let reference = object.pointer(pointer)?;
        joined(text(reference, "/namespace"), text(reference, "/name"))
    };
    let marked = || {
        let marked = annotation(object, annotations::FLEET_SERVICE);
        (!marked.is_empty()).then(|| marked.to_owned())
    };
    let own = namespace(object);
    let core = kind == kinds::SERVICE.kind || kind == kinds::ENDPOINT_SLICE.kind;
    if core && (own == SYSTEM_NAMESPACE || is_standard_slice(object) || is_standard_service(object))
    {
        marked()
    } else if kind == kinds::EXPORTED_SERVICE.kind || kind == kinds::RESOLVED_SERVICE.kind {
        reference("/spec/service")
    } else if kind == kinds::ENDPOINT_SLICE.kind {
        joined(own, label(object, labels::SERVICE_NAME))
    } else if kind == kinds::MULTI_CLUSTER_SERVICE.kind {
        joined(own, text(object, "/spec/serviceImport/name"))
    } else if kind == kinds::INTERNAL_SERVICE_EXPORT.kind {
        reference("/spec/serviceReference")
    } else if kind == kinds::INTERNAL_SERVICE_IMPORT.kind {
        reference("/spec/serviceImportReference")
    } else if kind == kinds::ENDPOINT_SLICE_EXPORT.kind || kind == kinds::ENDPOINT_SLICE_IMPORT.kind
    {
        reference("/spec/ownerServiceReference")
    } else {
        joined(own, name(object))
    }
}

/// Addresses of the endpoints that fit.
pub fn addresses<'a>(
    slice: &'a Value,
    pointer: &str,
    mut fits: impl FnMut(&Value) -> bool,
) -> BTreeSet<&'a str> {
    list(slice, pointer)
        .filter(|endpoint| fits(endpoint))
        .flat_map(|endpoint| list(endpoint, "/addresses"))
        .filter_map(Value::as_str)
        .collect()
}

/// An endpoint without a word about readiness is ready.
pub fn ready(endpoint: &Value) -> bool {
    endpoint["conditions"]["ready"].as_bool().unwrap_or(true)
}
