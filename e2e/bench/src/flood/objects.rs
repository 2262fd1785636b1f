//! What the agents of members write to the hub, for members that have none.

use serde_json::{Value, json};

use fleet_api::finalizers;

/// Endpoints of a slice.
const ENDPOINTS: u32 = 10;

/// An `InternalServiceExport` of a Service.
pub(super) fn export(member: &str, service: (&str, &str)) -> Value {
    json!({
        "metadata": { "finalizers": [finalizers::INTERNAL_SERVICE_EXPORT] },
        "spec": {
            "ports": [{ "name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080 }],
            "serviceReference": reference(member, "Service", service, 1),
        },
    })
}

/// An `InternalServiceImport` of a Service.
pub(crate) fn request(member: &str, service: (&str, &str)) -> Value {
    json!({
        "metadata": { "finalizers": [finalizers::INTERNAL_SERVICE_IMPORT] },
        "spec": { "serviceImportReference": reference(member, "ServiceImport", service, 1) },
    })
}

/// A generation of the `EndpointSliceExport` of a slice, each with other addresses. `number` distinguishes the slices of a
/// member.
pub(crate) fn slice(
    member: &str,
    service: (&str, &str),
    (name, number): (&str, u32),
    generation: u32,
) -> Value {
    let (namespace, owner) = service;
    let address = |last| {
        let [high, low] = [generation >> 8 & 0xff, generation & 0xff];
        json!({ "addresses": [format!("10.{}.{high}.{low}", (number * ENDPOINTS + last) % 256)] })
    };
    json!({
        "metadata": { "finalizers": [finalizers::ENDPOINT_SLICE_EXPORT] },
        "spec": {
            "addressType": "IPv4",
            "endpoints": (0..ENDPOINTS).map(address).collect::<Vec<_>>(),
            "ports": [{ "name": "http", "protocol": "TCP", "port": 8080 }],
            "endpointSliceReference":
                reference(member, "EndpointSlice", (namespace, name), generation),
            "ownerServiceReference": {
                "namespace": namespace, "name": owner,
                "namespacedName": format!("{namespace}/{owner}"),
            },
        },
    })
}

fn reference(member: &str, kind: &str, (namespace, name): (&str, &str), generation: u32) -> Value {
    json!({
        "clusterId": member, "kind": kind, "namespace": namespace, "name": name,
        "namespacedName": format!("{namespace}/{name}"), "generation": generation,
        "resourceVersion": generation.to_string(), "uid": format!("{member}-{kind}-{name}"),
        "exportedSince": "2026-01-01T00:00:00Z",
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_generation_has_other_addresses() {
        let mut seen = BTreeSet::new();
        for generation in [1, 2, 256, 300] {
            let slice = slice("noisy", ("team", "shop"), ("shop-1", 1), generation);
            for endpoint in slice["spec"]["endpoints"].as_array().unwrap() {
                assert!(seen.insert(endpoint["addresses"][0].to_string()), "{endpoint}");
            }
        }
        assert_eq!(seen.len(), 40);
    }
}
