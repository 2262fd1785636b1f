//! `ServiceTraffic`.

use fleet_accumulator::{Meta, Tracked, wire};
use fleet_api::traffic::{self, ServiceTrafficSpec, ServiceTrafficStatus};
use fleet_api::{ObjectName, ResourceKind, kinds};

use crate::objects::missing::MISSING;

wire! {
    /// A `ServiceTraffic` on the wire.
    pub struct ServiceTrafficWire as traffic::ServiceTraffic {
        spec: Option<ServiceTrafficSpec>,
        status: Option<ServiceTrafficStatus>,
    }
}

/// What the owner of a Service asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceTraffic {
    /// Metadata.
    pub meta: Meta,
    /// Counts changes of the spec.
    pub generation: i64,
    /// What is asked for.
    pub spec: ServiceTrafficSpec,
    /// What the member agent has reported.
    pub status: ServiceTrafficStatus,
}

impl Tracked for ServiceTraffic {
    const KIND: ResourceKind = kinds::SERVICE_TRAFFIC;
    type Wire = ServiceTrafficWire;
    type Index = ();

    fn project(wire: ServiceTrafficWire) -> Result<Self, String> {
        Ok(Self {
            meta: Meta::from_object(&wire.metadata),
            generation: wire.metadata.generation.unwrap_or_default(),
            spec: wire.spec.ok_or(MISSING)?,
            status: wire.status.unwrap_or_default(),
        })
    }

    /// A status that does not decode is written anew.
    fn salvage(wire: ServiceTrafficWire, defect: &str) -> Result<Self, String> {
        if wire.spec.is_none() { Err(defect.to_owned()) } else { Self::project(wire) }
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }
}
