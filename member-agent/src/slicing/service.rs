//! A Service in the form that the reconciler reads.

use std::collections::BTreeMap;

use fleet_accumulator::{Object, Texts};
use fleet_api as api;
use fleet_model::objects;
use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

/// The parts of a Service that its slices depend on.
pub(crate) fn service(object: &Object<objects::Service>) -> Service {
    let meta = &object.meta;
    Service {
        metadata: ObjectMeta {
            name: Some(object.name.name.to_string()),
            namespace: Some(object.name.namespace.to_string()),
            uid: Some(object.uid.to_string()),
            generation: Some(meta.generation),
            creation_timestamp: meta.created.map(Time),
            deletion_timestamp: meta.deleted.map(Time),
            labels: Some(owned(&meta.labels)),
            annotations: Some(owned(&meta.annotations)),
            ..ObjectMeta::default()
        },
        spec: Some(ServiceSpec {
            type_: Some(object.service_type.clone()),
            cluster_ip: object.cluster_ip.clone(),
            ip_families: Some(object.ip_families.clone()),
            ports: Some(object.ports.iter().map(port).collect()),
            selector: Some(owned(&object.selector)),
            publish_not_ready_addresses: Some(object.publish_not_ready),
            traffic_distribution: object.traffic_distribution.clone(),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}

fn owned(map: &Texts) -> BTreeMap<String, String> {
    map.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

fn port(port: &api::ServicePort) -> ServicePort {
    ServicePort {
        name: port.name.clone(),
        protocol: Some(port.protocol.as_str().to_owned()),
        app_protocol: port.app_protocol.clone(),
        port: port.port,
        target_port: port.target_port.clone(),
        node_port: None,
    }
}
