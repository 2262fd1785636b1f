//! `ExportedService`.

use std::sync::Arc;

use fleet_accumulator::{Meta, Tracked, Uid, wire};
use fleet_api::multicluster::{
    ExportedServiceSpec, ServiceExportReference, ServiceProperties, ServiceReference,
};
use fleet_api::{ObjectName, ResourceKind, kinds};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use super::properties::{named, share};
use crate::limits::{self, Excess};
use crate::objects::exports::ConditionsWire;
use crate::objects::filed::filed;
use crate::objects::missing::MISSING;

wire! {
    /// An `ExportedService` on the wire.
    pub struct ExportedServiceWire as fleet_api::multicluster::ExportedService {
        spec: Option<ExportedServiceSpec>,
        status: Option<ConditionsWire>,
    }
}

/// A Service that a member exports by the standard API.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportedService {
    /// Metadata.
    pub meta: Meta,
    /// The Service; `None` if no Service can have that name, or if the spec cannot be decoded.
    pub service: Option<ObjectName>,
    /// Uid of the Service.
    pub service_uid: Uid,
    /// Uid of the ServiceExport.
    pub export_uid: Uid,
    /// When the ServiceExport was created, as the member reports.
    pub export_created: Option<Timestamp>,
    /// What the member offers.
    pub properties: Arc<ServiceProperties>,
    /// Conditions by type.
    pub conditions: Vec<Condition>,
    /// What exceeds a bound, if anything does.
    pub excess: Option<Excess>,
    /// Why its spec cannot be decoded.
    pub unreadable: Option<Box<str>>,
}

impl ExportedService {
    /// Whether it can be an export of its member, before anything else is looked at.
    fn may_count(&self) -> bool {
        self.service.is_some() && self.excess.is_none() && !self.meta.is_terminating()
    }

    /// Its spec, as its writer sent it; `None` if it names no Service.
    pub fn to_spec(&self) -> Option<ExportedServiceSpec> {
        Some(ExportedServiceSpec {
            service: ServiceReference::from(self.service.as_ref()?),
            service_uid: self.service_uid.to_string(),
            export: ServiceExportReference {
                uid: self.export_uid.to_string(),
                created: self.export_created.map(Time),
            },
            properties: (*self.properties).clone(),
        })
    }
}

impl Tracked for ExportedService {
    const KIND: ResourceKind = kinds::EXPORTED_SERVICE;
    type Wire = ExportedServiceWire;
    type Index = ObjectName;

    fn project(wire: ExportedServiceWire) -> Result<Self, String> {
        Self::salvage(wire, MISSING)
    }

    fn salvage(wire: ExportedServiceWire, defect: &str) -> Result<Self, String> {
        let unreadable = wire.spec.is_none().then(|| defect.into());
        let spec = wire.spec.unwrap_or_default();
        let mut conditions = wire.status.unwrap_or_default().conditions;
        conditions.shrink_to_fit();
        Ok(Self {
            meta: Meta::from_object(&wire.metadata),
            service: named(&spec.service),
            service_uid: spec.service_uid.as_str().into(),
            export_uid: spec.export.uid.as_str().into(),
            export_created: spec.export.created.as_ref().map(|time| time.0),
            excess: limits::of_exported_service(&spec),
            properties: share(spec.properties),
            conditions,
            unreadable,
        })
    }

    /// By the Service that it exports, and [by age](crate::objects::filed_by_age) among the others of its member.
    fn index(&self, name: &ObjectName) -> Vec<ObjectName> {
        let aged = self.may_count().then(|| filed(&name.namespace, &self.meta));
        self.service.clone().into_iter().chain(aged).collect()
    }

    /// By the namespace of their member.
    fn tally(&self, name: &ObjectName) -> Option<Arc<str>> {
        self.may_count().then(|| Arc::clone(&name.namespace))
    }
}
