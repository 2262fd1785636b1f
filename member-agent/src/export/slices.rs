//! The EndpointSliceExports of an exported Service on the hub.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use fleet_accumulator::{Object, Uid};
use fleet_api::{Endpoint, ExportedSliceSpec, ObjectName, annotations, finalizers, labels};
use fleet_model::endpoints::{loses, printed};
use fleet_model::hub_schema;
use fleet_model::objects::{EndpointSlice, EndpointSliceExport};
use fleet_model::ports::same_in_slices;
use fleet_model::reference;
use fleet_model::steps::{HUB, to_json};
use fleet_model::weight::{self, USUAL};
use fleet_plan::{Step, StepId, Trace};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::internal::HubDecision;
use super::moved::Moved;
use super::stamp;
use super::state::ServiceState;
use super::travel::{Details, Slices, Travel};
use crate::measurement::Plan;
use crate::own_weight;
use crate::slicing;

/// How soon it is tried again to export a slice whose names are taken: nothing about it changes when one becomes free.
const NAME_RETRY: Duration = Duration::from_mins(1);

/// Brings the EndpointSliceExports up to date with the slices, for both APIs. Returns the deletions.
///
/// Where endpoints have moved to a new slice, the hub gets the new one first: importers always have them.
pub(super) fn sync(
    state: &ServiceState<'_>,
    fleet: Option<HubDecision>,
    plan: &mut Plan,
) -> Vec<StepId> {
    let travel = Travel::of(fleet, state.standard);
    if travel.slices == Slices::Withdrawn {
        return withdraw(state, plan);
    }
    let mut wanted: BTreeMap<String, &Object<EndpointSlice>> =
        exportable(state).map(|slice| (slice.uid.to_string(), slice)).collect();
    // The first copy of a slice is kept; others are surplus.
    let copies: Vec<_> = in_order(state)
        .into_iter()
        .map(|copy| {
            let slice = wanted.remove(&copy.spec.endpoint_slice_reference.uid);
            (copy, slice.filter(|_| travel.keeps(copy)))
        })
        .collect();
    let mut moved = Moved::default();
    if travel.slices == Slices::Exported {
        let new = wanted.into_values().filter(|slice| travels(state, slice) == Some(true));
        for slice in new {
            match create(state, travel, slice) {
                Some(step) => moved.extend(slice, plan.push(step), state.now),
                None => plan.wake_within(NAME_RETRY),
            }
        }
    }
    let mut deleted = Vec::new();
    for (copy, slice) in copies {
        match slice {
            Some(_) if copy.meta.is_terminating() => {} // It blocks its successor.
            Some(slice) => update(state, travel, copy, slice, &moved, plan),
            None => {
                let delete = delete(copy).map(|step| step.after(moved.all(&copy.spec, &[])));
                deleted.extend(delete.map(|step| plan.push(step)));
            }
        }
    }
    deleted
}

/// Copies in the order of preference for their slices. A live one comes before one that is being deleted, which
/// only blocks its successor; one whose name a Go agent has put on the slice comes before others.
fn in_order<'a>(state: &ServiceState<'a>) -> Vec<&'a Object<EndpointSliceExport>> {
    let name = |slice: &&'a Object<EndpointSlice>| {
        Some((slice.meta.annotation(annotations::FLEET_UNIQUE_NAME)?, &slice.uid))
    };
    let names: BTreeSet<_> = state.slices.iter().filter_map(name).collect();
    let noted = |copy: &Object<EndpointSliceExport>| {
        let uid = Uid::from(copy.spec.endpoint_slice_reference.uid.as_str());
        names.contains(&(&*copy.name.name, &uid))
    };
    let mut copies = state.slice_exports.clone();
    copies.sort_by_cached_key(|copy| (copy.meta.is_terminating(), !noted(copy)));
    copies
}

/// Deletes every copy that is not being deleted yet.
fn withdraw(state: &ServiceState<'_>, plan: &mut Plan) -> Vec<StepId> {
    let deletes: Vec<_> = state.slice_exports.iter().filter_map(|copy| delete(copy)).collect();
    deletes.into_iter().map(|step| plan.push(step)).collect()
}

/// Slices that the hub carries, or may carry.
fn exportable<'a>(state: &ServiceState<'a>) -> impl Iterator<Item = &'a Object<EndpointSlice>> {
    own(state).filter(|slice| travels(state, slice) != Some(false))
}

/// Slices of this cluster's own endpoints.
pub(super) fn own<'a>(state: &ServiceState<'a>) -> impl Iterator<Item = &'a Object<EndpointSlice>> {
    let slices = state.slices.iter().copied();
    slices.filter(|slice| slicing::is_exportable(state.settings, slice, state.on_network))
}

/// Whether the hub carries the addresses of a slice; `None` if that is not known yet.
pub(super) fn travels(state: &ServiceState<'_>, slice: &EndpointSlice) -> Option<bool> {
    hub_schema::carries(state.schema, &slice.address_type)
}

fn delete(copy: &Object<EndpointSliceExport>) -> Option<Step> {
    (!copy.meta.is_terminating()).then(|| HUB.delete(copy).urgent())
}

fn create(state: &ServiceState<'_>, travel: Travel, slice: &Object<EndpointSlice>) -> Option<Step> {
    let detailed = travel.details == Details::Present;
    let mut body = json!({ "spec": to_json(&spec(state, slice, &ExportedSliceSpec::default(), detailed, state.now)) });
    if travel.guarded {
        body["metadata"]["finalizers"] = json!([finalizers::ENDPOINT_SLICE_EXPORT]);
    }
    if detailed {
        body["metadata"]["labels"] = label(state);
    }
    if let Some(weight) = weight(state).filter(|weight| *weight != USUAL) {
        body["metadata"]["annotations"] = json!({ annotations::WEIGHT: weight.to_string() });
    }
    let name = free_name(state, slice)?;
    let step = HUB.create::<EndpointSliceExport>(name, body);
    Some(step.stage("export").trace(Trace::Begins))
}

fn weight(state: &ServiceState<'_>) -> Option<u16> {
    own_weight::of(state.settings, state.snapshot, state.name)
}

/// The label by which members read slices of the standard API.
fn label(state: &ServiceState<'_>) -> Value {
    json!({ (labels::MULTICLUSTER_NAMESPACE): &*state.name.namespace })
}

/// Whether a copy has that label, and whether it should have it.
fn is_labelled(
    state: &ServiceState<'_>,
    travel: Travel,
    copy: &Object<EndpointSliceExport>,
) -> (bool, bool) {
    let seen = copy.meta.label(labels::MULTICLUSTER_NAMESPACE);
    match travel.details {
        Details::Present => (seen == Some(&*state.name.namespace), true),
        Details::Unchanged => (seen.is_some(), seen.is_some()),
        Details::Absent => (seen.is_some(), false),
    }
}

/// The first name on the hub that nothing has. The hash makes the first one free, unless a copy of
/// this very slice was spoilt by hand and still blocks it.
pub(super) fn free_name(
    state: &ServiceState<'_>,
    slice: &Object<EndpointSlice>,
) -> Option<ObjectName> {
    let mut names = slicing::names_on_hub(state.identity, slice);
    names.find(|name| state.snapshot.slice_exports.get(name).is_none())
}

/// Updates a copy if its content differs. Another generation or label alone causes no write, which would cost one
/// more per importer.
fn update(
    state: &ServiceState<'_>,
    travel: Travel,
    copy: &Object<EndpointSliceExport>,
    slice: &Object<EndpointSlice>,
    moved: &Moved,
    plan: &mut Plan,
) {
    let (labelled, detailed) = is_labelled(state, travel, copy);
    let wanted = spec(state, slice, &copy.spec, detailed, since(state, copy, slice));
    let carried = weight::carried(copy.meta.annotation(annotations::WEIGHT));
    // One that cannot be read changes nothing, nor does one of an API of which it is not known what it exports.
    let is_held = labelled && travel.details == Details::Unchanged;
    let weight = self::weight(state).filter(|weight| !is_held && *weight != carried);
    let same = labelled == detailed
        && weight.is_none()
        && copy.spec.endpoints == wanted.endpoints
        && copy.spec.draining_endpoints == wanted.draining_endpoints
        && same_in_slices(&copy.spec.ports, &wanted.ports)
        && copy.spec.address_type == wanted.address_type
        && reference::refers(&copy.spec.endpoint_slice_reference, &state.identity.cluster, slice);
    if same {
        return;
    }
    let mut body = json!({ "spec": to_json(&wanted) });
    if detailed {
        body["metadata"]["labels"] = label(state);
    }
    if let Some(weight) = weight {
        body["metadata"]["annotations"] = json!({ annotations::WEIGHT: weight.to_string() });
    }
    let step = if labelled && !detailed {
        HUB.replace_without_label(copy, labels::MULTICLUSTER_NAMESPACE, body)
    } else {
        HUB.replace(copy, body)
    };
    let step = step.stage("export").trace(Trace::Begins);
    let step = if loses(&copy.spec, &wanted) {
        step.urgent().after(moved.all(&copy.spec, &wanted.endpoints))
    } else {
        step
    };
    let there = copy.spec.endpoint_slice_reference.generation;
    reference::write(plan, step, slice.meta.generation, Some(there));
}

/// The time since which the generation of the slice is exported.
fn since(
    state: &ServiceState<'_>,
    copy: &Object<EndpointSliceExport>,
    slice: &Object<EndpointSlice>,
) -> Timestamp {
    let seen = &copy.spec.endpoint_slice_reference;
    let same = seen.generation == slice.meta.generation;
    stamp::since(seen.exported_since.as_ref(), same, state.now)
}

/// The content that is exported of a slice. `carried` is that of its copy, if it has one.
fn spec(
    state: &ServiceState<'_>,
    slice: &Object<EndpointSlice>,
    carried: &ExportedSliceSpec,
    detailed: bool,
    since: Timestamp,
) -> ExportedSliceSpec {
    let cluster = &state.identity.cluster;
    let generation = slice.meta.generation;
    let takes_draining = hub_schema::carries_draining(state.schema, &carried.draining_endpoints);
    let detailed = detailed && hub_schema::carries_details(state.schema, &carried.endpoints);
    let (mut ready, mut draining) = endpoints(slice, detailed);
    if hub_schema::carries_executors(state.schema, carried) {
        add_executors(state, slice, carried, ready.iter_mut().chain(&mut draining));
    }
    let draining = if takes_draining { draining } else { Vec::new() };
    ExportedSliceSpec {
        address_type: slice.address_type.clone(),
        endpoints: printed(ready, &slice.address_type),
        draining_endpoints: printed(draining, &slice.address_type),
        ports: slice.ports.to_vec(),
        endpoint_slice_reference: reference::export_of(cluster, slice, generation, since),
        owner_service_reference: state.name.into(),
    }
}

/// The ready endpoints and the draining ones, with host names and zones if those are wanted.
fn endpoints(slice: &EndpointSlice, detailed: bool) -> (Vec<Endpoint>, Vec<Endpoint>) {
    if detailed { slice.detailed() } else { (slice.ready.to_vec(), slice.draining.to_vec()) }
}

/// Names the members that run endpoints in place of this one. While it is not known which do, what is carried stays.
fn add_executors<'a>(
    state: &ServiceState<'_>,
    slice: &EndpointSlice,
    carried: &ExportedSliceSpec,
    endpoints: impl Iterator<Item = &'a mut Endpoint>,
) {
    let executing = &state.executing;
    if executing.is_known() {
        return executing.name(slice, endpoints);
    }
    let carried = carried.endpoints.iter().chain(&carried.draining_endpoints);
    let known: HashMap<_, _> =
        carried.map(|endpoint| (&endpoint.addresses, &endpoint.executor)).collect();
    for endpoint in endpoints {
        endpoint.executor = known.get(&endpoint.addresses).and_then(|executor| (*executor).clone());
    }
}
