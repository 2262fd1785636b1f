//! Pods, as far as endpoints depend on them.

use std::sync::Arc;

use fleet_accumulator::{Meta, Tracked, wire};
use fleet_api::{ObjectName, ResourceKind, annotations, kinds};
use fleet_endpointslice::PodView;
use fleet_endpointslice::pods::{is_candidate, named_ports};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    self as core, Container, ContainerPort, PodCondition, PodIP, PodSpec, PodStatus,
};
use serde::Deserialize;

use super::labels::{LabelIndex, Labels};
use crate::selection::Selectable;

/// The part of the spec that is read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpecWire {
    node_name: Option<String>,
    hostname: Option<String>,
    subdomain: Option<String>,
    containers: Option<Vec<ContainerWire>>,
    init_containers: Option<Vec<ContainerWire>>,
}

/// The part of a container that is read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ContainerWire {
    ports: Option<Vec<ContainerPort>>,
    restart_policy: Option<String>,
}

/// The part of the status that is read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatusWire {
    phase: Option<String>,
    #[serde(rename = "podIP")]
    pod_ip: Option<String>,
    #[serde(rename = "podIPs")]
    pod_ips: Option<Vec<PodIP>>,
    conditions: Option<Vec<PodCondition>>,
}

wire! {
    /// A Pod on the wire.
    pub struct PodWire as core::Pod {
        spec: Option<PodSpecWire>,
        status: Option<PodStatusWire>,
    }
}

/// A named port of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPort {
    /// Its name.
    pub name: Box<str>,
    /// Its protocol.
    pub protocol: Box<str>,
    /// Its number.
    pub number: i32,
}

/// The content of a Pod that endpoints are built from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Labels, by which Services select it.
    pub labels: Labels,
    /// Whether it is being deleted.
    pub terminating: bool,
    /// Whether it can be an endpoint: it has an address and has neither succeeded nor failed.
    pub usable: bool,
    /// Whether its condition `Ready` is true.
    pub ready: bool,
    /// Transition time of that condition.
    pub ready_since: Option<Timestamp>,
    /// Addresses on the cluster network, verbatim.
    pub addresses: Box<[Box<str>]>,
    /// Node that it is bound to.
    pub node: Option<Arc<str>>,
    /// Its host name.
    pub hostname: Option<Box<str>>,
    /// Its subdomain.
    pub subdomain: Option<Box<str>>,
    /// Named ports, in lookup order.
    pub ports: Box<[NamedPort]>,
    /// The network status annotation, verbatim.
    pub networks: Option<Box<str>>,
}

impl Selectable for Pod {
    fn labels(&self) -> &Labels {
        &self.labels
    }
}

impl Tracked for Pod {
    const KIND: ResourceKind = kinds::POD;
    type Wire = PodWire;
    type Index = LabelIndex;

    fn project(wire: PodWire) -> Result<Self, String> {
        let meta = Meta::from_object(&wire.metadata);
        let pod = core::Pod {
            spec: wire.spec.map(spec),
            status: wire.status.map(status),
            metadata: wire.metadata,
        };
        let (hostname, subdomain) = pod.host();
        Ok(Self {
            terminating: meta.is_terminating(),
            usable: is_candidate(&pod, true),
            ready: pod.is_ready(),
            ready_since: ready_since(&pod),
            addresses: pod.addresses().map(Box::from).collect(),
            node: pod.node_name().filter(|name| !name.is_empty()).map(Arc::from),
            hostname: hostname.map(Box::from),
            subdomain: subdomain.map(Box::from),
            ports: named_ports(&pod).map(port).collect(),
            networks: meta.annotation(annotations::NETWORK_STATUS).map(Box::from),
            labels: meta.labels.clone(),
        })
    }

    fn index(&self, name: &ObjectName) -> Vec<LabelIndex> {
        LabelIndex::all(&name.namespace, &self.labels)
    }
}

fn port((name, protocol, number): (&str, &str, i32)) -> NamedPort {
    NamedPort { name: name.into(), protocol: protocol.into(), number }
}

fn ready_since(pod: &core::Pod) -> Option<Timestamp> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let ready = conditions.iter().find(|condition| condition.type_ == "Ready")?;
    ready.last_transition_time.as_ref().map(|time| time.0)
}

fn spec(wire: PodSpecWire) -> PodSpec {
    let containers = |wire: Vec<ContainerWire>| wire.into_iter().map(container).collect();
    PodSpec {
        node_name: wire.node_name,
        hostname: wire.hostname,
        subdomain: wire.subdomain,
        containers: containers(wire.containers.unwrap_or_default()),
        init_containers: wire.init_containers.map(containers),
        ..PodSpec::default()
    }
}

fn container(wire: ContainerWire) -> Container {
    let ContainerWire { ports, restart_policy } = wire;
    Container { ports, restart_policy, ..Container::default() }
}

fn status(wire: PodStatusWire) -> PodStatus {
    let PodStatusWire { phase, pod_ip, pod_ips, conditions } = wire;
    PodStatus { phase, pod_ip, pod_ips, conditions, ..PodStatus::default() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_keeps_the_fields_that_endpoints_need() {
        let pod = json!({
            "metadata": {
                "name": "web-0", "namespace": "team", "labels": { "app": "web" },
                "annotations": { "k8s.v1.cni.cncf.io/network-status": "[]", "other": "x" },
            },
            "spec": {
                "nodeName": "node-1", "hostname": "web-0", "subdomain": "web",
                "containers": [{ "name": "main", "image": "none",
                    "ports": [{ "name": "http", "containerPort": 8080 }, { "containerPort": 1 }] }],
                "initContainers": [
                    { "name": "setup", "ports": [{ "name": "setup", "containerPort": 2 }] },
                    { "name": "side", "restartPolicy": "Always",
                        "ports": [{ "name": "side", "containerPort": 3, "protocol": "UDP" }] },
                ],
            },
            "status": {
                "phase": "Running", "podIP": "10.0.0.1",
                "podIPs": [{ "ip": "10.0.0.1" }, { "ip": "fd00::1" }],
                "conditions": [{ "type": "Ready", "status": "True",
                    "lastTransitionTime": "2026-01-02T03:04:05Z" }],
            },
        });
        let pod = Pod::project(serde_json::from_value(pod).unwrap()).unwrap();
        assert!(pod.ready && pod.usable && !pod.terminating);
        assert_eq!(pod.ready_since.unwrap().to_string(), "2026-01-02T03:04:05Z");
        assert_eq!(
            pod.addresses.iter().map(AsRef::as_ref).collect::<Vec<&str>>(),
            ["10.0.0.1", "fd00::1"]
        );
        let ports: Vec<_> =
            pod.ports.iter().map(|port| (&*port.name, &*port.protocol, port.number)).collect();
        assert_eq!(ports, [("http", "TCP", 8080), ("side", "UDP", 3)]);
        assert_eq!(pod.node.as_deref(), Some("node-1"));
        assert_eq!(
            (pod.hostname.as_deref(), pod.subdomain.as_deref()),
            (Some("web-0"), Some("web"))
        );
        assert_eq!(pod.networks.as_deref(), Some("[]"));
    }
}
