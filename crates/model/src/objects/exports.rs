//! ServiceExport and InternalServiceExport.

use std::sync::{Arc, LazyLock};

use fleet_accumulator::{Meta, Shared, Tracked, wire};
use fleet_api::names::member_of_namespace;
use fleet_api::v1alpha1::InternalServiceExportSpec;
use fleet_api::{ObjectName, ResourceKind, ServicePort, conditions, kinds};
use fleet_plan::conditions::{find, is};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use parking_lot::Mutex;
use serde::Deserialize;

use super::Reference;
use super::filed::filed;
use super::missing::MISSING;
use crate::limits::{self, Excess};

/// A status of which only the conditions are read.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct ConditionsWire {
    /// Conditions by type.
    #[serde(default)]
    pub conditions: Vec<Condition>,
}

wire! {
    /// A ServiceExport on the wire.
    pub struct ServiceExportWire as fleet_api::v1beta1::ServiceExport {
        status: Option<ConditionsWire>,
    }
}

wire! {
    /// An InternalServiceExport on the wire.
    pub struct InternalServiceExportWire as fleet_api::v1alpha1::InternalServiceExport {
        spec: Option<InternalServiceExportSpec>,
        status: Option<ConditionsWire>,
    }
}

/// A user's request to export the Service of the same name.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceExport {
    /// Metadata.
    pub meta: Meta,
    /// Conditions by type.
    pub conditions: Vec<Condition>,
}

/// A Service that a member exports to the hub.
#[derive(Clone, Debug, PartialEq)]
pub struct InternalServiceExport {
    /// Metadata.
    pub meta: Meta,
    /// The exported Service.
    pub reference: Reference,
    /// Its ports, in its order.
    pub ports: Arc<[ServicePort]>,
    /// Conditions by type.
    pub conditions: Vec<Condition>,
    /// What exceeds a bound, if anything does.
    pub excess: Option<Excess>,
    /// Why its spec cannot be decoded; the reference names nothing then.
    pub unreadable: Option<Box<str>>,
}

impl InternalServiceExport {
    /// Whether the hub has accepted it.
    pub fn is_in_force(&self) -> bool {
        is(&self.conditions, conditions::CONFLICT, conditions::FALSE)
    }

    /// Whether it is one of the exports of the member that its namespace belongs to.
    fn counts(&self, name: &ObjectName) -> bool {
        self.excess.is_none()
            && !self.meta.is_terminating()
            && self.reference.object().is_some()
            && member_of_namespace(&name.namespace) == Some(&*self.reference.cluster_id)
    }
}

/// Ports of Services, shared because most exporters of a Service have the same.
static PORTS: LazyLock<Mutex<Shared<[ServicePort]>>> = LazyLock::new(Mutex::default);

impl Tracked for ServiceExport {
    const KIND: ResourceKind = kinds::SERVICE_EXPORT;
    type Wire = ServiceExportWire;
    type Index = ();

    fn project(wire: ServiceExportWire) -> Result<Self, String> {
        Ok(Self {
            meta: Meta::from_object(&wire.metadata),
            conditions: wire.status.unwrap_or_default().conditions,
        })
    }

    /// Conditions that do not decode are written anew.
    fn salvage(wire: ServiceExportWire, _: &str) -> Result<Self, String> {
        Self::project(wire)
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }
}

/// Whether the hub has accepted the present generation of an export.
fn is_accepted(meta: &Meta, present: &[Condition]) -> bool {
    find(present, conditions::CONFLICT).is_some_and(|conflict| {
        conflict.status == conditions::FALSE
            && conflict.observed_generation == Some(meta.generation)
    })
}

impl Tracked for InternalServiceExport {
    const KIND: ResourceKind = kinds::INTERNAL_SERVICE_EXPORT;
    type Wire = InternalServiceExportWire;
    type Index = ObjectName;

    fn project(wire: InternalServiceExportWire) -> Result<Self, String> {
        Self::salvage(wire, MISSING)
    }

    fn salvage(wire: InternalServiceExportWire, defect: &str) -> Result<Self, String> {
        let unreadable = wire.spec.is_none().then(|| defect.into());
        let spec = wire.spec.unwrap_or_default();
        let mut conditions = wire.status.unwrap_or_default().conditions;
        // Decoding leaves spare capacity in the list.
        conditions.shrink_to_fit();
        let meta = Meta::from_object(&wire.metadata);
        let reference = Reference::from(&spec.service_reference);
        Ok(Self {
            excess: limits::of_export(&spec, is_accepted(&meta, &conditions)),
            meta,
            ports: PORTS.lock().get(&reference.object(), spec.ports),
            reference,
            conditions,
            unreadable,
        })
    }

    /// By the Service it exports, and until the hub accepts it [by age](super::filed_by_age) among those of its member that wait.
    fn index(&self, name: &ObjectName) -> Vec<ObjectName> {
        let waits = self.counts(name) && !self.is_in_force();
        let waiting = waits.then(|| filed(&name.namespace, &self.meta));
        self.reference.object().cloned().into_iter().chain(waiting).collect()
    }

    /// Those in force, by the namespace of their member.
    fn tally(&self, name: &ObjectName) -> Option<Arc<str>> {
        (self.is_in_force() && self.counts(name)).then(|| Arc::clone(&name.namespace))
    }
}
