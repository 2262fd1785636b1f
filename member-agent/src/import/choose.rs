//! Which MultiClusterService holds the import, and the name of its derived Service.

use fleet_api::{ObjectName, labels, names};

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

/// Name of the derived Service: the one it has, else the candidate that the label names, if it is
/// free, else the first free candidate (docs/design/rules.md#names).
///
/// The label is followed to no Service but one that is proven to be the MultiClusterService's own;
/// other Services that it names are left untouched.
pub(super) fn derived_name(state: &ServiceState<'_>, mcs: &Mcs) -> Option<ObjectName> {
    let ours = state.derived_of(mcs);
    let label = mcs.meta.label(labels::DERIVED_SERVICE);
    let labelled = ours.iter().find(|service| Some(&*service.name.name) == label);
    if let Some(kept) = labelled.or_else(|| ours.first()) {
        return Some(kept.name.clone());
    }
    let free = || {
        names::derived_service_candidates(&mcs.name)
            .map(|name| state.in_system(&name))
            .filter(|name| state.snapshot.services.get(name).is_none())
    };
    free().find(|name| Some(&*name.name) == label).or_else(|| free().next())
}
