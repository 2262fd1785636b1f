//! Endpoints of an exported Service that do not reach importers: the part of the message of `Valid=True` that explains why
//! they are missing there nevertheless.
//!
//! It names no numbers, so that it changes with the reason and not with each endpoint: a changed message is a write.

use std::collections::BTreeSet;

use fleet_accumulator::{Object, Uid};
use fleet_api::{AddressType, annotations, conditions, events};
use fleet_model::objects::{EndpointSlice, EndpointSliceExport, ServiceExport};
use fleet_plan::conditions::find;
use fleet_plan::text::truncate;

use super::slices;
use super::state::ServiceState;

/// Maximum length of what the hub reports, in bytes.
const MAX_REJECTION: usize = 512;

/// Why some endpoints of a Service do not reach importers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shortfall {
    /// Reason of the Event.
    pub(super) event: &'static str,
    /// A clause for users.
    pub(super) clause: String,
}

/// Everything that keeps endpoints of a Service that is exported from importers; what the hub reports comes first.
pub(super) fn of(state: &ServiceState<'_>, export: &Object<ServiceExport>) -> Vec<Shortfall> {
    let not_exported = |clause: String| Shortfall { event: events::ENDPOINTS_NOT_EXPORTED, clause };
    let here = families(state, export).chain(without_a_name(state)).map(not_exported);
    rejected(state).into_iter().chain(here).collect()
}

/// Of a slice that the hub agent has annotated, which has no conditions. One is enough for a Service: the first by name.
fn rejected(state: &ServiceState<'_>) -> Option<Shortfall> {
    let live = state.slice_exports.iter().filter(|copy| !copy.meta.is_terminating());
    let why = |copy: &Object<EndpointSliceExport>| {
        copy.meta.annotation(annotations::REJECTED).map(str::to_owned)
    };
    let (name, why) = live.filter_map(|copy| Some((&copy.name, why(copy)?))).min()?;
    let why = truncate(&why, MAX_REJECTION);
    let clause = format!("the hub does not accept EndpointSliceExport {name}: {why}");
    Some(Shortfall { event: events::EXPORT_REFUSED, clause })
}

/// Types of addresses that the hub does not carry. What was reported stays while it is unknown what the hub carries.
fn families(
    state: &ServiceState<'_>,
    export: &Object<ServiceExport>,
) -> impl Iterator<Item = String> {
    let seen = find(&export.conditions, conditions::VALID).map(|seen| seen.message.as_str());
    let is_dropped = |slice: &&Object<EndpointSlice>| match slices::travels(state, slice) {
        Some(travels) => !travels,
        None => seen.is_some_and(|seen| seen.contains(&of_family(&slice.address_type))),
    };
    let dropped = slices::own(state).filter(is_dropped);
    let families: BTreeSet<_> = dropped.map(|slice| of_family(&slice.address_type)).collect();
    families.into_iter()
}

fn of_family(address_type: &AddressType) -> String {
    let why = match address_type {
        AddressType::Other(_) => "only IP addresses are",
        AddressType::IPv4 | AddressType::IPv6 => "the hub does not store them",
    };
    format!("endpoints with {} addresses are not exported: {why}", address_type.as_str())
}

/// The first slice that is not on the hub, because other objects have all names that it could have there.
fn without_a_name(state: &ServiceState<'_>) -> Option<String> {
    let copies = state.slice_exports.iter();
    let on_hub: BTreeSet<_> =
        copies.map(|copy| Uid::from(copy.spec.endpoint_slice_reference.uid.as_str())).collect();
    let waiting = slices::own(state).filter(|slice| {
        slices::travels(state, slice) == Some(true) && !on_hub.contains(&slice.uid)
    });
    let blocked = waiting.filter(|slice| slices::free_name(state, slice).is_none());
    let name = &blocked.map(|slice| &slice.name).min()?.name;
    Some(format!(
        "EndpointSlice {name} is not exported: other objects have all its names on the hub"
    ))
}
