//! Shared by the tests of controllers that make slices: a namespace, its Services, and the content of slices.

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, kinds};
use fleet_model_server::ModelServer;
use serde_json::{Value, json};

/// The namespace of everything.
pub(crate) const TEAM: &str = "team";

/// Something in it.
pub(crate) fn named(name: &str) -> ObjectName {
    ObjectName::new(TEAM, name)
}

/// A member's own API server with the namespace, and an empty hub.
pub(crate) fn servers() -> (ModelServer, ModelServer) {
    let (mut own, hub) = (ModelServer::new(ClusterId::Local), ModelServer::new(ClusterId::Hub));
    own.create(kinds::NAMESPACE, &ObjectName::cluster(TEAM), json!({})).unwrap();
    (own, hub)
}

/// A Service that selects `app: <app>`; `spec` is merged into its own.
pub(crate) fn service(app: &str, ports: &Value, spec: &Value) -> Value {
    let mut service = json!({ "spec": {
        "type": "ClusterIP", "clusterIP": "10.0.0.1", "ipFamilies": ["IPv4"],
        "selector": { "app": app }, "ports": ports,
    }});
    for (key, value) in spec.as_object().unwrap() {
        service["spec"][key] = value.clone();
    }
    service
}

/// All slices, ordered by name.
pub(crate) fn slices(server: &ModelServer) -> Vec<&Value> {
    let names = server.names(kinds::ENDPOINT_SLICE).into_iter();
    names.filter_map(|name| server.get(kinds::ENDPOINT_SLICE, &name)).collect()
}

/// The endpoints of a slice.
pub(crate) fn endpoints(slice: &Value) -> &[Value] {
    slice["endpoints"].as_array().map(Vec::as_slice).unwrap_or_default()
}
