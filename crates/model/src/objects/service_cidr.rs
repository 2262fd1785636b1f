//! `ServiceCIDR`s: the addresses that a cluster gives to Services.

use fleet_accumulator::{Tracked, wire};
use fleet_api::{ObjectName, ResourceKind, kinds};
use k8s_openapi::api::networking::v1 as networking;
use serde::Deserialize;

use crate::cidr::Cidrs;

/// The ranges.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ServiceCidrSpecWire {
    cidrs: Vec<String>,
}

wire! {
    /// A ServiceCIDR on the wire.
    pub struct ServiceCidrWire as networking::ServiceCIDR {
        spec: Option<ServiceCidrSpecWire>,
    }
}

/// The ranges of a `ServiceCIDR`, one of each family at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceCidr {
    /// Those that can be read.
    pub cidrs: Cidrs,
}

impl Tracked for ServiceCidr {
    const KIND: ResourceKind = kinds::SERVICE_CIDR;
    type Wire = ServiceCidrWire;
    type Index = ();

    fn project(wire: ServiceCidrWire) -> Result<Self, String> {
        let cidrs = wire.spec.unwrap_or_default().cidrs;
        Ok(Self { cidrs: cidrs.iter().filter_map(|text| text.parse().ok()).collect() })
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }
}
