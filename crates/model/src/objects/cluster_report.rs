//! ClusterReport.

use fleet_accumulator::{Tracked, Uid, wire};
use fleet_api::limits::report::{CLUSTER_UID, PUBLISHED_TO};
use fleet_api::multicluster::{ClusterReportSpec, ClusterReportStatus};
use fleet_api::{ObjectName, ResourceKind, conditions, kinds};
use fleet_plan::conditions::is;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::missing::MISSING;

wire! {
    /// A ClusterReport on the wire.
    pub struct ClusterReportWire as fleet_api::multicluster::ClusterReport {
        spec: Option<ClusterReportSpec>,
        status: Option<ClusterReportStatus>,
    }
}

/// Which cluster a member is.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterReport {
    /// Uid of the namespace `kube-system` of the member's cluster.
    pub cluster_uid: Uid,
    /// The incarnation of the hub on which all that the member exports by the standard API was complete.
    pub published_to: Option<Box<str>>,
    /// What the hub agent has answered.
    pub incarnation: Option<Box<str>>,
    /// Id of the clusterset, where the hub agent serves the standard API.
    pub clusterset_id: Option<Box<str>>,
    /// Condition `Accepted`, where the hub agent serves the standard API.
    pub conditions: Vec<Condition>,
    /// When the API server stored it.
    pub created: Option<Timestamp>,
    /// Counts changes of the spec.
    pub generation: i64,
    /// Whether it is being deleted.
    pub terminating: bool,
}

impl ClusterReport {
    /// Whether the hub agent has accepted it.
    pub fn is_accepted(&self) -> bool {
        is(&self.conditions, conditions::ACCEPTED, conditions::TRUE)
    }
}

impl Tracked for ClusterReport {
    const KIND: ResourceKind = kinds::CLUSTER_REPORT;
    type Wire = ClusterReportWire;
    type Index = Uid;

    fn project(wire: ClusterReportWire) -> Result<Self, String> {
        let spec = wire.spec.ok_or(MISSING)?;
        let max = CLUSTER_UID.accepted;
        if spec.cluster_uid.len() > max {
            return Err(format!("spec.clusterUid is longer than {max} characters"));
        }
        let status = wire.status.unwrap_or_default();
        // The hub bounds it, too, but a hub is trusted with no more than that: members note it in their own clusters.
        let is_incarnation = |hub: &String| hub.len() <= PUBLISHED_TO.accepted;
        let published = spec.published_to.filter(is_incarnation);
        Ok(Self {
            cluster_uid: spec.cluster_uid.into(),
            published_to: published.map(Into::into),
            incarnation: status.incarnation.filter(is_incarnation).map(Into::into),
            clusterset_id: status.clusterset_id.map(Into::into),
            conditions: status.conditions,
            created: wire.metadata.creation_timestamp.map(|time| time.0),
            generation: wire.metadata.generation.unwrap_or_default(),
            terminating: wire.metadata.deletion_timestamp.is_some(),
        })
    }

    /// A status that does not decode is written anew.
    fn salvage(wire: ClusterReportWire, defect: &str) -> Result<Self, String> {
        if wire.spec.is_none() { Err(defect.to_owned()) } else { Self::project(wire) }
    }

    /// By the cluster that it names, so that one cluster under two names is found.
    fn index(&self, _: &ObjectName) -> Vec<Uid> {
        vec![self.cluster_uid.clone()]
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize as _;
    use serde_json::json;

    use super::*;

    /// It goes on into the Lease of the member's own agents, and a hub can store anything.
    #[test]
    fn an_incarnation_has_its_length() {
        let max = PUBLISHED_TO.accepted;
        for (length, is_kept) in [(max, true), (max + 1, false), (300_000, false)] {
            let incarnation = "x".repeat(length);
            let object = json!({
                "apiVersion": "multicluster.networking.fleet.azure.com/v1alpha1", "kind": "ClusterReport",
                "metadata": { "name": "east", "namespace": "fleet-member-east" },
                "spec": { "clusterUid": "uid", "publishedTo": incarnation },
                "status": { "incarnation": incarnation },
            });
            let report = ClusterReport::project(ClusterReportWire::deserialize(object).unwrap());
            let report = report.unwrap();
            assert_eq!(report.incarnation.is_some(), is_kept, "{length}");
            assert_eq!(report.published_to.is_some(), is_kept, "{length}");
        }
    }
}
