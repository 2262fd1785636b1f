//! Which MultiClusterService holds the import, and the name of its derived Service.

use fleet_api::{ObjectName, events, labels, names};
use fleet_model::steps::LOCAL;
use fleet_plan::Event;

use super::state::{Mcs, ServiceState};

/// The MultiClusterService that holds the import: the one the ServiceImport belongs to or was
/// taken from, else the oldest. `None` while the ServiceImport still belongs to one that no longer imports it, or to
/// another controller.
pub(super) fn holder<'a>(state: &ServiceState<'a>) -> Option<&'a Mcs> {
    if state.import.is_none() {
        let asked = |mcs: &&Mcs| {
            let mut requests = state.requests.iter();
            state.in_hub && requests.any(|request| mcs.uid == request.reference.uid)
        };
        return state
            .live_multi_cluster_services()
            .find(asked)
            .or_else(|| state.live_multi_cluster_services().next());
    }
    let Some(owner) = state.import_owner() else { return state.disowned() };
    state.live_multi_cluster_services().find(|mcs| mcs.uid == owner)
}

/// Name of the derived Service: the one it has, else that of one which was made for an earlier MultiClusterService of this name and
/// is on its way out, else the candidate that the label names, if it is free, else the first free candidate
/// (docs/design/rules.md#names).
///
/// The name of a predecessor is waited for: clients know the Service by it, and one with a load balancer takes a minute to go.
/// The label is followed to no Service but one that is proven to be the MultiClusterService's own;
/// other Services that it names are left untouched. A name that another MultiClusterService [claims](is_claimed) is not free,
/// so that it does not depend on the order of writes who gets it.
pub(super) fn derived_name(state: &ServiceState<'_>, mcs: &Mcs) -> Option<ObjectName> {
    let ours = state.derived_of(mcs);
    let label = mcs.meta.label(labels::DERIVED_SERVICE);
    let labelled = ours.iter().find(|service| Some(&*service.name.name) == label);
    if let Some(kept) = labelled.or_else(|| ours.first()) {
        return Some(kept.name.clone());
    }
    let predecessors = state.predecessors_of(mcs);
    let candidates =
        || names::derived_service_candidates(&mcs.name).map(|name| state.in_system(&name));
    let is_taken_over = |name: &ObjectName| predecessors.iter().any(|it| it.name == *name);
    if let Some(name) = candidates().find(is_taken_over) {
        return Some(name);
    }
    let free = || {
        candidates()
            .filter(|name| state.snapshot.services.get(name).is_none())
            .filter(|name| !is_claimed(state, mcs, &name.name))
    };
    free().find(|name| Some(&*name.name) == label).or_else(|| free().next())
}

/// Whether another MultiClusterService has a better claim to a name that is its first choice, too: `a-b/c` and `a/b-c` both
/// come to `a-b-c`. One whose label has the name comes first, since it may have had it before; then the older one.
fn is_claimed(state: &ServiceState<'_>, mcs: &Mcs, name: &str) -> bool {
    let label = |mcs: &Mcs| mcs.meta.label(labels::DERIVED_SERVICE).map(|label| label == name);
    let rank = |mcs: &Mcs| (label(mcs) != Some(true), mcs.meta.created, mcs.name.clone());
    name.match_indices('-')
        .filter_map(|(at, _)| {
            let claimant = ObjectName::new(&name[..at], &name[at + 1..]);
            state.snapshot.multi_cluster_services.get(&claimant)
        })
        .filter(|other| !other.meta.is_terminating() && label(other) != Some(false))
        .any(|other| rank(other) < rank(mcs))
}

/// Reports that the derived Service of a MultiClusterService does not have the name that users expect.
pub(super) fn name_taken(mcs: &Mcs, name: &ObjectName) -> Option<Event> {
    let expected = names::derived_service_candidates(&mcs.name).next()?;
    let note = || {
        format!("derived service is {name}: another service has, or will have, the name {expected}")
    };
    (expected != *name.name).then(|| LOCAL.warning(mcs, events::NAME_TAKEN, note()))
}
