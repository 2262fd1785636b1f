//! The MultiClusterServices themselves: their finalizer and labels, and how they are released.

use fleet_api::{ObjectName, events, finalizers, labels};
use fleet_model::objects::{HasMeta, Service, ServiceImport};
use fleet_model::steps::LOCAL;
use fleet_plan::json_patch::{add_finalizer, set_entries};
use fleet_plan::{Event, StepId};
use jiff::Timestamp;

use super::refusal::Refusal;
use super::stages::{Import, Prepared};
use super::state::{Mcs, ServiceState, derived_of};
use super::{choose, status};
use crate::Identity;
use crate::measurement::Plan;
use crate::phase::Phase;
use crate::snapshot::MemberSnapshot;

/// Adds finalizer and labels in one write, before any effect.
pub(super) fn prepare(state: &ServiceState<'_>, holder: &Mcs, plan: &mut Plan) -> Prepared {
    let derived = choose::derived_name(state, holder);
    let derived_label = derived.as_ref().map(|name| &*name.name);
    let mut operations = add_finalizer(&holder.meta, finalizers::MULTI_CLUSTER_SERVICE);
    let wanted = [
        (labels::SERVICE_IMPORT, Some(&*state.service.name)),
        (labels::DERIVED_SERVICE, derived_label),
    ];
    operations.extend(set_entries(&holder.meta, "labels", &wanted));
    let seen = holder.meta.label(labels::DERIVED_SERVICE);
    let tampered = seen.filter(|seen| Some(*seen) != derived_label);
    plan.events.extend(tampered.map(|seen| label_rewritten(holder, seen)));
    let write = (!operations.is_empty()).then(|| plan.push(LOCAL.patch(holder, operations)));
    Prepared { derived, write }
}

fn label_rewritten(holder: &Mcs, seen: &str) -> Event {
    let note =
        format!("corrected label {}: {seen:?} is not its derived service", labels::DERIVED_SERVICE);
    LOCAL.warning(holder, events::DERIVED_SERVICE_LABEL_REWRITTEN, note)
}

/// Withdraws everything from the MultiClusterServices that name the Service but do not hold its import.
pub(super) fn withdraw_others(
    state: &ServiceState<'_>,
    holder: Option<&Mcs>,
    import: &Import,
    plan: &mut Plan,
) {
    for mcs in &state.multi_cluster_services {
        if holder.is_some_and(|holder| holder.uid == mcs.uid) {
            continue;
        }
        let deleted = delete_derived(&state.derived_of(mcs), plan);
        if mcs.meta.is_terminating() || state.refusal == Some(Refusal::Left) {
            release(state.identity, mcs, state.snapshot, deleted, import, plan);
        }
        if state.refusal == Some(Refusal::Leaving) {
            delete(mcs, plan);
        } else if !mcs.meta.is_terminating() {
            status::idle(state, mcs, holder, plan);
        }
    }
    delete_derived(&state.orphans(), plan);
}

/// Plans a MultiClusterService that names no Service.
pub(super) fn plan(
    identity: &Identity,
    name: &ObjectName,
    snapshot: &MemberSnapshot,
    now: Timestamp,
) -> Plan {
    let mut plan = Plan::default();
    let mcs = snapshot.multi_cluster_services.get(name);
    let Some(mcs) = mcs.filter(|mcs| mcs.imports(&mcs.name.namespace).is_none()) else {
        return plan;
    };
    let deleted = delete_derived(&derived_of(identity, mcs, snapshot), &mut plan);
    let phase = Phase::of(identity, snapshot);
    if mcs.meta.is_terminating() {
        release(identity, mcs, snapshot, deleted, &Import::default(), &mut plan);
    } else if phase == Phase::Leaving {
        delete(mcs, &mut plan);
    } else {
        status::names_nothing(mcs, now, &mut plan);
    }
    plan
}

/// Deletes a MultiClusterService because the member leaves, as the original does.
fn delete(mcs: &Mcs, plan: &mut Plan) {
    if !mcs.meta.is_terminating() {
        plan.push(LOCAL.delete(mcs));
    }
}

fn delete_derived(
    services: &[&fleet_accumulator::Object<Service>],
    plan: &mut Plan,
) -> Vec<StepId> {
    let live = services.iter().filter(|service| !service.meta().is_terminating());
    live.map(|service| plan.push(LOCAL.delete(service).urgent())).collect()
}

/// Removes the finalizer once derived Services are deleted and it controls no ServiceImport.
fn release(
    identity: &Identity,
    mcs: &Mcs,
    snapshot: &MemberSnapshot,
    deleted: Vec<StepId>,
    import: &Import,
    plan: &mut Plan,
) {
    let finalizer = finalizers::MULTI_CLUSTER_SERVICE;
    let Some(release) = LOCAL.remove_finalizer(mcs, finalizer) else { return };
    let imports: Vec<_> = snapshot.service_imports.by(&mcs.uid).collect();
    let held = match (imports.as_slice(), import.gone) {
        ([], _) => false,
        ([import], Some(_)) => mcs.imports(&mcs.name.namespace).as_ref() != Some(&import.name),
        _ => true,
    };
    if held {
        return;
    }
    let mut undone = deleted;
    if undone.is_empty() && derived_of(identity, mcs, snapshot).is_empty() {
        undone.extend(confirm_derived_absent(identity, mcs, snapshot, plan));
    }
    if imports.is_empty() {
        let import = mcs.meta.label(labels::SERVICE_IMPORT);
        let import = import.map(|name| ObjectName::new(mcs.name.namespace.clone(), name));
        // Another MultiClusterService may hold a ServiceImport of that name by now.
        let absent = import.filter(|name| snapshot.service_imports.get(name).is_none());
        undone.extend(absent.map(|name| plan.push(LOCAL.confirm_absent::<ServiceImport>(name))));
    }
    plan.push(release.after(undone).after(import.gone).after(import.unasked.clone()));
    plan.events.push(status::unimported(mcs, "all objects of the import are deleted"));
}

fn confirm_derived_absent(
    identity: &Identity,
    mcs: &Mcs,
    snapshot: &MemberSnapshot,
    plan: &mut Plan,
) -> Option<StepId> {
    let label = mcs.meta.label(labels::DERIVED_SERVICE)?;
    let name = ObjectName::new(identity.system_namespace.as_str(), label);
    let absent = snapshot.services.get(&name).is_none();
    absent.then(|| plan.push(LOCAL.confirm_absent::<Service>(name)))
}
