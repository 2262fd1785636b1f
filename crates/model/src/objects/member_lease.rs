//! The Lease that shows the hub that a member works.

use fleet_accumulator::{Tracked, wire};
use fleet_api::{ObjectName, ResourceKind, kinds};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{self as coordination, LeaseSpec};

wire! {
    /// A Lease `fleet-member` on the wire.
    pub struct MemberLeaseWire as coordination::Lease {
        spec: Option<LeaseSpec>,
    }
}

/// What a renewal changes in the Lease of a member. Labels, annotations and what others write beside it are no renewal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberLease {
    /// When the member renewed it, by the member's clock. That it changes counts, not its value.
    pub renewed: Option<Timestamp>,
}

impl Tracked for MemberLease {
    const KIND: ResourceKind = kinds::LEASE;
    // `fleet_api::names::MEMBER_LEASE`.
    const FIELDS: Option<&'static str> = Some("metadata.name=fleet-member");
    type Wire = MemberLeaseWire;
    type Index = ();

    fn project(wire: MemberLeaseWire) -> Result<Self, String> {
        let renewed = wire.spec.and_then(|spec| spec.renew_time);
        Ok(Self { renewed: renewed.map(|time| time.0) })
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
}
