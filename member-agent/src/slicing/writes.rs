//! The steps of a plan that carry out the outcome of a reconciliation.

use std::collections::HashSet;

use fleet_accumulator::Object;
use fleet_api::{ObjectName, names};
use fleet_endpointslice::{Outcome, Update};
use fleet_model::objects::{ManagedSlice, Service};
use fleet_model::steps::{LOCAL, at, to_json};
use fleet_plan::{Action, Body, Step, StepId};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::measurement::Plan;
use crate::snapshot::MemberSnapshot;

/// Writes a whole slice: nothing of it is anybody else's.
pub(crate) fn replace_whole(current: &Object<ManagedSlice>, slice: &EndpointSlice) -> Step {
    let mut body = to_json(slice);
    body["apiVersion"] = serde_json::json!("discovery.k8s.io/v1");
    body["kind"] = serde_json::json!("EndpointSlice");
    body["metadata"]["name"] = serde_json::json!(current.name.name);
    body["metadata"]["namespace"] = serde_json::json!(current.name.namespace);
    let action = Action::Replace { body: body.into(), at: at(current) };
    LOCAL.step::<ManagedSlice>(current.name.clone(), action)
}

/// Adds the writes of a reconciliation. Without `creates`, no slice is created.
///
/// An address that moves is removed from the old slice only after the new one has it, but for updates: these do not wait for
/// each other, since two may exchange addresses. Nothing else waits: endpoints that no longer serve are removed at once.
pub(crate) fn write(
    snapshot: &MemberSnapshot,
    service: &Object<Service>,
    outcome: Outcome<'_>,
    creates: bool,
    stage: &'static str,
    plan: &mut Plan,
) {
    let uid = service.uid.to_string();
    let mut free = None;
    for changes in outcome.changes {
        let mut arrivals = Vec::new();
        for slice in changes.creates.into_iter().filter(|_| creates) {
            let prefix = slice.metadata.generate_name.as_deref().unwrap_or_default();
            let names = free.get_or_insert_with(|| names::made_slice_candidates(prefix, &uid));
            let namespace = &service.name.namespace;
            let mut names = names.map(|name| ObjectName::new(namespace.clone(), name));
            let Some(name) = names.find(|name| is_free(snapshot, name)) else { continue };
            let gained = addresses(&slice).map(str::to_owned).collect();
            arrivals.push((plan.push(create(name, slice).stage(stage)), gained));
        }
        let mut updated = Vec::new();
        for update in changes.updates {
            if let Some(old) = live(snapshot, update.of) {
                let lost = missing(update.of, &update.slice);
                let step = replace(old, &update).after(takers(&arrivals, &lost));
                let gained = missing(&update.slice, update.of).into_iter().map(str::to_owned);
                updated.push((plan.push(step.stage(stage)), gained.collect()));
            }
        }
        arrivals.extend(updated);
        for doomed in changes.deletes {
            if let Some(old) = live(snapshot, doomed) {
                let lost: HashSet<_> = addresses(doomed).collect();
                plan.push(LOCAL.delete(old).urgent().after(takers(&arrivals, &lost)));
            }
        }
    }
    let unsupported: Vec<_> =
        outcome.unsupported.into_iter().filter_map(|slice| live(snapshot, slice)).collect();
    delete_all(&unsupported, plan);
}

/// Deletes those slices that are not being deleted yet.
pub(crate) fn delete_all(slices: &[&Object<ManagedSlice>], plan: &mut Plan) {
    for slice in slices.iter().filter(|slice| !slice.is_terminating()) {
        plan.push(LOCAL.delete(slice).urgent());
    }
}

fn live<'a>(
    snapshot: &'a MemberSnapshot,
    slice: &EndpointSlice,
) -> Option<&'a Object<ManagedSlice>> {
    let metadata = &slice.metadata;
    let name = ObjectName::new(metadata.namespace.as_deref()?, metadata.name.as_deref()?);
    snapshot.managed_slices.get(&name)
}

fn is_free(snapshot: &MemberSnapshot, name: &ObjectName) -> bool {
    snapshot.managed_slices.get(name).is_none() && snapshot.endpoint_slices.get(name).is_none()
}

fn create(name: ObjectName, slice: EndpointSlice) -> Step {
    let body = body(&name, slice);
    LOCAL.step::<ManagedSlice>(name, Action::Create(body))
}

fn replace(old: &Object<ManagedSlice>, update: &Update<'_>) -> Step {
    let body = body(&old.name, update.slice.clone());
    let action = Action::Replace { body, at: at(old) };
    let step = LOCAL.step::<ManagedSlice>(old.name.clone(), action);
    let loses = update.recycled || loses(&update.slice, update.of);
    if loses { step.urgent() } else { step }
}

/// The object without the metadata that the API server sets.
fn body(name: &ObjectName, slice: EndpointSlice) -> Body {
    let metadata = ObjectMeta {
        name: Some(name.name.to_string()),
        namespace: Some(name.namespace.to_string()),
        labels: slice.metadata.labels,
        annotations: slice.metadata.annotations,
        owner_references: slice.metadata.owner_references,
        finalizers: slice.metadata.finalizers,
        ..ObjectMeta::default()
    };
    to_json(&EndpointSlice { metadata, ..slice }).into()
}

/// Whether an address that was ready no longer is.
fn loses(new: &EndpointSlice, old: &EndpointSlice) -> bool {
    let ready: HashSet<_> = ready(new).collect();
    self::ready(old).any(|address| !ready.contains(address))
}

/// The addresses of `slice` that `other` lacks.
fn missing<'a>(slice: &'a EndpointSlice, other: &EndpointSlice) -> HashSet<&'a str> {
    let others: HashSet<_> = addresses(other).collect();
    addresses(slice).filter(|address| !others.contains(address)).collect()
}

/// The steps that write slices which gain addresses of `lost`.
fn takers(arrivals: &[(StepId, HashSet<String>)], lost: &HashSet<&str>) -> Vec<StepId> {
    let takes = |gained: &HashSet<String>| lost.iter().any(|address| gained.contains(*address));
    arrivals.iter().filter(|(_, gained)| takes(gained)).map(|(step, _)| *step).collect()
}

fn addresses(slice: &EndpointSlice) -> impl Iterator<Item = &str> {
    slice.endpoints.iter().flat_map(|endpoint| &endpoint.addresses).map(String::as_str)
}

fn ready(slice: &EndpointSlice) -> impl Iterator<Item = &str> {
    let ready = slice.endpoints.iter().filter(|endpoint| {
        endpoint.conditions.as_ref().is_none_or(|conditions| conditions.ready != Some(false))
    });
    ready.flat_map(|endpoint| &endpoint.addresses).map(String::as_str)
}
