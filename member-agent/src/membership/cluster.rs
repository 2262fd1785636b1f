//! The record of this cluster on the hub, by which a second cluster of the same name is noticed.

use fleet_api::multicluster::ClusterReportSpec;
use fleet_model::objects::ClusterReport;
use fleet_model::steps::{HUB, to_json};
use serde_json::json;

use crate::Identity;
use crate::fence::{Fence, cluster_uid, record_name};
use crate::measurement::Plan;
use crate::snapshot::MemberSnapshot;

/// Records this cluster if none is recorded. The step is the last one of the plan and waits for no other.
pub(super) fn record(identity: &Identity, snapshot: &MemberSnapshot, plan: &mut Plan) {
    if Fence::of(identity, snapshot) != Fence::Free {
        return;
    }
    let Some(uid) = cluster_uid(snapshot) else { return };
    let spec = ClusterReportSpec { cluster_uid: uid.to_string(), published_to: None };
    let body = json!({ "spec": to_json(&spec) });
    plan.push(HUB.create::<ClusterReport>(record_name(identity), body));
}
