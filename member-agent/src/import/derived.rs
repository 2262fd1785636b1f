//! The derived Service, through which clients in this cluster reach the import.

use std::slice;
use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::{ObjectName, ServiceImportStatus, annotations, labels};
use fleet_model::objects::Service;
use fleet_model::ports;
use fleet_model::steps::{LOCAL, to_json};
use fleet_plan::Step;
use fleet_plan::json_patch::{add, remove, set_entries};
use k8s_openapi::api::core::v1::ServicePort;
use serde_json::{Value, json};

use super::stages::{Import, Prepared};
use super::state::{Mcs, ServiceState};
use super::{choose, grace, service_type, status, system_namespace};
use crate::measurement::Plan;

/// Longest time until the next plan, so that a very long grace period does not overflow a timer.
const LONGEST_SLEEP: Duration = Duration::from_hours(24);

/// Brings the derived Service of the holder in line with what the hub granted, and reports it. While slices are
/// `kept` because the hub has lost its data, the Service is kept, too.
pub(super) fn sync(
    state: &ServiceState<'_>,
    holder: &Mcs,
    prepared: &Prepared,
    import: &Import,
    kept: bool,
    plan: &mut Plan,
) {
    // If this plan writes the holder, its status follows in the next plan, on the new resource version.
    let reports = prepared.write.is_none();
    let Some(name) = &prepared.derived else {
        if reports {
            status::no_name(state, holder, plan);
        }
        return;
    };
    status::estranged(state, holder, plan);
    let current = state.snapshot.services.get(name);
    // One of an earlier MultiClusterService is deleted by the plan of its import.
    let own = current.filter(|current| !state.is_orphan(current));
    for surplus in state.derived_of(holder) {
        if surplus.name != *name && !surplus.meta.is_terminating() {
            plan.push(LOCAL.delete(surplus).urgent().on_account_of(&holder.name.namespace));
        }
    }
    if let Some(excess) = &import.excess {
        if reports {
            status::excessive(state, holder, own, excess, plan);
        }
        return; // What was imported before stays.
    }
    plan.events.extend(service_type::not_a_type(holder));
    let Some(granted) = &import.granted else {
        let own = own.filter(|_| !kept);
        return lost(state, holder, own, reports, plan);
    };
    let written = match current {
        None => {
            if let Some(error) = system_namespace::error(state.identity, state.snapshot) {
                if reports {
                    status::system_namespace_unavailable(state, holder, error, plan);
                }
                return;
            }
            plan.events.extend(choose::name_taken(holder, name));
            let step = create(state, holder, name, granted).after(prepared.write);
            Some(plan.push(step))
        }
        // It blocks its successor.
        Some(current) if current.meta.is_terminating() || own.is_none() => {
            if reports {
                status::blocked(state, holder, current, plan);
            }
            return;
        }
        Some(current) => update(state, holder, current, granted)
            .map(|step| plan.push(step.after(prepared.write))),
    };
    if reports {
        status::resolved(state, holder, current, written, plan);
    }
}

/// Without a grant the derived Service is deleted, at once or when its grace period is over.
fn lost(
    state: &ServiceState<'_>,
    holder: &Mcs,
    current: Option<&Object<Service>>,
    reports: bool,
    plan: &mut Plan,
) {
    let live = current.filter(|current| !current.meta.is_terminating());
    let end = live.and_then(|live| Some((live, grace::end(state, holder, live)?)));
    if let Some((live, end)) = end {
        let left = Duration::try_from(end.duration_since(state.now)).unwrap_or_default();
        plan.wake_within(left.min(LONGEST_SLEEP));
        if reports {
            status::leaving(state, holder, live, end, plan);
        }
        return;
    }
    if let Some(live) = live {
        plan.push(LOCAL.delete(live).urgent().on_account_of(&holder.name.namespace));
        plan.events
            .push(status::unimported(holder, format!("deleting derived service {}", live.name)));
    }
    if reports {
        status::unresolved(state, holder, plan);
    }
}

fn create(
    state: &ServiceState<'_>,
    holder: &Mcs,
    name: &ObjectName,
    granted: &ServiceImportStatus,
) -> Step {
    let uid = holder.uid.to_string();
    let service = state.service.to_string();
    let mut spec = service_type::new_spec(state, holder);
    spec["ports"] = core_ports(granted);
    let body = json!({
        "metadata": {
            "labels": entries(&wanted_labels(holder)),
            "annotations": entries(&wanted_annotations(holder, &service, &uid)),
        },
        "spec": spec,
    });
    // All derived Services are in one namespace, and each is some user's.
    LOCAL.create::<Service>(name.clone(), body).on_account_of(&holder.name.namespace)
}

/// Patches the fields that this agent owns: controllers of the cluster and users write others.
fn update(
    state: &ServiceState<'_>,
    holder: &Mcs,
    current: &Object<Service>,
    granted: &ServiceImportStatus,
) -> Option<Step> {
    let (uid, service) = (holder.uid.to_string(), state.service.to_string());
    let meta = &current.meta;
    let mut operations = set_entries(meta, "labels", &wanted_labels(holder));
    let annotations = wanted_annotations(holder, &service, &uid);
    operations.extend(set_entries(meta, "annotations", &annotations));
    operations.extend(service_type::operations(state, holder, current));
    // Of several exporters the first that is back on another hub may have other ports.
    let waits = state.other_hub.is_some() && loses_ports(current, granted);
    if !waits && !ports::same(&current.ports, &granted.ports) {
        operations.push(add(&["spec", "ports"], core_ports(granted)));
    }
    if !current.selector.is_empty() {
        operations.push(remove(&["spec", "selector"]));
    }
    let account = &holder.name.namespace;
    (!operations.is_empty()).then(|| LOCAL.patch(current, operations).on_account_of(account))
}

/// Whether the Service has a port that is not granted as it stands.
fn loses_ports(current: &Object<Service>, granted: &ServiceImportStatus) -> bool {
    current.ports.iter().any(|port| {
        let is_it = |it| ports::same(slice::from_ref(it), slice::from_ref(port));
        !granted.ports.iter().any(is_it)
    })
}

fn wanted_labels(holder: &Mcs) -> [(&'static str, Option<&str>); 2] {
    [
        (labels::MULTI_CLUSTER_SERVICE_NAME, Some(&holder.name.name)),
        (labels::MULTI_CLUSTER_SERVICE_NAMESPACE, Some(&holder.name.namespace)),
    ]
}

fn wanted_annotations<'a>(
    holder: &Mcs,
    service: &'a str,
    uid: &'a str,
) -> [(&'static str, Option<&'a str>); 3] {
    let internal = holder.meta.annotation(annotations::AZURE_LOAD_BALANCER_INTERNAL);
    let internal = internal.is_some_and(is_go_true);
    [
        (annotations::FLEET_SERVICE, Some(service)),
        (annotations::MULTI_CLUSTER_SERVICE_UID, Some(uid)),
        (annotations::SERVICE_AZURE_LOAD_BALANCER_INTERNAL, internal.then_some("true")),
    ]
}

/// The texts that Go reads as true.
fn is_go_true(text: &str) -> bool {
    matches!(text, "1" | "t" | "T" | "TRUE" | "true" | "True")
}

fn entries(wanted: &[(&str, Option<&str>)]) -> Value {
    wanted.iter().filter_map(|(key, value)| Some(((*key).to_owned(), json!((*value)?)))).collect()
}

fn core_ports(granted: &ServiceImportStatus) -> Value {
    to_json(&granted.ports.iter().map(ServicePort::from).collect::<Vec<_>>())
}
