//! `MemberCluster`, by metadata only.

use std::collections::BTreeMap;

use fleet_accumulator::{Tracked, wire};
use fleet_api::membership;
use fleet_api::{ObjectName, ResourceKind, kinds};
use jiff::Timestamp;

wire! {
    /// The metadata of a `MemberCluster`.
    pub struct MemberClusterWire as metadata of membership::MemberCluster {}
}

/// A `MemberCluster`, which exists as long as the cluster is to be a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberCluster {
    /// When an administrator deleted it.
    pub deleted: Option<Timestamp>,
    /// Labels that the hub's administrators gave it, by which offers select members.
    pub labels: BTreeMap<String, String>,
}

impl Tracked for MemberCluster {
    const KIND: ResourceKind = kinds::MEMBER_CLUSTER;
    type Wire = MemberClusterWire;
    type Index = ();

    fn project(wire: MemberClusterWire) -> Result<Self, String> {
        let deleted = wire.metadata.deletion_timestamp.map(|time| time.0);
        Ok(Self { deleted, labels: wire.metadata.labels.unwrap_or_default() })
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }
}
