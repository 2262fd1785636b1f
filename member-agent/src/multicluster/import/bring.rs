//! The writes of an import, and their order: no client resolves a name that leads nowhere.
//!
//! - A new import gets its addresses when its derived Service and its slices are there.
//! - A port that comes is in the slices first, then in the Service, then in the import; one that goes leaves in reverse.
//! - An import that becomes headless loses its addresses first; one that ceases to be so gets them last.

use std::time::Duration;

use fleet_api::multicluster::{IpFamily, ServiceType};
use fleet_api::{conditions, events};
use fleet_model::objects::multicluster::ResolvedService;
use fleet_model::steps::{HUB, LOCAL};
use fleet_plan::StepId;
use fleet_plan::conditions::find;

use super::derived::{self, Derived};
use super::families::Families;
use super::local::Local;
use super::service_import::{self, Addresses};
use super::slices::{self, Binding, Bound};
use super::state::{Import, ServiceState};
use super::status::{self, Ready};
use super::target::{Target, WantedFamilies};
use crate::measurement::Plan;

/// How often an import is planned again that is kept although the hub lacks it: other imports do not affect its key.
pub(super) const AGAIN: Duration = Duration::from_mins(1);
/// The Event about such an import.
pub(super) const KEPT: &str = "the hub has lost this service and many others; the ServiceImports are kept until those return or \
                               a user deletes the ServiceImports";

/// Brings the import to its target.
pub(super) fn sync(state: &ServiceState<'_>, target: &Target, plan: &mut Plan) {
    let Some(import) = state.import else {
        let derived = Derived::of(state, None, None);
        let name = derived.name().filter(|_| !target.is_headless());
        plan.push(service_import::create(state, target, name.map(|name| &*name.name)));
        return;
    };
    if target.is_headless() {
        headless(state, import, target, plan);
        return;
    }
    match &target.families {
        WantedFamilies::These(families) => {
            with_address(state, import, target, Some(families), plan);
        }
        WantedFamilies::NotKnown => with_address(state, import, target, None, plan),
        WantedFamilies::NotSupported => without_family(state, import, target, plan),
    }
}

/// Removes the import and what it owns: names stop first.
pub(super) fn remove(state: &ServiceState<'_>, plan: &mut Plan) {
    let import = state.import.map(|import| plan.push(LOCAL.delete(import).urgent()));
    let slices: Vec<_> = state.imported.iter().filter_map(|slice| slices::delete(slice)).collect();
    plan.steps.extend(slices.into_iter().map(|step| step.after(import)));
    for service in state.derived() {
        derived::delete(service, import.as_slice(), plan);
    }
}

/// Removes the import if the hub states nothing about it for as long as its word takes to count. The API server of the hub has to
/// confirm that: what a watch has missed stays unknown until its next list, and with the import clients lose its address.
pub(super) fn forget(state: &ServiceState<'_>, plan: &mut Plan) {
    let Some(import) = state.import else { return };
    let settle = state.settings.multicluster.settle;
    let unseen = state.hub.and_then(|hub| hub.unseen(state.service));
    let absent = unseen.map(|name| HUB.confirm_absent::<ResolvedService>(name));
    let delete = LOCAL.delete(import).urgent();
    plan.debounce_confirmed(settle, "the hub has lost the service", absent, delete);
}

fn headless(state: &ServiceState<'_>, import: &Import, target: &Target, plan: &mut Plan) {
    let written = service_import::update(import, target, &Addresses::default(), None, &[], plan);
    let turns = written.filter(|_| !is_headless(import));
    let families = &target.spec.ip_families;
    let bound = bound(import, target, Binding::Headless, families, &Local::default());
    let slices = slices::sync(state, bound, turns.as_slice(), plan);
    for service in state.derived() {
        let after: Vec<_> = slices.iter().copied().chain(turns).collect();
        derived::delete(service, &after, plan);
    }
    if written.is_none() {
        status::write(state, import, target, Ready::Yes, plan);
    }
}

/// This cluster has no address for the import.
fn without_family(state: &ServiceState<'_>, import: &Import, target: &Target, plan: &mut Plan) {
    let written = service_import::update(import, target, &Addresses::default(), None, &[], plan);
    for service in state.derived() {
        derived::delete(service, written.as_slice(), plan);
    }
    for slice in &state.imported {
        plan.steps.extend(slices::delete(slice).map(|step| step.after(written)));
    }
    if written.is_none() {
        status::write(state, import, target, Ready::NoFamily, plan);
    }
}

fn with_address(
    state: &ServiceState<'_>,
    import: &Import,
    target: &Target,
    families: Option<&Families>,
    plan: &mut Plan,
) {
    let derived = Derived::of(state, Some(import), families);
    let written = match &derived {
        Derived::Unfit(service) => {
            let name = Some(&*service.name.name);
            let none = Addresses::default();
            let written = update(state, import, target, &none, name, &[], plan);
            derived::delete(service, written.as_slice(), plan);
            written
        }
        Derived::Taken => {
            derived::wait(plan);
            None
        }
        // Whatever holds it back, its clients keep the endpoints that there are.
        Derived::Ending(service) => {
            let list = families_of(&Addresses::of(import), families);
            let local = Local::without(state, &service.name);
            let binding = Binding::Derived(&service.name);
            slices::sync(state, bound(import, target, binding, &list, &local), &[], plan);
            None
        }
        Derived::Missing(name) => {
            let Some(families) = families else { return };
            let made = derived::create(state, import, target, families, name, plan);
            // A headless import keeps its slices until there is something to bind them to.
            let after: Vec<_> = made.into_iter().filter(|_| is_headless(import)).collect();
            let local = Local::without(state, name);
            let bound = bound(import, target, Binding::Derived(name), &families.list, &local);
            slices::sync(state, bound, &after, plan);
            if is_headless(import) {
                return;
            }
            update(state, import, target, &Addresses::of(import), Some(&*name.name), &[], plan)
        }
        Derived::Present(service) => {
            let families = families.map(|families| families.led_by(service));
            let families = families.as_ref();
            let addresses = derived::addresses(service);
            let has_addresses = !addresses.ips.is_empty();
            let addresses = if has_addresses { addresses } else { Addresses::of(import) };
            let list = families_of(&addresses, families);
            let local = Local::of(state, target, service, &list);
            let repair = derived::repair(state, import, target, families, service, local.selector);
            let bound = bound(import, target, Binding::Derived(&service.name), &list, &local);
            plan.steps.extend(local.left().map(|slice| LOCAL.delete(slice).urgent()));
            let name = Some(&*service.name.name);
            if loses_ports(import, target) && !is_headless(import) {
                let written = update(state, import, target, &addresses, name, &[], plan);
                let repaired = repair.map(|step| plan.push(step.after(written)));
                slices::sync(
                    state,
                    bound,
                    &[repaired, written].into_iter().flatten().collect::<Vec<_>>(),
                    plan,
                );
                written
            } else {
                let mut before = slices::sync(state, bound, &[], plan);
                let order = order(import, &before, plan);
                before.extend(repair.map(|step| plan.push(step.after(order))));
                // A port that comes is in the Service before it is in the import.
                let waits = derived::defers_ports(service, target, local.selector);
                if waits || is_headless(import) && !has_addresses {
                    return;
                }
                update(state, import, target, &addresses, name, &before, plan)
            }
        }
    };
    if written.is_none() {
        let has_address = import.spec.as_ref().is_some_and(|spec| !spec.ips.is_empty());
        let ready = if has_address { Ready::Yes } else { Ready::Waiting };
        status::write(state, import, target, ready, plan);
    }
}

fn bound<'a>(
    import: &'a Import,
    target: &'a Target,
    binding: Binding<'a>,
    families: &'a [IpFamily],
    local: &Local<'_>,
) -> Bound<'a> {
    Bound { import, target, binding, families, writer: local.writer, steps: local.steps }
}

/// Writes the import, and reports if clients have to learn another address.
fn update(
    state: &ServiceState<'_>,
    import: &Import,
    target: &Target,
    addresses: &Addresses,
    derived: Option<&str>,
    after: &[StepId],
    plan: &mut Plan,
) -> Option<StepId> {
    let after = order(import, after, plan);
    let written = service_import::update(import, target, addresses, derived, &after, plan)?;
    let known = Addresses::of(import);
    let is_other = !known.ips.is_empty() && !addresses.ips.is_empty() && known.ips != addresses.ips;
    if is_other && is_as_reported(import) {
        let (service, ips) = (state.service, addresses.ips.join(", "));
        let note = format!(
            "the import of {service} has another address now, {ips}: its derived Service was deleted, and its former address \
             cannot be had any more"
        );
        plan.events.push(LOCAL.warning(import, events::ADDRESS_REPLACED, note));
    }
    Some(written)
}

/// Which of these steps one waits for that clients depend on. Where the import has an address, a slice that the API server refuses to
/// create holds nothing up.
fn order(import: &Import, steps: &[StepId], plan: &Plan) -> Vec<StepId> {
    let has_address = !Addresses::of(import).ips.is_empty();
    if has_address { slices::there(steps, plan) } else { steps.to_vec() }
}

/// Whether the import has not changed since its status was written: its addresses were those of its derived Service.
fn is_as_reported(import: &Import) -> bool {
    let ready = find(&import.status.conditions, conditions::READY);
    ready.is_some_and(|ready| ready.observed_generation == Some(import.meta.generation))
}

fn families_of(addresses: &Addresses, families: Option<&Families>) -> Vec<IpFamily> {
    match families {
        _ if !addresses.families.is_empty() => addresses.families.clone(),
        Some(families) => families.list.clone(),
        None => Vec::new(),
    }
}

/// Whether clients may use a port of the import that the target lacks.
fn loses_ports(import: &Import, target: &Target) -> bool {
    let ports = import.spec.as_ref().map(|spec| spec.ports.as_slice()).unwrap_or_default();
    !ports.iter().all(|port| target.spec.ports.contains(port))
}

fn is_headless(import: &Import) -> bool {
    import.spec.as_ref().is_some_and(|spec| spec.type_ == ServiceType::Headless)
}
