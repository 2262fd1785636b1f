//! The derived Service, through which clients in this cluster reach the import.

use fleet_accumulator::Record;
use fleet_api::{ObjectName, ServiceImportStatus, annotations, labels};
use fleet_model::ports;
use fleet_model::records::ServiceRecord;
use fleet_model::steps::{LOCAL, add, remove, set_entries, to_json};
use fleet_runtime::plan::{Plan, Step};
use k8s_openapi::api::core::v1::ServicePort;
use serde_json::{Value, json};

use super::request::Import;
use super::status;
use super::subject::{Subject, Wish};
use super::wish::Prepared;

const LOAD_BALANCER: &str = "LoadBalancer";

/// Brings the derived Service of the holder in line with what the hub granted, and reports it.
pub(super) fn sync(
    subject: &Subject<'_>,
    holder: &Wish,
    prepared: &Prepared,
    import: &Import,
    plan: &mut Plan,
) {
    let Some(name) = &prepared.derived else {
        status::no_name(subject, holder, plan);
        return;
    };
    let current = subject.snapshot.services.get(name);
    for surplus in subject.derived_of(holder) {
        if surplus.name != *name && !surplus.meta.is_terminating() {
            plan.push(LOCAL.delete(surplus).urgent());
        }
    }
    let Some(granted) = &import.granted else {
        let live = current.filter(|current| !current.meta.is_terminating());
        plan.steps.extend(live.map(|current| LOCAL.delete(current).urgent()));
        status::unresolved(subject, holder, prepared, plan);
        return;
    };
    let written = match current {
        None => {
            let step = create(subject, holder, name, granted).after(prepared.write);
            Some(plan.push(step))
        }
        // It blocks its successor.
        Some(current) if current.meta.is_terminating() => return,
        Some(current) => update(subject, holder, current, granted)
            .map(|step| plan.push(step.after(prepared.write))),
    };
    if prepared.write.is_none() {
        status::resolved(subject, holder, current, written, plan);
    }
}

fn create(
    subject: &Subject<'_>,
    holder: &Wish,
    name: &ObjectName,
    granted: &ServiceImportStatus,
) -> Step {
    let uid = holder.uid.to_string();
    let service = subject.service.to_string();
    let body = json!({
        "metadata": {
            "labels": entries(&wanted_labels(holder)),
            "annotations": entries(&wanted_annotations(holder, &service, &uid)),
        },
        "spec": { "type": LOAD_BALANCER, "ports": core_ports(granted) },
    });
    LOCAL.create::<ServiceRecord>(name.clone(), body)
}

/// The cluster and its load balancer write to the same object, so only our part is patched.
fn update(
    subject: &Subject<'_>,
    holder: &Wish,
    current: &Record<ServiceRecord>,
    granted: &ServiceImportStatus,
) -> Option<Step> {
    let (uid, service) = (holder.uid.to_string(), subject.service.to_string());
    let meta = &current.meta;
    let mut operations = set_entries(meta, "labels", &wanted_labels(holder));
    let annotations = wanted_annotations(holder, &service, &uid);
    operations.extend(set_entries(meta, "annotations", &annotations));
    if current.service_type != LOAD_BALANCER {
        operations.push(add(&["spec", "type"], json!(LOAD_BALANCER)));
    }
    if !ports::same(&current.ports, &granted.ports) {
        operations.push(add(&["spec", "ports"], core_ports(granted)));
    }
    if current.selects {
        operations.push(remove(&["spec", "selector"]));
    }
    (!operations.is_empty()).then(|| LOCAL.patch(current, operations))
}

fn wanted_labels(holder: &Wish) -> [(&'static str, Option<&str>); 2] {
    [
        (labels::MULTI_CLUSTER_SERVICE_NAME, Some(&holder.name.name)),
        (labels::MULTI_CLUSTER_SERVICE_NAMESPACE, Some(&holder.name.namespace)),
    ]
}

fn wanted_annotations<'a>(
    holder: &Wish,
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
