//! Services: those users export and those derived from an import.

use fleet_accumulator::{Meta, Tracked, wire};
use fleet_api::{ObjectName, ResourceKind, ServicePort, annotations, kinds, labels};
use k8s_openapi::api::core::v1::{LoadBalancerStatus, Service, ServiceSpec, ServiceStatus};

wire! {
    /// A Service on the wire.
    pub struct ServiceWire as Service {
        spec: Option<ServiceSpec>,
        status: Option<ServiceStatus>,
    }
}

/// What both exporting and importing need of a Service.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceRecord {
    /// Metadata.
    pub meta: Meta,
    /// `spec.type`, `ClusterIP` where the server left it out.
    pub service_type: String,
    /// Whether it has no cluster IP (`clusterIP: None`).
    pub headless: bool,
    /// Whether it selects Pods.
    pub selects: bool,
    /// Ports in their order, without node ports.
    pub ports: Vec<ServicePort>,
    /// Addresses of the load balancer.
    pub load_balancer: LoadBalancerStatus,
}

/// How a derived Service is found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServiceIndex {
    /// By the MultiClusterService that its labels point back to.
    DerivedFor(ObjectName),
    /// By the Service of the fleet that its annotation names.
    Imports(ObjectName),
}

impl ServiceRecord {
    /// The MultiClusterService that the labels point back to.
    pub fn derived_for(&self) -> Option<ObjectName> {
        let namespace = self.meta.label(labels::MULTI_CLUSTER_SERVICE_NAMESPACE)?;
        let name = self.meta.label(labels::MULTI_CLUSTER_SERVICE_NAME)?;
        let named = !namespace.is_empty() && !name.is_empty();
        named.then(|| ObjectName::new(namespace, name))
    }

    /// The Service of the fleet that the annotation names.
    pub fn imports(&self) -> Option<ObjectName> {
        ObjectName::parse(self.meta.annotation(annotations::FLEET_SERVICE)?)
    }
}

impl Tracked for ServiceRecord {
    const KIND: ResourceKind = kinds::SERVICE;
    type Wire = ServiceWire;
    type Index = ServiceIndex;

    fn project(wire: ServiceWire) -> Result<Self, String> {
        let spec = wire.spec.unwrap_or_default();
        let ports = spec.ports.unwrap_or_default();
        Ok(Self {
            meta: Meta::from_object(&wire.metadata),
            service_type: spec.type_.unwrap_or_else(|| "ClusterIP".to_owned()),
            headless: spec.cluster_ip.as_deref() == Some("None"),
            selects: spec.selector.is_some_and(|selector| !selector.is_empty()),
            ports: ports.iter().map(ServicePort::from).collect(),
            load_balancer: wire.status.and_then(|s| s.load_balancer).unwrap_or_default(),
        })
    }

    fn index(&self, _: &ObjectName) -> Vec<ServiceIndex> {
        let back = self.derived_for().map(ServiceIndex::DerivedFor);
        back.into_iter().chain(self.imports().map(ServiceIndex::Imports)).collect()
    }
}
