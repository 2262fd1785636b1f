//! All controllers of the agent, on model servers.

mod blocked;
mod controllers;
mod purity;

use fleet_accumulator::View;
use fleet_api::labels;
use fleet_model::objects::ManagedSlice;
use fleet_model_server::ModelServer;

use crate::identity::Identity;
use crate::settings::Mode;
use crate::snapshot::MemberSnapshot;

/// What the watches of a member show of two model API servers.
pub(crate) fn snapshot(
    identity: &Identity,
    own: &ModelServer,
    hub: &ModelServer,
) -> MemberSnapshot {
    let namespace = Some(identity.hub_namespace.as_str());
    let mut snapshot: MemberSnapshot = fleet_model_server::snapshot(&[own, hub], namespace);
    snapshot.managed_slices = managed(&snapshot.managed_slices);
    snapshot
}

/// The slices that the watch of managed slices selects: those of our own managers.
fn managed(all: &View<ManagedSlice>) -> View<ManagedSlice> {
    let managers = [
        Mode::All.managers(),
        &[
            labels::MANAGED_BY_EXTERNAL_WORKLOADS,
            labels::MANAGED_BY_MULTICLUSTER,
            labels::MANAGED_BY_IMPORT,
        ],
    ]
    .concat();
    let ours = all.iter().filter(|slice| {
        let managed = slice.managed(&slice.name.namespace);
        managed.is_some_and(|managed| managers.contains(&&*managed.manager))
    });
    View::of(ours.cloned())
}
