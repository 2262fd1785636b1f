//! Whether what a member has written is within the bounds of [`fleet_api::limits`].

use std::collections::{BTreeMap, HashSet};
use std::iter;

use fleet_api::limits::{self, Bound, exported, port, reference, service, slice};
use fleet_api::multicluster::{self, ExportedServiceSpec, ServiceProperties, ServiceReference};
use fleet_api::v1alpha1::{InternalServiceExportSpec, InternalServiceImportSpec};
use fleet_api::{
    Endpoint, EndpointPort, ExportedObjectReference, ExportedSliceSpec, OwnerServiceReference,
    ServiceImportStatus, ServicePort,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// What exceeds a bound: names field and bound, for users.
pub type Excess = Box<str>;

/// Checks an exported Service. `in_force` is whether the hub has accepted this generation of it before.
pub fn of_export(spec: &InternalServiceExportSpec, in_force: bool) -> Option<Excess> {
    let bound = if in_force { limits::SERVICE_PORTS_IN_FORCE } else { limits::SERVICE_PORTS };
    let resource = spec.public_ip_resource_id.as_ref();
    entries("spec", bound, spec.ports.len())
        .or_else(|| optional("spec", service::TYPE, spec.type_.as_ref()))
        .or_else(|| optional("spec", service::PUBLIC_IP_RESOURCE_ID, resource))
        .or_else(|| of_reference("spec.serviceReference", &spec.service_reference))
        .or_else(|| of_ports("spec", &spec.ports))
}

/// Checks a Service that is exported by the standard API.
pub fn of_exported_service(spec: &ExportedServiceSpec) -> Option<Excess> {
    let ExportedServiceSpec { service, service_uid, export, properties } = spec;
    let ServiceReference { namespace, name } = service;
    text("spec.service", exported::NAMESPACE, namespace)
        .or_else(|| text("spec.service", exported::NAME, name))
        .or_else(|| text("spec", exported::SERVICE_UID, service_uid))
        .or_else(|| text("spec.export", exported::EXPORT_UID, &export.uid))
        .or_else(|| of_properties(properties))
}

/// Checks a request to import a Service.
pub fn of_request(spec: &InternalServiceImportSpec) -> Option<Excess> {
    of_reference("spec.serviceImportReference", &spec.service_import_reference)
}

/// Checks what a hub grants to an importer: hub agents of earlier releases have no bounds. A Service with as many ports as a
/// hub agent leaves in force is accepted.
pub fn of_grant(status: &ServiceImportStatus) -> Option<Excess> {
    entries("status", limits::SERVICE_PORTS_IN_FORCE, status.ports.len())
        .or_else(|| of_ports("status", &status.ports))
}

/// Checks an exported slice. Importers skip ports and endpoints that they cannot take.
pub fn of_slice(spec: &ExportedSliceSpec) -> Option<Excess> {
    let endpoints = || spec.endpoints.iter().chain(&spec.draining_endpoints);
    entries("spec", slice::ENDPOINTS, endpoints().count())
        .or_else(|| entries("spec", limits::SERVICE_PORTS_IN_FORCE, spec.ports.len()))
        .or_else(|| text("spec", slice::ADDRESS_TYPE, spec.address_type.as_str()))
        .or_else(|| of_reference("spec.endpointSliceReference", &spec.endpoint_slice_reference))
        .or_else(|| of_owner("spec.ownerServiceReference", &spec.owner_service_reference))
        .or_else(|| endpoints().find_map(of_endpoint))
        .or_else(|| spec.ports.iter().find_map(of_slice_port))
}

/// Checks each of the ports in a part of an object, and that no two are the same.
fn of_ports(part: &str, ports: &[ServicePort]) -> Option<Excess> {
    let path = format!("{part}.ports[]");
    ports.iter().find_map(|port| of_port(&path, port)).or_else(|| duplicates(part, ports))
}

fn of_properties(properties: &ServiceProperties) -> Option<Excess> {
    let ServiceProperties { ports, traffic_distribution, ip_families, labels, annotations, .. } =
        properties;
    entries("spec", exported::PORTS, ports.len())
        .or_else(|| ports.iter().find_map(of_shared_port))
        .or_else(|| optional("spec", exported::TRAFFIC_DISTRIBUTION, traffic_distribution.as_ref()))
        .or_else(|| entries("spec", exported::IP_FAMILIES, ip_families.len()))
        .or_else(|| entries("spec", exported::LABELS, labels.len()))
        .or_else(|| of_values(exported::LABEL, labels))
        .or_else(|| entries("spec", exported::ANNOTATIONS, annotations.len()))
        .or_else(|| of_values(exported::ANNOTATION, annotations))
        .or_else(|| of_metadata(labels, annotations))
}

/// All of them together.
fn of_metadata(
    labels: &BTreeMap<String, String>,
    annotations: &BTreeMap<String, String>,
) -> Option<Excess> {
    let pairs = labels.iter().chain(annotations);
    let count: usize = pairs.map(|(key, value)| key.len() + value.len()).sum();
    let most = exported::METADATA;
    let note = || {
        format!(
            "exported labels and annotations have {count} bytes, but at most {most} are accepted"
        )
    };
    (count > most).then(|| note().into())
}

fn of_values(bound: Bound, map: &BTreeMap<String, String>) -> Option<Excess> {
    map.values().find_map(|value| text("spec", bound, value))
}

fn of_shared_port(port: &multicluster::ServicePort) -> Option<Excess> {
    let multicluster::ServicePort { name, protocol, port: _, app_protocol } = port;
    text("spec.ports[]", port::NAME, name)
        .or_else(|| text("spec.ports[]", port::PROTOCOL, protocol.as_str()))
        .or_else(|| optional("spec.ports[]", port::APP_PROTOCOL, app_protocol.as_ref()))
}

fn of_port(path: &str, port: &ServicePort) -> Option<Excess> {
    let ServicePort { name, protocol, app_protocol, port: _, target_port } = port;
    let target = match target_port {
        Some(IntOrString::String(name)) => Some(name),
        Some(IntOrString::Int(_)) | None => None,
    };
    optional(path, port::NAME, name.as_ref())
        .or_else(|| text(path, port::PROTOCOL, protocol.as_str()))
        .or_else(|| optional(path, port::APP_PROTOCOL, app_protocol.as_ref()))
        .or_else(|| optional(path, port::TARGET_PORT, target))
}

fn of_slice_port(port: &EndpointPort) -> Option<Excess> {
    let EndpointPort { name, protocol, port: _, app_protocol } = port;
    optional("spec.ports[]", port::NAME, name.as_ref())
        .or_else(|| optional("spec.ports[]", port::PROTOCOL, protocol.as_ref()))
        .or_else(|| optional("spec.ports[]", port::APP_PROTOCOL, app_protocol.as_ref()))
}

fn of_endpoint(endpoint: &Endpoint) -> Option<Excess> {
    let Endpoint { addresses, hostname, zone, executor } = endpoint;
    let mut texts = addresses.iter();
    entries("spec.endpoints[]", slice::ADDRESSES, addresses.len())
        .or_else(|| texts.find_map(|address| text("spec.endpoints[]", slice::ADDRESS, address)))
        .or_else(|| {
            text("spec.endpoints[]", slice::HOSTNAME, hostname.as_deref().unwrap_or_default())
        })
        .or_else(|| text("spec.endpoints[]", slice::ZONE, zone.as_deref().unwrap_or_default()))
        .or_else(|| {
            text("spec.endpoints[]", slice::EXECUTOR, executor.as_deref().unwrap_or_default())
        })
}

fn of_reference(path: &str, reference: &ExportedObjectReference) -> Option<Excess> {
    let ExportedObjectReference {
        cluster_id,
        api_version,
        kind,
        namespace,
        name,
        resource_version,
        generation: _,
        uid,
        namespaced_name,
        exported_since: _,
    } = reference;
    [
        (reference::CLUSTER_ID, cluster_id),
        (reference::KIND, kind),
        (reference::NAMESPACE, namespace),
        (reference::NAME, name),
        (reference::RESOURCE_VERSION, resource_version),
        (reference::UID, uid),
        (reference::NAMESPACED_NAME, namespaced_name),
    ]
    .into_iter()
    .chain(iter::zip([reference::API_VERSION], api_version))
    .find_map(|(bound, value)| text(path, bound, value))
}

fn of_owner(path: &str, owner: &OwnerServiceReference) -> Option<Excess> {
    let OwnerServiceReference { namespace, name, namespaced_name } = owner;
    [
        (reference::NAMESPACE, namespace),
        (reference::NAME, name),
        (reference::NAMESPACED_NAME, namespaced_name),
    ]
    .into_iter()
    .find_map(|(bound, value)| text(path, bound, value))
}

/// Whether two ports have one protocol and number, or one name, which a Service cannot have.
fn duplicates(part: &str, ports: &[ServicePort]) -> Option<Excess> {
    let (mut numbers, mut names) = (HashSet::new(), HashSet::new());
    let found = ports.iter().find_map(|port| {
        let name = port.name.as_deref().filter(|name| !name.is_empty());
        if !numbers.insert((&port.protocol, port.port)) {
            Some("protocol and number")
        } else if name.is_some_and(|name| !names.insert(name)) {
            Some("name")
        } else {
            None
        }
    })?;
    Some(format!("two entries of {part}.ports have the same {found}").into())
}

fn entries(path: &str, bound: Bound, count: usize) -> Option<Excess> {
    exceeds(path, bound, count)
}

fn optional(path: &str, bound: Bound, value: Option<&String>) -> Option<Excess> {
    value.and_then(|value| text(path, bound, value))
}

fn text(path: &str, bound: Bound, text: &str) -> Option<Excess> {
    // A text has no more characters than bytes.
    if text.len() <= bound.accepted {
        return None;
    }
    exceeds(path, bound, text.chars().count())
}

fn exceeds(path: &str, bound: Bound, count: usize) -> Option<Excess> {
    let Bound { field, unit, accepted, stored: _ } = bound;
    let unit = unit.as_str();
    let note = || format!("{path}.{field} has {count} {unit}, but at most {accepted} are accepted");
    (count > accepted).then(|| note().into())
}

#[cfg(test)]
mod tests {
    use fleet_api::limits::Unit;
    use serde_json::{Value, json};

    use super::*;

    fn reference() -> Value {
        json!({
            "clusterId": "a", "kind": "Service", "namespace": "team", "name": "shop",
            "namespacedName": "team/shop", "resourceVersion": "1", "generation": 1, "uid": "u",
        })
    }

    fn export(ports: &Value) -> InternalServiceExportSpec {
        let spec = json!({ "ports": ports, "serviceReference": reference() });
        serde_json::from_value(spec).unwrap()
    }

    fn ports(count: usize) -> Value {
        let port = |number| json!({ "name": format!("p{number}"), "port": number });
        (1..=count).map(port).collect()
    }

    fn slice(endpoints: usize) -> Value {
        json!({
            "addressType": "IPv4",
            "endpoints": vec![json!({ "addresses": ["10.0.0.1"] }); endpoints],
            "endpointSliceReference": reference(),
            "ownerServiceReference":
                { "namespace": "team", "name": "shop", "namespacedName": "team/shop" },
        })
    }

    #[test]
    fn what_kubernetes_accepts_is_accepted() {
        let longest = json!([{
            "name": "n".repeat(63), "port": 1, "targetPort": "t".repeat(15),
            "appProtocol": format!("{}/{}", "d".repeat(253), "n".repeat(63)),
        }]);
        assert_eq!(of_export(&export(&longest), false), None);
        assert_eq!(of_export(&export(&ports(100)), false), None);
        let both =
            json!([{ "name": "a", "port": 53 }, { "name": "b", "port": 53, "protocol": "UDP" }]);
        assert_eq!(of_export(&export(&both), false), None);
        let mut largest = slice(900);
        largest["drainingEndpoints"] = slice(100)["endpoints"].clone();
        largest["endpoints"][0]["addresses"] = vec!["10.0.0.1"; 100].into();
        assert_eq!(of_slice(&serde_json::from_value(largest).unwrap()), None);
    }

    #[test]
    fn ports_that_are_in_force_have_a_higher_bound() {
        let text = of_export(&export(&ports(150)), false).unwrap();
        assert_eq!(&*text, "spec.ports has 150 entries, but at most 100 are accepted");
        assert_eq!(of_export(&export(&ports(1000)), true), None);
        assert!(of_export(&export(&ports(1001)), true).is_some());
    }

    #[test]
    fn a_grant_has_the_bounds_of_a_service_in_force() {
        let grant = |ports: Value| -> Option<Excess> {
            of_grant(&serde_json::from_value(json!({ "ports": ports })).unwrap())
        };
        assert_eq!(grant(ports(1000)), None);
        let text = grant(ports(1001)).unwrap();
        assert_eq!(&*text, "status.ports has 1001 entries, but at most 1000 are accepted");
        let text = grant(json!([{ "name": "n".repeat(64), "port": 1 }])).unwrap();
        assert_eq!(&*text, "status.ports[].name has 64 characters, but at most 63 are accepted");
        let text = grant(json!([{ "name": "a", "port": 1 }, { "name": "a", "port": 2 }])).unwrap();
        assert_eq!(&*text, "two entries of status.ports have the same name");
    }

    #[test]
    fn a_port_is_listed_once() {
        for (other, same) in [
            (json!({ "name": "b", "port": 80 }), "protocol and number"),
            (json!({ "name": "a", "port": 81 }), "name"),
        ] {
            let twice = json!([{ "name": "a", "port": 80 }, other]);
            let text = of_export(&export(&twice), false).unwrap();
            assert_eq!(*text, *format!("two entries of spec.ports have the same {same}"));
        }
        // As some objects of the original, which had one port.
        let unnamed = json!([{ "name": "", "port": 80 }, { "name": "", "port": 81 }]);
        assert_eq!(of_export(&export(&unnamed), false), None);
    }

    /// Makes the field at a path longer than any bound on it.
    fn exceed(object: &mut Value, path: &str, unit: Unit) {
        let pointer = path.replace("[]", ".0").replace("{}", ".a").replace('.', "/");
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        let parent = object.pointer_mut(&format!("/{parent}")).unwrap();
        let long = json!("ä".repeat(3000));
        match (unit, field.parse::<usize>()) {
            (Unit::Characters, Ok(entry)) => parent[entry] = long,
            (Unit::Characters, Err(_)) => parent[field] = long,
            (Unit::Entries, _) if parent[field].is_object() => {
                parent[field] = (0..1001).map(|at| (at.to_string(), json!(""))).collect();
            }
            (Unit::Entries, _) => {
                let entry = parent[field][0].clone();
                parent[field] = vec![entry; 1001].into();
            }
        }
    }

    /// Checks that nothing exceeds a bound in an object, and that whatever does is named.
    fn every_bound_is_checked(kind: &str, spec: &Value, check: fn(Value) -> Option<Excess>) {
        assert_eq!(check(spec.clone()), None, "{kind}");
        for (path, bound) in limits::of_kind(kind) {
            let mut object = json!({ "spec": spec });
            exceed(&mut object, &path, bound.unit);
            let text = check(object["spec"].take()).expect(&path);
            // Both lists of endpoints have one bound.
            let named = path.replace("drainingEndpoints", "endpoints");
            let found = text.split_once(" has ").unwrap().0;
            assert!(found == named, "{found} instead of {named}");
        }
    }

    #[test]
    fn every_bound_of_the_table_is_checked_on_reading() {
        let service = json!({ "ports": ports(1), "serviceReference": reference() });
        every_bound_is_checked("InternalServiceExport", &service, |spec| {
            of_export(&serde_json::from_value(spec).unwrap(), true)
        });
        let request = json!({ "serviceImportReference": reference() });
        every_bound_is_checked("InternalServiceImport", &request, |spec| {
            of_request(&serde_json::from_value(spec).unwrap())
        });
        let shared = json!({
            "service": { "namespace": "team", "name": "shop" }, "serviceUid": "1",
            "export": { "uid": "2" }, "type": "Headless", "ports": [{ "port": 1 }],
            "ipFamilies": ["IPv4"], "labels": { "a": "b" }, "annotations": { "a": "b" },
        });
        every_bound_is_checked("ExportedService", &shared, |spec| {
            of_exported_service(&serde_json::from_value(spec).unwrap())
        });
        let mut exported = slice(1);
        exported["drainingEndpoints"] = exported["endpoints"].clone();
        exported["ports"] = ports(1);
        every_bound_is_checked("EndpointSliceExport", &exported, |spec| {
            of_slice(&serde_json::from_value(spec).unwrap())
        });
    }
}
