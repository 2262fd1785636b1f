//! The exports of one Service: which take part, and why the others do not.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::ObjectName;
use fleet_api::names::member_of_namespace;
use fleet_model::multicluster::export::{Export, exported_at};
use fleet_model::multicluster::mode::Mode;
use fleet_model::multicluster::ports::{are_unique, is_valid};
use fleet_model::multicluster::resolution::{InForce, Resolution, resolve};
use fleet_model::objects::by_age;
use fleet_model::objects::multicluster::{ExportedService, ResolvedService};
use fleet_model::objects::{MemberPolicy, PolicyLists};
use fleet_model::precedence::Precedence;
use fleet_plan::deadline::remaining;
use jiff::Timestamp;

use super::evidence::is_being_rebuilt;
use super::places::has_place;
use super::refusal::Refusal;
use crate::Settings;
use crate::snapshot::HubSnapshot;
use crate::verdicts::Verdicts;

/// How old is at most what a hub has brought into force while it is being rebuilt: that lasts for half of this time, and once more for
/// an agent that starts meanwhile.
const YOUNG: Duration = Duration::from_mins(10);

/// The exports of a Service, and what they result in.
#[derive(Debug)]
pub(super) struct Exports<'a> {
    /// All that are not being deleted, and why those are refused that do not count.
    pub(super) all: Vec<(&'a Object<ExportedService>, Option<Refusal>)>,
    /// What is in force, if anything is.
    pub(super) resolution: Option<Resolution>,
    /// The object that states it, the oldest one.
    pub(super) resolved: Option<&'a Object<ResolvedService>>,
    /// Whether there is one that is being deleted, which blocks its successor.
    pub(super) is_blocked: bool,
    /// Other objects about the same Service.
    pub(super) surplus: Vec<&'a Object<ResolvedService>>,
}

/// What becomes of an export.
enum Standing {
    /// It takes part.
    Counts,
    /// It does not yet: the hub agent has not answered the member's ClusterReport.
    Waits,
    /// It does not.
    Refused(Refusal),
}

/// Reads the exports of a Service from a snapshot; the cost depends on their number, not on the size of the fleet.
pub(super) fn of<'a>(
    settings: &Settings,
    service: &ObjectName,
    snapshot: &'a HubSnapshot,
    now: Timestamp,
) -> Exports<'a> {
    let (resolved, surplus) = resolved(service, snapshot);
    let mut present = snapshot.resolved_services.by(service);
    let is_blocked = present.any(|resolved| resolved.meta.is_terminating());
    let mut live: Vec<_> = snapshot.exported_services.by(service).collect();
    live.retain(|export| settings.multicluster == Mode::On && !export.meta.is_terminating());
    live.sort_by(|a, b| by_age(a, b));
    let (mut all, mut counting) = (Vec::new(), Vec::new());
    let mut members = BTreeSet::new();
    let verdicts = Verdicts::of(settings, snapshot);
    for export in live {
        let member = member_of_namespace(&export.name.namespace);
        let standing = match member {
            Some(member) if !members.insert(member) => Standing::Refused(Refusal::Duplicate),
            Some(member) => standing(settings, service, member, export, resolved, snapshot),
            None => Standing::Refused(Refusal::NoMember),
        };
        if let (Some(member), Standing::Counts) = (member, &standing) {
            counting.push(of_member(member, export, verdicts.precedence(member)));
        }
        all.push((export, standing.refusal()));
    }
    let in_force = resolved.filter(|resolved| !resolved.is_withdrawn());
    let in_force = in_force.map(|resolved| InForce {
        properties: &resolved.properties,
        exporters: &resolved.exporters,
        is_provisional: is_provisional(resolved, &counting, snapshot, now),
    });
    let resolution = resolve(service, &counting, in_force);
    refuse_without_room(resolution.as_ref(), &mut all);
    Exports { all, resolution, resolved, is_blocked, surplus }
}

impl Standing {
    fn refusal(self) -> Option<Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            Self::Counts | Self::Waits => None,
        }
    }
}

/// Whether what is in force was decided without an export that arrives now, on a hub that is being rebuilt: which exports are fastest to
/// come back must not decide about addresses that importers have. What a restored hub has from its backup was decided by all.
fn is_provisional(
    resolved: &Object<ResolvedService>,
    exports: &[Export<'_>],
    snapshot: &HubSnapshot,
    now: Timestamp,
) -> bool {
    let arrives = |export: &Export<'_>| resolved.exporter(export.cluster).is_none();
    let is_young = resolved.meta.created.and_then(|since| remaining(since, YOUNG, now)).is_some();
    is_young && is_being_rebuilt(snapshot) && exports.iter().any(arrives)
}

fn of_member<'a>(
    member: &'a str,
    export: &'a Object<ExportedService>,
    precedence: Precedence,
) -> Export<'a> {
    Export {
        cluster: member,
        since: exported_at(export.export_created, export.meta.created),
        precedence,
        properties: Cow::Borrowed(&export.properties),
    }
}

/// The object about a Service, the oldest one, and others.
fn resolved<'a>(
    service: &ObjectName,
    snapshot: &'a HubSnapshot,
) -> (Option<&'a Object<ResolvedService>>, Vec<&'a Object<ResolvedService>>) {
    let all = snapshot.resolved_services.by(service);
    let mut all: Vec<_> = all.filter(|resolved| !resolved.meta.is_terminating()).collect();
    all.sort_by(|a, b| by_age(a, b));
    let mut all = all.into_iter();
    (all.next(), all.collect())
}

fn standing(
    settings: &Settings,
    service: &ObjectName,
    member: &str,
    export: &Object<ExportedService>,
    resolved: Option<&Object<ResolvedService>>,
    snapshot: &HubSnapshot,
) -> Standing {
    let in_force = resolved.is_some_and(|resolved| resolved.exporter(member).is_some());
    let refusal = if let Some(defect) = &export.unreadable {
        Some(Refusal::Unreadable(defect.to_string()))
    } else if let Some(excess) = &export.excess {
        Some(Refusal::Excess(excess.to_string()))
    } else if !export.properties.ports.iter().all(is_valid) {
        Some(Refusal::PortsInvalid)
    } else if !are_unique(&export.properties.ports) {
        Some(Refusal::PortsNotUnique)
    } else if settings.denied_namespaces.include(&service.namespace) && !in_force {
        Some(Refusal::NamespaceDenied)
    } else if settings.enforce_member_policies && !permits(export, service, snapshot) {
        Some(Refusal::PolicyDenied)
    } else if !in_force && !has_place(settings, export, snapshot) {
        Some(Refusal::NoPlace(settings.max_services_per_member))
    } else {
        None
    };
    refusal.map_or_else(|| of_cluster(member, export, in_force, snapshot), Standing::Refused)
}

/// Whether the hub agent has accepted the cluster. One that is in force stays while its report is missing: an accident must not
/// take endpoints away.
fn of_cluster(
    member: &str,
    export: &Object<ExportedService>,
    in_force: bool,
    snapshot: &HubSnapshot,
) -> Standing {
    let report = ObjectName::new(export.name.namespace.clone(), member);
    let report = snapshot.cluster_reports.get(&report);
    let accepted = report.is_some_and(|report| report.is_accepted());
    if in_force || accepted { Standing::Counts } else { Standing::Waits }
}

/// Whether the policy of its member lists the Service. One that is missing or cannot be read forbids nothing, as for the exports
/// of the other API.
fn permits(export: &Object<ExportedService>, service: &ObjectName, snapshot: &HubSnapshot) -> bool {
    let policy = MemberPolicy::in_namespace(&export.name.namespace);
    let policy = snapshot.member_policies.get(&policy);
    let lists = |lists: &PolicyLists| lists.exports.includes(service);
    policy.and_then(|policy| policy.lists.as_ref().ok()).is_none_or(lists)
}

fn refuse_without_room(
    resolution: Option<&Resolution>,
    all: &mut [(&Object<ExportedService>, Option<Refusal>)],
) {
    let Some(refused) = resolution.map(|resolution| &resolution.refused) else { return };
    for (export, refusal) in all.iter_mut().filter(|(_, refusal)| refusal.is_none()) {
        let member = member_of_namespace(&export.name.namespace);
        if member.is_some_and(|member| refused.contains(member)) {
            *refusal = Some(Refusal::NoRoom);
        }
    }
}
