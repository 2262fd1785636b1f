//! What the hub answers to the ClusterReport of a member: which hub it is, so that members can distinguish a hub that was rebuilt
//! from one that was unavailable; and, where the hub agent serves the standard API, whether the member may take part in that.

use fleet_accumulator::{Object, Uid};
use fleet_api::conditions::{ACCEPTED, FALSE, TRUE, standard};
use fleet_api::multicluster::ClusterReportStatus;
use fleet_api::names::member_of_namespace;
use fleet_api::{ObjectName, events};
use fleet_model::incarnation::Incarnation;
use fleet_model::multicluster::mode::Mode;
use fleet_model::objects::ClusterReport;
use fleet_model::objects::traffic::FleetTraffic;
use fleet_model::steps::HUB;
use fleet_plan::Plan;
use fleet_plan::conditions::{Wanted, apply};
use jiff::Timestamp;

use super::keys::Member;
use crate::Settings;
use crate::incarnation;
use crate::snapshot::HubSnapshot;

/// Writes the status of a member's ClusterReport, and of those that bear another name than the member.
pub(super) fn plan(
    settings: &Settings,
    member: &Member,
    snapshot: &HubSnapshot,
    now: Timestamp,
    plan: &mut Plan,
) {
    let Some(hub) = incarnation::cluster(snapshot) else { return };
    let all = snapshot.cluster_reports.in_namespace(&member.namespace());
    for report in all.filter(|report| !report.terminating) {
        let of_member = *report.name.name == *member.0;
        if of_member || settings.multicluster != Mode::Off {
            let incarnation = incarnation(hub, report, snapshot);
            let wanted = status(settings, report, &incarnation, snapshot, now);
            if wanted != present(report) {
                plan.push(HUB.status(report, &wanted));
            }
            if settings.multicluster != Mode::Off {
                report_twin(report, snapshot, plan);
            }
        }
    }
}

/// The incarnation of the hub. The epoch is that of the `FleetTraffic`; where there is none any more, a member keeps what it was
/// answered, so that the loss of that object is not taken for that of the hub.
fn incarnation(hub: &Uid, report: &ClusterReport, snapshot: &HubSnapshot) -> String {
    let fleet = FleetTraffic::of(&snapshot.fleet_traffics);
    let answered = report.incarnation.as_deref().and_then(Incarnation::parse);
    let answered = answered.and_then(|answered| answered.epoch_of(&hub.to_string()));
    let epoch = fleet.map(|fleet| fleet.status.epoch).or(answered).unwrap_or_default();
    incarnation::of(hub, epoch)
}

/// What the status is in the mode of the agent. Without the standard API only the name of the hub is looked at. While it is
/// withdrawn, members are answered as before: they believe what is withdrawn only on a hub that has accepted them.
fn status(
    settings: &Settings,
    report: &Object<ClusterReport>,
    incarnation: &str,
    snapshot: &HubSnapshot,
    now: Timestamp,
) -> ClusterReportStatus {
    let incarnation = Some(incarnation.to_owned());
    match settings.multicluster {
        Mode::Off if incarnation.as_deref() == report.incarnation.as_deref() => present(report),
        Mode::Off => ClusterReportStatus { incarnation, ..Default::default() },
        Mode::On | Mode::CleanUp => {
            let wanted = accepted(report, snapshot);
            let conditions = apply(&report.conditions, [wanted], now);
            ClusterReportStatus {
                incarnation,
                clusterset_id: Some(settings.clusterset_id.clone()),
                conditions: conditions.unwrap_or_else(|| report.conditions.clone()),
            }
        }
    }
}

fn present(report: &ClusterReport) -> ClusterReportStatus {
    let text = |text: &Option<Box<str>>| text.as_deref().map(str::to_owned);
    ClusterReportStatus {
        incarnation: text(&report.incarnation),
        clusterset_id: text(&report.clusterset_id),
        conditions: report.conditions.clone(),
    }
}

/// Whether the member may take part. Its namespace proves which member it is, and what is pinned there, which cluster. What
/// another member states about itself takes nothing from it: anyone can state the uid of another cluster.
fn accepted(report: &Object<ClusterReport>, snapshot: &HubSnapshot) -> Wanted {
    let (status, reason, message) = if !is_of_member(&report.name) {
        let message = "The report has another name than the member that its namespace belongs to";
        (FALSE, standard::NAMESPACE_MISMATCH, message.to_owned())
    } else if let Some(twin) = twin(report, snapshot) {
        let message = format!(
            "The member takes part, and so does {twin}, whose report names the same cluster. If both are one cluster, remove \
             one of them with fleetctl leave"
        );
        (TRUE, standard::DUPLICATE_CLUSTER, message)
    } else {
        (TRUE, standard::ACCEPTED, "The member takes part".to_owned())
    };
    Wanted {
        type_: ACCEPTED,
        status: status.to_owned(),
        reason: reason.to_owned(),
        message,
        generation: report.generation,
    }
}

/// Reports that another member states to be the same cluster: by accident, or by intent of either.
fn report_twin(report: &Object<ClusterReport>, snapshot: &HubSnapshot, plan: &mut Plan) {
    if let Some(twin) = twin(report, snapshot).filter(|_| is_of_member(&report.name)) {
        let note = format!("the member {twin} states to be the same cluster");
        plan.events.push(HUB.warning(report, events::DUPLICATE_CLUSTER, note));
    }
}

/// Another member whose report names the same cluster, the first by name.
fn twin<'a>(report: &Object<ClusterReport>, snapshot: &'a HubSnapshot) -> Option<&'a str> {
    let all = snapshot.cluster_reports.by(&report.cluster_uid);
    let others = all.filter(|other| {
        !other.terminating && is_of_member(&other.name) && other.name != report.name
    });
    others.map(|other| &*other.name.name).min()
}

fn is_of_member(name: &ObjectName) -> bool {
    member_of_namespace(&name.namespace) == Some(&*name.name)
}
