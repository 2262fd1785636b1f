//! MultiClusterService, ServiceImport and InternalServiceImport.

use std::sync::{Arc, LazyLock};

use fleet_accumulator::{Meta, Shared, Tracked, Uid, wire};
use fleet_api::v1alpha1::{
    InternalServiceImportSpec, MultiClusterServiceSpec, MultiClusterServiceStatus,
};
use fleet_api::{ObjectName, ResourceKind, ServiceImportStatus, kinds};
use k8s_openapi::api::core::v1::LoadBalancerStatus;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use parking_lot::Mutex;

use super::Reference;
use super::missing::MISSING;
use crate::limits::{self, Excess};

wire! {
    /// A MultiClusterService on the wire.
    pub struct MultiClusterServiceWire as fleet_api::v1alpha1::MultiClusterService {
        spec: Option<MultiClusterServiceSpec>,
        status: Option<MultiClusterServiceStatus>,
    }
}

wire! {
    /// A ServiceImport on the wire.
    pub struct ServiceImportWire as fleet_api::v1alpha1::ServiceImport {
        status: Option<ServiceImportStatus>,
    }
}

wire! {
    /// An InternalServiceImport on the wire.
    pub struct InternalServiceImportWire as fleet_api::v1alpha1::InternalServiceImport {
        spec: Option<InternalServiceImportSpec>,
        status: Option<ServiceImportStatus>,
    }
}

/// A user's request to import a Service of the fleet.
#[derive(Clone, Debug, PartialEq)]
pub struct MultiClusterService {
    /// Metadata.
    pub meta: Meta,
    /// Name of the Service to import; its namespace is the object's own.
    pub import: Option<String>,
    /// Addresses of the derived Service, as last reported.
    pub load_balancer: LoadBalancerStatus,
    /// Conditions by type.
    pub conditions: Vec<Condition>,
}

/// A Service of the fleet, on the hub or on an importer.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceImport {
    /// Metadata.
    pub meta: Meta,
    /// The resolved Service; empty while it is not resolved.
    pub status: Arc<ServiceImportStatus>,
}

/// A member's request for a Service of the fleet, and the hub's grant.
#[derive(Clone, Debug, PartialEq)]
pub struct InternalServiceImport {
    /// Metadata.
    pub meta: Meta,
    /// The importing object on the member, which has the name of the Service.
    pub reference: Reference,
    /// The granted Service; empty while the import is not granted.
    pub status: Arc<ServiceImportStatus>,
    /// What exceeds a bound, if anything does.
    pub excess: Option<Excess>,
    /// Why its spec cannot be decoded; the reference names nothing then.
    pub unreadable: Option<Box<str>>,
}

/// Statuses of resolved Services, shared with those that importers were granted, which are equal.
static STATUSES: LazyLock<Mutex<Shared<ServiceImportStatus>>> = LazyLock::new(Mutex::default);

/// Returns the status in one allocation with all equal ones.
fn share(mut status: ServiceImportStatus) -> Arc<ServiceImportStatus> {
    // Decoding leaves spare capacity in the lists.
    status.ports.shrink_to_fit();
    status.clusters.shrink_to_fit();
    let ports: Vec<_> = status.ports.iter().map(|port| (port.name.clone(), port.port)).collect();
    let key = (ports, status.clusters.clone());
    STATUSES.lock().get(&key, status)
}

impl MultiClusterService {
    /// The Service of the fleet that a MultiClusterService of `namespace` imports.
    pub fn imports(&self, namespace: &str) -> Option<ObjectName> {
        let name = self.import.as_deref().filter(|name| !name.is_empty())?;
        Some(ObjectName::new(namespace, name))
    }
}

impl Tracked for MultiClusterService {
    const KIND: ResourceKind = kinds::MULTI_CLUSTER_SERVICE;
    type Wire = MultiClusterServiceWire;
    type Index = ObjectName;

    fn project(wire: MultiClusterServiceWire) -> Result<Self, String> {
        let spec = wire.spec.unwrap_or_default();
        let status = wire.status.unwrap_or_default();
        Ok(Self {
            meta: Meta::from_object(&wire.metadata),
            import: spec.service_import.map(|import| import.name),
            load_balancer: status.load_balancer.unwrap_or_default(),
            conditions: status.conditions,
        })
    }

    /// A status that does not decode is written anew. Without its spec it is not known what it imports.
    fn salvage(wire: MultiClusterServiceWire, defect: &str) -> Result<Self, String> {
        if wire.spec.is_none() { Err(defect.to_owned()) } else { Self::project(wire) }
    }

    /// By the Service it imports.
    fn index(&self, name: &ObjectName) -> Vec<ObjectName> {
        self.imports(&name.namespace).into_iter().collect()
    }
}

impl Tracked for ServiceImport {
    const KIND: ResourceKind = kinds::SERVICE_IMPORT;
    type Wire = ServiceImportWire;
    type Index = Uid;

    fn project(wire: ServiceImportWire) -> Result<Self, String> {
        Ok(Self {
            meta: Meta::from_object(&wire.metadata),
            status: share(wire.status.unwrap_or_default()),
        })
    }

    /// A status that does not decode is written anew.
    fn salvage(wire: ServiceImportWire, _: &str) -> Result<Self, String> {
        Self::project(wire)
    }

    /// By the uid of the object that controls it.
    fn index(&self, _: &ObjectName) -> Vec<Uid> {
        self.meta
            .controller_owner()
            .map(|owner| Uid::from(owner.uid.as_str()))
            .into_iter()
            .collect()
    }
}

impl Tracked for InternalServiceImport {
    const KIND: ResourceKind = kinds::INTERNAL_SERVICE_IMPORT;
    type Wire = InternalServiceImportWire;
    type Index = ObjectName;

    fn project(wire: InternalServiceImportWire) -> Result<Self, String> {
        Self::salvage(wire, MISSING)
    }

    fn salvage(wire: InternalServiceImportWire, defect: &str) -> Result<Self, String> {
        let unreadable = wire.spec.is_none().then(|| defect.into());
        let spec = wire.spec.unwrap_or_default();
        Ok(Self {
            meta: Meta::from_object(&wire.metadata),
            reference: Reference::from(&spec.service_import_reference),
            excess: limits::of_request(&spec),
            status: share(wire.status.unwrap_or_default()),
            unreadable,
        })
    }

    /// By the Service it requests.
    fn index(&self, _: &ObjectName) -> Vec<ObjectName> {
        self.reference.object().cloned().into_iter().collect()
    }
}
