//! The Lease that shows the hub that a member works.

use std::collections::BTreeMap;

use fleet_accumulator::{Tracked, wire};
use fleet_api::limits::report::PUBLISHED_TO;
use fleet_api::traffic::{
    APPLIED, PROPERTIES, PUBLISHED, PUBLISHED_SLICES, WENT_BACK, own_properties,
};
use fleet_api::{ObjectName, ResourceKind, kinds};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{self as coordination, LeaseSpec};

wire! {
    /// A Lease `fleet-member` on the wire.
    pub struct MemberLeaseWire as coordination::Lease {
        spec: Option<LeaseSpec>,
    }
}

/// What the agents read of the Lease of a member. Labels, annotations and what others write beside it are no renewal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberLease {
    /// When the member renewed it, by the member's clock. That it changes counts, not its value.
    pub renewed: Option<Timestamp>,
    /// The serial up to which the member has applied every `MemberTraffic`; `None` if it applies none.
    pub applied: Option<i64>,
    /// Properties that the member has set itself.
    pub properties: BTreeMap<String, String>,
    /// The incarnation of the hub that has all that the member exports; empty if none has, `None` if it does not report that.
    pub published: Option<Box<str>>,
    /// How many exported slices it has there; `None` if it does not report that.
    pub published_slices: Option<usize>,
    /// The incarnation of the hub that it had seen before the API server went back in its history.
    pub went_back: Option<Box<str>>,
}

impl Tracked for MemberLease {
    const KIND: ResourceKind = kinds::LEASE;
    // `fleet_api::names::MEMBER_LEASE`.
    const FIELDS: Option<&'static str> = Some("metadata.name=fleet-member");
    type Wire = MemberLeaseWire;
    type Index = ();

    fn project(wire: MemberLeaseWire) -> Result<Self, String> {
        let renewed = wire.spec.and_then(|spec| spec.renew_time);
        let noted = wire.metadata.annotations.unwrap_or_default();
        let applied = noted.get(APPLIED).and_then(|serial| serial.parse().ok());
        let properties = noted.get(PROPERTIES).map(|all| own_properties(all)).unwrap_or_default();
        let incarnation = |name: &str| -> Option<Box<str>> {
            let text = noted.get(name).filter(|text| text.len() <= PUBLISHED_TO.accepted)?;
            Some(text.as_str().into())
        };
        Ok(Self {
            renewed: renewed.map(|time| time.0),
            applied,
            properties,
            published: incarnation(PUBLISHED),
            published_slices: noted.get(PUBLISHED_SLICES).and_then(|count| count.parse().ok()),
            went_back: incarnation(WENT_BACK),
        })
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use fleet_api::names::MEMBER_LEASE;
    use serde::Deserialize as _;
    use serde_json::{Value, json};

    use super::*;

    fn read(object: Value) -> MemberLease {
        MemberLease::project(MemberLeaseWire::deserialize(object).unwrap()).unwrap()
    }

    #[test]
    fn only_leases_of_that_name_are_read() {
        assert_eq!(MemberLease::FIELDS.unwrap(), format!("metadata.name={MEMBER_LEASE}"));
    }

    #[test]
    fn a_renewal_is_a_change_and_a_note_is_none() {
        let renewed = |time: &str, note: &str| {
            read(json!({
                "metadata": { "name": "fleet-member", "annotations": { "note": note } },
                "spec": { "holderIdentity": "east", "renewTime": time },
            }))
        };
        let first = renewed("2026-05-06T07:08:09.000000Z", "one");
        assert_eq!(first, renewed("2026-05-06T07:08:09.000000Z", "two"));
        assert_ne!(first, renewed("2026-05-06T07:08:09.000001Z", "one"));
        // The clock of the member was set back.
        assert_ne!(first, renewed("2025-05-06T07:08:09.000000Z", "one"));
        assert_eq!(read(json!({ "metadata": { "name": "fleet-member" } })).renewed, None);
    }

    #[test]
    fn what_the_member_has_applied_comes_with_it() {
        let noted = |annotations: Value| {
            read(json!({ "metadata": { "name": "fleet-member", "annotations": annotations } }))
        };
        assert_eq!(noted(json!({ APPLIED: "7" })).applied, Some(7));
        assert_eq!(noted(json!({ APPLIED: "many" })).applied, None);
        let region = r#"{ "topology.kubernetes.io/region": "north", "tier": "gold" }"#;
        let lease = noted(json!({ PROPERTIES: region }));
        assert_eq!(lease.properties["topology.kubernetes.io/region"], "north");
        assert_eq!((lease.properties.len(), lease.applied), (1, None));
        assert_eq!((&lease.published, &lease.went_back), (&None, &None));
        assert_eq!(noted(json!({ PUBLISHED_SLICES: "2" })).published_slices, Some(2));
        assert_eq!(noted(json!({ PUBLISHED_SLICES: "-2" })).published_slices, None);
        let lease = noted(json!({ PUBLISHED: "", WENT_BACK: "hub/0" }));
        assert_eq!(
            (lease.published.as_deref(), lease.went_back.as_deref()),
            (Some(""), Some("hub/0"))
        );
        assert_eq!(noted(json!({ PUBLISHED: "x".repeat(81) })).published, None);
    }
}
