//! Whether what a member has written is within the bounds of [`fleet_api::limits`].

use std::collections::HashSet;
use std::iter;

use fleet_api::limits::{self, Bound, port, reference, slice};
use fleet_api::v1alpha1::{InternalServiceExportSpec, InternalServiceImportSpec};
use fleet_api::{
    Endpoint, EndpointPort, ExportedObjectReference, ExportedSliceSpec, OwnerServiceReference,
    ServicePort,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// What exceeds a bound: names field and bound, for users.
pub type Excess = Box<str>;

/// Checks an exported Service. `in_force` is whether the hub has accepted this generation of it before.
pub fn of_export(spec: &InternalServiceExportSpec, in_force: bool) -> Option<Excess> {
    let bound = if in_force { limits::SERVICE_PORTS_IN_FORCE } else { limits::SERVICE_PORTS };
    entries("spec", bound, spec.ports.len())
        .or_else(|| of_reference("spec.serviceReference", &spec.service_reference))
        .or_else(|| spec.ports.iter().find_map(of_port))
        .or_else(|| duplicates(&spec.ports))
}

/// Checks a request to import a Service.
pub fn of_request(spec: &InternalServiceImportSpec) -> Option<Excess> {
    of_reference("spec.serviceImportReference", &spec.service_import_reference)
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

fn of_port(port: &ServicePort) -> Option<Excess> {
    let ServicePort { name, protocol, app_protocol, port: _, target_port } = port;
    let target = match target_port {
        Some(IntOrString::String(name)) => Some(name),
        Some(IntOrString::Int(_)) | None => None,
    };
    optional("spec.ports[]", port::NAME, name.as_ref())
        .or_else(|| text("spec.ports[]", port::PROTOCOL, protocol.as_str()))
        .or_else(|| optional("spec.ports[]", port::APP_PROTOCOL, app_protocol.as_ref()))
        .or_else(|| optional("spec.ports[]", port::TARGET_PORT, target))
}

fn of_slice_port(port: &EndpointPort) -> Option<Excess> {
    let EndpointPort { name, protocol, port: _, app_protocol } = port;
    optional("spec.ports[]", port::NAME, name.as_ref())
        .or_else(|| optional("spec.ports[]", port::PROTOCOL, protocol.as_ref()))
        .or_else(|| optional("spec.ports[]", port::APP_PROTOCOL, app_protocol.as_ref()))
}

fn of_endpoint(endpoint: &Endpoint) -> Option<Excess> {
    let Endpoint { addresses } = endpoint;
    let mut texts = addresses.iter();
    entries("spec.endpoints[]", slice::ADDRESSES, addresses.len())
        .or_else(|| texts.find_map(|address| text("spec.endpoints[]", slice::ADDRESS, address)))
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
fn duplicates(ports: &[ServicePort]) -> Option<Excess> {
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
    Some(format!("two entries of spec.ports have the same {found}").into())
}

fn entries(path: &str, bound: Bound, count: usize) -> Option<Excess> {
    exceeds(path, bound, count, "entries")
}

fn optional(path: &str, bound: Bound, value: Option<&String>) -> Option<Excess> {
    value.and_then(|value| text(path, bound, value))
}

fn text(path: &str, bound: Bound, text: &str) -> Option<Excess> {
    // A text has no more characters than bytes.
    if text.len() <= bound.accepted {
        return None;
    }
    exceeds(path, bound, text.chars().count(), "characters")
}

fn exceeds(path: &str, bound: Bound, count: usize, unit: &str) -> Option<Excess> {
    let Bound { field, accepted } = bound;
    let note = || format!("{path}.{field} has {count} {unit}, but at most {accepted} are accepted");
    (count > accepted).then(|| note().into())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    type Edit = fn(&mut Value);

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

    #[test]
    fn every_text_of_an_export_is_bounded() {
        let long = "ä".repeat(400);
        for field in ["name", "protocol", "appProtocol", "targetPort"] {
            let mut one = ports(1);
            one[0][field] = json!(long);
            let text = of_export(&export(&one), false).unwrap();
            assert!(
                text.starts_with(&format!("spec.ports[].{field} has 400 characters")),
                "{text}"
            );
        }
        let texts =
            ["clusterId", "apiVersion", "kind", "namespace", "name", "resourceVersion", "uid"];
        for field in texts.into_iter().chain(["namespacedName"]) {
            let mut other = reference();
            other[field] = json!(long);
            let spec = json!({ "serviceImportReference": other });
            let text = of_request(&serde_json::from_value(spec).unwrap()).unwrap();
            let path = format!("spec.serviceImportReference.{field} has 400 characters");
            assert!(text.starts_with(&path), "{text}");
        }
    }

    #[test]
    fn a_slice_has_bounds() {
        fn long() -> Value {
            json!("x".repeat(400))
        }
        let edits: [(&str, Edit); 9] = [
            ("spec.endpoints has 1001 entries", |spec| {
                spec["drainingEndpoints"] = slice(1000)["endpoints"].clone();
            }),
            ("spec.endpoints[].addresses has 101 entries", |spec| {
                spec["endpoints"][0]["addresses"] = vec!["10.0.0.1"; 101].into();
            }),
            ("spec.endpoints[].addresses[] has", |spec| {
                spec["endpoints"][0]["addresses"][0] = long();
            }),
            ("spec.addressType has", |spec| spec["addressType"] = long()),
            ("spec.ports has 1001 entries", |spec| spec["ports"] = ports(1001)),
            ("spec.ports[].name has", |spec| spec["ports"] = json!([{ "name": long() }])),
            ("spec.ports[].protocol has", |spec| spec["ports"] = json!([{ "protocol": long() }])),
            ("spec.endpointSliceReference.uid has", |spec| {
                spec["endpointSliceReference"]["uid"] = long();
            }),
            ("spec.ownerServiceReference.name has", |spec| {
                spec["ownerServiceReference"]["name"] = long();
            }),
        ];
        for (expected, edit) in edits {
            let mut spec = slice(1);
            edit(&mut spec);
            let text = of_slice(&serde_json::from_value(spec).unwrap()).unwrap();
            assert!(text.starts_with(expected), "{text}");
        }
    }
}
