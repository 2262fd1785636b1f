//! Which hub the members talk to: each of them reads it in the status of its ClusterReport, and so can distinguish a hub that
//! was rebuilt from one that was unavailable.

use fleet_api::ObjectName;
use fleet_api::multicluster::ClusterReportStatus;
use fleet_model::steps::HUB;
use fleet_plan::Plan;

use super::keys::Member;
use crate::snapshot::HubSnapshot;

/// The namespace whose uid stands for its cluster: it is created with the cluster, and cannot be deleted.
const OF_CLUSTER: &str = "kube-system";
/// How often the history of this hub has begun anew.
const EPOCH: u64 = 0;

/// Writes the incarnation of the hub into the status of a member's ClusterReport.
pub(super) fn plan(member: &Member, snapshot: &HubSnapshot, plan: &mut Plan) {
    let Some(report) = snapshot.cluster_reports.get(&member.internal()) else { return };
    let Some(hub) = snapshot.namespaces.get(&ObjectName::cluster(OF_CLUSTER)) else { return };
    let incarnation = format!("{}/{EPOCH}", hub.uid);
    if !report.terminating && report.incarnation.as_deref() != Some(incarnation.as_str()) {
        plan.push(HUB.status(
            report,
            &ClusterReportStatus { incarnation: Some(incarnation), ..Default::default() },
        ));
    }
}
