//! ClusterReport.

use fleet_accumulator::{Tracked, Uid, wire};
use fleet_api::limits::report::CLUSTER_UID;
use fleet_api::multicluster::{ClusterReportSpec, ClusterReportStatus};
use fleet_api::{ObjectName, ResourceKind, kinds};

use super::missing::MISSING;

wire! {
    /// A ClusterReport on the wire.
    pub struct ClusterReportWire as fleet_api::multicluster::ClusterReport {
        spec: Option<ClusterReportSpec>,
        status: Option<ClusterReportStatus>,
    }
}

/// Which cluster a member is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterReport {
    /// Uid of the namespace `kube-system` of the member's cluster.
    pub cluster_uid: Uid,
    /// What the hub agent has answered.
    pub incarnation: Option<Box<str>>,
    /// Whether it is being deleted.
    pub terminating: bool,
}

impl Tracked for ClusterReport {
    const KIND: ResourceKind = kinds::CLUSTER_REPORT;
    type Wire = ClusterReportWire;
    type Index = ();

    fn project(wire: ClusterReportWire) -> Result<Self, String> {
        let spec = wire.spec.ok_or(MISSING)?;
        let max = CLUSTER_UID.accepted;
        if spec.cluster_uid.len() > max {
            return Err(format!("spec.clusterUid is longer than {max} characters"));
        }
        let incarnation = wire.status.unwrap_or_default().incarnation;
        Ok(Self {
            cluster_uid: spec.cluster_uid.into(),
            incarnation: incarnation.map(Into::into),
            terminating: wire.metadata.deletion_timestamp.is_some(),
        })
    }

    /// A status that does not decode is written anew.
    fn salvage(wire: ClusterReportWire, defect: &str) -> Result<Self, String> {
        if wire.spec.is_none() { Err(defect.to_owned()) } else { Self::project(wire) }
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }
}
