//! The status of a policy.

use fleet_accumulator::Object;
use fleet_api::conditions;
use fleet_api::traffic::{ClusterTraffic, ServiceTrafficStatus};
use fleet_model::objects::traffic::ServiceTraffic;
use fleet_model::steps::LOCAL;
use fleet_plan::Step;
use fleet_plan::conditions::{Wanted, apply};
use jiff::Timestamp;

use crate::traffic::Report;

/// The agent has read the policy.
const ACCEPTED: &str = "Accepted";
/// It is in force as it stands.
const EFFECTIVE: &str = "Effective";

/// Writes the status, if what matters of it has changed. Without a report the Service is not imported here.
pub(super) fn write(
    policy: &Object<ServiceTraffic>,
    report: Option<Report>,
    now: Timestamp,
) -> Option<Step> {
    let current = &policy.status;
    let wanted = [accepted(policy), effective(policy, report.as_ref())];
    let changed = apply(&current.conditions, wanted, now);
    let report = report.unwrap_or_default();
    let is_same = same_shares(&current.clusters, &report.clusters)
        && current.served_by == Some(report.served_by)
        && current.local_endpoints == report.local
        && current.sources == report.sources;
    if changed.is_none() && is_same {
        return None;
    }
    let status = ServiceTrafficStatus {
        clusters: report.clusters,
        served_by: Some(report.served_by),
        local_endpoints: report.local,
        sources: report.sources,
        conditions: changed.unwrap_or_else(|| current.conditions.clone()),
    };
    Some(LOCAL.status(policy, &status))
}

/// Numbers of endpoints alone are no reason to write.
fn same_shares(a: &[ClusterTraffic], b: &[ClusterTraffic]) -> bool {
    let plain = |row: &ClusterTraffic| ClusterTraffic { ready: 0, used: 0, ..row.clone() };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| plain(a) == plain(b))
}

fn accepted(policy: &ServiceTraffic) -> Wanted {
    Wanted {
        type_: ACCEPTED,
        status: conditions::TRUE.to_owned(),
        reason: ACCEPTED.to_owned(),
        message: "the policy can be applied".to_owned(),
        generation: policy.generation,
    }
}

fn effective(policy: &ServiceTraffic, report: Option<&Report>) -> Wanted {
    let limit = report.map(|report| report.limit);
    let (status, reason, message) = match limit {
        None => (
            conditions::UNKNOWN,
            "NotImported",
            "no Service of this name is imported into this cluster",
        ),
        Some(None) => (conditions::TRUE, EFFECTIVE, "the policy is in force"),
        Some(Some(limit)) => (conditions::FALSE, limit.as_str(), limit.message()),
    };
    Wanted {
        type_: EFFECTIVE,
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        generation: policy.generation,
    }
}
