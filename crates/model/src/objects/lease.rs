//! Leases of other controllers: whether one is running.

use fleet_accumulator::{Tracked, wire};
use fleet_api::{ObjectName, ResourceKind, kinds};
use k8s_openapi::api::coordination::v1::{self as coordination, LeaseSpec};

wire! {
    /// A Lease on the wire.
    pub struct LeaseWire as coordination::Lease {
        spec: Option<LeaseSpec>,
    }
}

/// Whether a Lease is held. Its renewals are no change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Whether it names a holder.
    pub held: bool,
}

impl Tracked for Lease {
    const KIND: ResourceKind = kinds::LEASE;
    type Wire = LeaseWire;
    type Index = ();

    fn project(wire: LeaseWire) -> Result<Self, String> {
        let holder = wire.spec.and_then(|spec| spec.holder_identity);
        Ok(Self { held: holder.is_some_and(|holder| !holder.is_empty()) })
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }
}
