//! Services: those users export and those derived from an import.

use std::collections::BTreeMap;

use fleet_accumulator::{Meta, Tracked, wire};
use fleet_api::multicluster::{InternalTrafficPolicy, SessionAffinity};
use fleet_api::{ObjectName, ResourceKind, ServicePort, annotations, kinds, labels};
use k8s_openapi::api::core::v1::{self as core, LoadBalancerStatus, ServiceSpec, ServiceStatus};

use super::labels::{LabelIndex, Labels};

wire! {
    /// A Service on the wire.
    pub struct ServiceWire as core::Service {
        spec: Option<ServiceSpec>,
        status: Option<ServiceStatus>,
    }
}

/// The content of a Service that exporting, importing and building its slices need.
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    /// Metadata.
    pub meta: Meta,
    /// `spec.type`, `ClusterIP` where the server left it out.
    pub service_type: String,
    /// `spec.clusterIP`, verbatim.
    pub cluster_ip: Option<String>,
    /// `spec.clusterIPs`, of both families; none for a headless Service.
    pub cluster_ips: Box<[Box<str>]>,
    /// `spec.externalIPs`.
    pub external_ips: Box<[Box<str>]>,
    /// `spec.ipFamilies`.
    pub ip_families: Vec<String>,
    /// Selector; an empty one selects nothing.
    pub selector: Labels,
    /// `spec.publishNotReadyAddresses`.
    pub publish_not_ready: bool,
    /// `spec.trafficDistribution`.
    pub traffic_distribution: Option<String>,
    /// `spec.sessionAffinity`.
    pub session_affinity: SessionAffinity,
    /// How long a client stays with its endpoint, in seconds.
    pub affinity_timeout_seconds: Option<i32>,
    /// `spec.internalTrafficPolicy`.
    pub internal_traffic_policy: InternalTrafficPolicy,
    /// Ports in their order, without node ports.
    pub ports: Vec<ServicePort>,
    /// Addresses of the load balancer.
    pub load_balancer: LoadBalancerStatus,
}

/// Index keys of a Service.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServiceIndex {
    /// By the MultiClusterService that its labels name.
    DerivedFor(ObjectName),
    /// By the Service of the fleet that its annotation names.
    Imports(ObjectName),
    /// By the first pair of its selector.
    Selects(LabelIndex),
}

impl Service {
    /// Whether it has no cluster IP (`clusterIP: None`).
    pub fn is_headless(&self) -> bool {
        self.cluster_ip.as_deref() == Some("None")
    }

    /// The MultiClusterService that its labels name, for a derived Service.
    pub fn derived_for(&self) -> Option<ObjectName> {
        let namespace = self.meta.label(labels::MULTI_CLUSTER_SERVICE_NAMESPACE)?;
        let name = self.meta.label(labels::MULTI_CLUSTER_SERVICE_NAME)?;
        let named = !namespace.is_empty() && !name.is_empty();
        named.then(|| ObjectName::new(namespace, name))
    }

    /// The Service of the fleet that its annotation names, for a derived Service.
    pub fn imports(&self) -> Option<ObjectName> {
        ObjectName::parse(self.meta.annotation(annotations::FLEET_SERVICE)?)
    }
}

impl Tracked for Service {
    const KIND: ResourceKind = kinds::SERVICE;
    type Wire = ServiceWire;
    type Index = ServiceIndex;

    fn project(wire: ServiceWire) -> Result<Self, String> {
        let spec = wire.spec.unwrap_or_default();
        let ports = spec.ports.unwrap_or_default();
        let affinity = spec.session_affinity_config.and_then(|config| config.client_ip);
        Ok(Self {
            meta: Meta::from_object(&wire.metadata),
            service_type: spec.type_.unwrap_or_else(|| "ClusterIP".to_owned()),
            cluster_ips: addresses(spec.cluster_ips),
            external_ips: addresses(spec.external_ips),
            cluster_ip: spec.cluster_ip,
            ip_families: spec.ip_families.unwrap_or_default(),
            selector: labels(spec.selector.unwrap_or_default()),
            publish_not_ready: spec.publish_not_ready_addresses.unwrap_or_default(),
            traffic_distribution: spec.traffic_distribution,
            session_affinity: match spec.session_affinity.as_deref() {
                Some("ClientIP") => SessionAffinity::ClientIP,
                _ => SessionAffinity::None,
            },
            affinity_timeout_seconds: affinity.and_then(|client| client.timeout_seconds),
            internal_traffic_policy: match spec.internal_traffic_policy.as_deref() {
                Some("Local") => InternalTrafficPolicy::Local,
                _ => InternalTrafficPolicy::Cluster,
            },
            ports: ports.iter().map(ServicePort::from).collect(),
            load_balancer: wire.status.and_then(|s| s.load_balancer).unwrap_or_default(),
        })
    }

    fn index(&self, name: &ObjectName) -> Vec<ServiceIndex> {
        let back = self.derived_for().map(ServiceIndex::DerivedFor);
        let imports = self.imports().map(ServiceIndex::Imports);
        let selects = LabelIndex::first(&name.namespace, &self.selector).map(ServiceIndex::Selects);
        [back, imports, selects].into_iter().flatten().collect()
    }
}

/// The addresses in a list.
fn addresses(list: Option<Vec<String>>) -> Box<[Box<str>]> {
    let list = list.unwrap_or_default().into_iter();
    list.filter(|address| !address.is_empty() && address != "None").map(Into::into).collect()
}

fn labels(selector: BTreeMap<String, String>) -> Labels {
    selector.into_iter().map(|(key, value)| (key.into(), value.into())).collect()
}
