//! `ServiceCIDR`s: the addresses that a cluster gives to Services.

use fleet_accumulator::{Tracked, wire};
use fleet_api::conditions::{READY, TRUE};
use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_plan::conditions::find;
use k8s_openapi::api::networking::v1 as networking;
use serde::Deserialize;

use super::exports::ConditionsWire;
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
        status: Option<ConditionsWire>,
    }
}

/// The ranges of a `ServiceCIDR`, one of each family at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceCidr {
    /// Those that can be read.
    pub cidrs: Cidrs,
    /// Whether API servers give addresses of them to further Services.
    pub gives: bool,
}

impl Tracked for ServiceCidr {
    const KIND: ResourceKind = kinds::SERVICE_CIDR;
    type Wire = ServiceCidrWire;
    type Index = ();

    fn project(wire: ServiceCidrWire) -> Result<Self, String> {
        let cidrs = wire.spec.unwrap_or_default().cidrs;
        let conditions = wire.status.unwrap_or_default().conditions;
        // Without the condition API servers take it for ready: its controller may not have come to it yet.
        let is_ready = find(&conditions, READY).is_none_or(|ready| ready.status == TRUE);
        Ok(Self {
            cidrs: cidrs.iter().filter_map(|text| text.parse().ok()).collect(),
            gives: is_ready && wire.metadata.deletion_timestamp.is_none(),
        })
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn project(deleted: Option<&str>, conditions: &Value) -> ServiceCidr {
        let object = json!({
            "metadata": { "name": "kubernetes", "deletionTimestamp": deleted },
            "spec": { "cidrs": ["10.96.0.0/16", "no range"] },
            "status": { "conditions": conditions },
        });
        ServiceCidr::project(serde_json::from_value(object).unwrap()).unwrap()
    }

    /// As API servers have it.
    #[test]
    fn a_range_gives_addresses_unless_it_ends_or_is_not_ready() {
        let ready = |status: &str| {
            json!([{
                "type": "Ready", "status": status, "reason": "r", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }])
        };
        for (deleted, conditions, gives) in [
            (None, json!([]), true),
            (None, ready("True"), true),
            (None, ready("False"), false),
            (Some("2026-01-01T00:00:00Z"), ready("True"), false),
        ] {
            let range = project(deleted, &conditions);
            assert_eq!(range.gives, gives, "{deleted:?} {conditions}");
            assert_eq!(range.cidrs.to_string(), "10.96.0.0/16");
        }
    }
}
