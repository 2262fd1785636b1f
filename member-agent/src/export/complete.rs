//! Whether the hub has all that this cluster exports.

use std::collections::BTreeSet;

use fleet_accumulator::{ClusterId, Snapshot as _, SourceInfo, SourceSet};
use fleet_api::{conditions, kinds, names};
use fleet_model::hub_schema::carries;
use jiff::Timestamp;

use super::internal;
use super::state::ServiceState;
use crate::Settings;
use crate::hub_answers::{HubAnswers, Refused};
use crate::other_hub;
use crate::slicing;
use crate::snapshot::MemberSnapshot;

/// Whether the hub has all that users of this cluster export through the API of the fleet, and all watches show what there is. What
/// the hub refuses counts as there: it has decided, be it the hub agent or the API server.
pub fn is_complete(
    settings: &Settings,
    answers: &HubAnswers,
    snapshot: &MemberSnapshot,
    now: Timestamp,
) -> bool {
    let refused = answers.of(other_hub::present(&settings.identity, snapshot));
    are_trusted(snapshot)
        && snapshot.service_exports.iter().all(|export| {
            let state = ServiceState::of(settings, &export.name, snapshot, now);
            state.exported().is_none() || is_there(&state, &refused)
        })
}

fn are_trusted(snapshot: &MemberSnapshot) -> bool {
    let sources = SourceSet::from([
        MemberSnapshot::services(),
        MemberSnapshot::namespaces(),
        MemberSnapshot::endpoint_slices(),
        MemberSnapshot::service_exports(),
        MemberSnapshot::internal_exports(),
        MemberSnapshot::slice_exports(),
        MemberSnapshot::cluster_reports(),
    ]);
    let asked = |source: &&SourceInfo| sources.contains(source.id);
    let asked: Vec<_> = MemberSnapshot::sources().iter().filter(asked).collect();
    let settles = |source: &&&SourceInfo| snapshot.is_settling(SourceSet::from([source.id]));
    let (hub, own): (Vec<_>, Vec<_>) =
        asked.iter().partition(|source| source.cluster == ClusterId::Hub);
    let settling = hub.iter().filter(settles).count();
    // Where each source has listed anew what an earlier, or another, hub has, what they show is there.
    let is_hub_seen = settling == 0 || settling == hub.len();
    asked.iter().all(|source| snapshot.state(source.id).is_live())
        && !own.iter().any(|source| settles(&source))
        && is_hub_seen
}

fn is_there(state: &ServiceState<'_>, refused: &Refused) -> bool {
    if internal::rejection(state).is_some() {
        return true;
    }
    if state.internal_exports.is_empty() {
        let names = names::internal_export_candidates(state.name).map(|name| state.on_hub(&name));
        return refused.any(kinds::INTERNAL_SERVICE_EXPORT, names);
    }
    let Some((_, conflict)) = internal::conflict(state) else { return false };
    match conflict.status.as_str() {
        conditions::TRUE => !internal::is_superseded(state, conflict),
        conditions::FALSE => are_slices_there(state, refused),
        _ => false,
    }
}

fn are_slices_there(state: &ServiceState<'_>, refused: &Refused) -> bool {
    let copies = state.slice_exports.iter();
    let there: BTreeSet<&str> =
        copies.map(|copy| copy.spec.endpoint_slice_reference.uid.as_str()).collect();
    let mut exportable = state.slices.iter().filter(|slice| {
        slicing::is_exportable(state.settings, slice, state.on_network)
            && carries(state.schema, &slice.address_type) != Some(false)
    });
    exportable.all(|slice| {
        there.contains(slice.uid.to_string().as_str())
            || refused
                .any(kinds::ENDPOINT_SLICE_EXPORT, slicing::names_on_hub(state.identity, slice))
    })
}
