//! One Pod: from its export to its import, and back.

use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::names::{member_namespace, member_of_namespace};
use fleet_api::offload::{LinkState, PodExportStatus, Refusal};
use fleet_api::{ObjectName, finalizers};
use fleet_model::namespaces::namespace_accepts_objects;
use fleet_model::objects::offload::{Hearing, PodExport, PodImport};
use fleet_model::steps::HUB;
use fleet_plan::Plan;
use fleet_virtual_node::hub::{Destination, HubAction, HubExport, hand_over, stop_import};
use fleet_virtual_node::names;
use fleet_virtual_node::pod::Rejection;
use jiff::Timestamp;

use super::import::{hub_import, is_over, silent_for_good, takes_place};
use super::{members, orphan, steps};
use crate::snapshot::HubSnapshot;

/// Pods of one origin that an executor has at most: as many as an offer can state.
const MOST_PODS: i64 = 500;

/// How long the end of a Pod waits, on a hub that was built anew, for an executor that is not on it yet.
const RETURN: Duration = Duration::from_hours(24);

pub(super) fn plan(
    origin: &str,
    uid: &str,
    snapshot: &HubSnapshot,
    now: Timestamp,
    plan: &mut Plan,
) {
    let export = snapshot.pod_exports.get(&ObjectName::new(member_namespace(origin), uid));
    let place = export.map(|export| {
        ObjectName::new(member_namespace(&export.spec.executor), names::import(origin, uid))
    });
    for import in snapshot.pod_imports.by(&ObjectName::new(origin, uid)) {
        if is_left_behind(import, snapshot) {
            plan.steps.extend(HUB.remove_finalizer(import, finalizers::POD_IMPORT));
            return;
        }
        // The executor of an export does not change: another one had an earlier export.
        if place.as_ref() != Some(&import.name) {
            orphan::plan(import, snapshot, now, plan);
        }
    }
    if let (Some(export), Some(place)) = (export, place) {
        carry(origin, export, &place, snapshot, now, plan);
    }
}

/// Whether the executor has left the fleet without releasing it: its namespace is being deleted, and it renews no Lease.
fn is_left_behind(import: &Object<PodImport>, snapshot: &HubSnapshot) -> bool {
    let namespace = snapshot.namespaces.get(&ObjectName::cluster(&*import.name.namespace));
    let ends = namespace.is_some_and(|namespace| namespace.terminating);
    let executor = member_of_namespace(&import.name.namespace).unwrap_or_default();
    let heard = snapshot.hearing.get(&Hearing::name(executor));
    let is_heard = heard.is_some_and(|heard| heard.state == LinkState::Connected);
    ends && import.meta.is_terminating() && !is_heard
}

fn carry(
    origin: &str,
    export: &Object<PodExport>,
    place: &ObjectName,
    snapshot: &HubSnapshot,
    now: Timestamp,
    plan: &mut Plan,
) {
    if let Some(defect) = export.unreadable.as_ref().filter(|_| !export.meta.is_terminating()) {
        return refuse(export, defect, plan);
    }
    let import = snapshot.pod_imports.get(place);
    let seen = HubExport {
        cluster: origin.to_owned(),
        spec: (*export.spec).clone(),
        status: export.status.clone(),
        deleting: export.meta.is_terminating(),
    };
    let known = import.map(hub_import);
    let mut to = destination(origin, export, place, snapshot);
    to.is_given_up |= has_left(export, to.node.is_some(), snapshot, now, plan);
    let mut actions = hand_over(Some(&seen), known.as_ref(), &to, now);
    if let (Some(import), Some(known)) = (import, &known)
        && !seen.deleting
        && silent_for_good(origin, import, snapshot, now, plan)
    {
        actions.retain(|action| !matches!(action, HubAction::Update(_)));
        actions.extend(stop_import(known, now));
    }
    for action in actions {
        match (&action, import) {
            (HubAction::Import(spec), None)
                if namespace_accepts_objects(&snapshot.namespaces, &place.namespace) =>
            {
                plan.push(steps::create(place.clone(), spec, &export.name.namespace));
            }
            (HubAction::Report(_) | HubAction::Release, _) => {
                steps::of_export(export, (place, import.is_some()), action, plan);
            }
            (_, Some(import)) => {
                if let Some(step) = steps::of_import(import, action) {
                    plan.push(step.on_account_of(&export.name.namespace));
                }
            }
            _ => {}
        }
    }
}

/// An export that cannot be decoded, as one of a newer agent.
fn refuse(export: &Object<PodExport>, defect: &str, plan: &mut Plan) {
    let rejection = Rejection::new(Refusal::InvalidValue, format!("spec: {defect}"));
    let rejected = Some(rejection.report(""));
    let status = PodExportStatus { rejected, ..export.status.clone() }.bounded();
    if status != export.status {
        plan.push(HUB.status(export, &status));
    }
}

/// Imports that an executor has Pods for, or is to have, of all origins: it offers one capacity to all.
fn places_taken(executor: &str, snapshot: &HubSnapshot) -> i64 {
    let imports = snapshot.pod_imports.in_namespace(executor);
    number(imports.filter(|import| takes_place(import)).count())
}

/// All imports of an origin that an executor has.
fn imports_of(origin: &str, executor: &str, snapshot: &HubSnapshot) -> i64 {
    let all = snapshot.pod_imports.by(&ObjectName::cluster(origin));
    number(all.filter(|import| *import.name.namespace == *executor).count())
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Whether the executor of an export has left the fleet, as it has no namespace. A Pod that ran on another hub, and is not known to run on
/// this, may be of one that is on the way back, or whose offer is: a day is time for that, and as long as its agent is away.
fn has_left(
    export: &Object<PodExport>,
    has_node: bool,
    snapshot: &HubSnapshot,
    now: Timestamp,
    plan: &mut Plan,
) -> bool {
    let ran_elsewhere = export.spec.resumed && !export.status.accepted;
    let is_member = members::has_namespace(&export.spec.executor, snapshot);
    let hearing = || snapshot.hearing.get(&Hearing::name(&export.spec.executor));
    let is_back = || hearing().is_some_and(|heard| heard.state == LinkState::Connected);
    if is_member && (has_node || !ran_elsewhere || !is_back()) {
        return false;
    }
    let since = export.meta.deleted.filter(|_| ran_elsewhere);
    since.is_none_or(|since| is_over(since, RETURN, now, plan))
}

fn destination<'a>(
    origin: &str,
    export: &Object<PodExport>,
    place: &ObjectName,
    snapshot: &'a HubSnapshot,
) -> Destination<'a> {
    let executor = export.spec.executor.as_str();
    let node = ObjectName::new(export.name.namespace.clone(), executor);
    let node = snapshot.virtual_nodes.get(&node);
    // Only a Pod that has no import yet is counted against.
    let is_new = snapshot.pod_imports.get(place).is_none();
    let most = node.map_or(0, |node| node.object.spec.capacity.pods);
    let abandoned = node.is_some_and(|node| node.object.status.abandoned);
    Destination {
        node: node.map(|node| &node.object.spec),
        is_full: is_new && places_taken(&place.namespace, snapshot) >= most,
        is_crowded: is_new && imports_of(origin, &place.namespace, snapshot) >= MOST_PODS,
        is_given_up: abandoned,
    }
}
