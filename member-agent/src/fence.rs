//! Whether this cluster is the one that the hub knows by the member's name.
//!
//! The first cluster of a name records itself in a `ClusterReport`: the uid of its namespace `kube-system`. A second
//! cluster with the same name and credentials finds another uid there, and its agent writes nothing of the fleet: without
//! that, each of the two would delete what the other one exports.

use std::fmt;

use fleet_accumulator::{SourceSet, SourceState, Uid};
use fleet_api::ObjectName;

use crate::Identity;
use crate::snapshot::MemberSnapshot;

/// The namespace whose uid stands for its cluster: it is created with the cluster, and cannot be deleted.
const OF_CLUSTER: &str = "kube-system";

/// What the hub has recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fence {
    /// It is not known yet.
    Unknown,
    /// No cluster is recorded.
    Free,
    /// This cluster.
    Ours,
    /// No cluster can be recorded, for this reason. A second cluster of this name would not be noticed.
    Unrecorded(Unrecorded),
    /// Another cluster.
    Taken(Taken),
}

/// Why no cluster can be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unrecorded {
    /// This cluster has no namespace `kube-system`.
    NoUid,
    /// The definitions of the hub are older than the kind.
    NotServed,
    /// The member's role on the hub is older than the kind.
    Forbidden,
    /// The record cannot be decoded.
    Undecodable,
}

impl fmt::Display for Unrecorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoUid => "this cluster has no namespace kube-system",
            Self::NotServed => "the hub does not serve ClusterReports",
            Self::Forbidden => "the hub does not let this member list its ClusterReport",
            Self::Undecodable => "the ClusterReport on the hub cannot be decoded",
        })
    }
}

/// Two clusters of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The name.
    pub member: Box<str>,
    /// Uid of this cluster.
    pub own: Uid,
    /// Uid of the recorded cluster.
    pub recorded: Uid,
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { member, own, recorded } = self;
        write!(
            f,
            "the hub has recorded another cluster as {member} (uid {recorded}, here {own}); if this one is to replace it, \
             run fleetctl join {member} --replace"
        )
    }
}

impl Fence {
    /// Every value of [`as_str`](Self::as_str).
    pub const NAMES: [&'static str; 5] = ["unknown", "free", "ours", "unrecorded", "taken"];

    /// What a snapshot shows.
    ///
    /// A record that was seen counts for as long as the hub does not show another one or none: also while the hub is
    /// unavailable, and after the right to read it was taken away.
    pub fn of(identity: &Identity, snapshot: &MemberSnapshot) -> Self {
        if !snapshot.namespaces.bootstrapped() {
            return Self::Unknown;
        }
        let Some(own) = cluster_uid(snapshot) else { return Self::Unrecorded(Unrecorded::NoUid) };
        match snapshot.cluster_reports.get(&record_name(identity)) {
            Some(record) if record.cluster_uid == *own => Self::Ours,
            Some(record) => Self::Taken(Taken {
                member: identity.cluster.as_str().into(),
                own: own.clone(),
                recorded: record.cluster_uid.clone(),
            }),
            None => Self::without_record(identity, snapshot),
        }
    }

    fn without_record(identity: &Identity, snapshot: &MemberSnapshot) -> Self {
        let reports = &snapshot.cluster_reports;
        let name = record_name(identity);
        match reports.state() {
            SourceState::Missing { .. } => Self::Unrecorded(Unrecorded::NotServed),
            SourceState::Forbidden { .. } => Self::Unrecorded(Unrecorded::Forbidden),
            _ if reports.defect(&name).is_some() => Self::Unrecorded(Unrecorded::Undecodable),
            _ if reports.bootstrapped() => Self::Free,
            _ => Self::Unknown,
        }
    }

    /// Label value in metrics.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Free => "free",
            Self::Ours => "ours",
            Self::Unrecorded(_) => "unrecorded",
            Self::Taken(_) => "taken",
        }
    }
}

/// What a fence is computed from.
pub(crate) fn sources() -> SourceSet {
    SourceSet::from([MemberSnapshot::namespaces(), MemberSnapshot::cluster_reports()])
}

/// Name of the record on the hub.
pub(crate) fn record_name(identity: &Identity) -> ObjectName {
    ObjectName::new(identity.hub_namespace.as_str(), identity.cluster.as_str())
}

/// What stands for this cluster.
pub(crate) fn cluster_uid(snapshot: &MemberSnapshot) -> Option<&Uid> {
    snapshot.namespaces.get(&ObjectName::cluster(OF_CLUSTER)).map(|namespace| &namespace.uid)
}
