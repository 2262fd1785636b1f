//! All controllers of the agent, on model servers.

mod blocked;
mod controllers;
mod purity;

use fleet_accumulator::{Object, View};
use fleet_api::labels;
use fleet_model::objects::ManagedSlice;
use fleet_model::objects::offload::NodeDocument;
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
    let virtual_nodes = snapshot.virtual_node_objects.iter();
    let is_virtual = |node: &&Object<NodeDocument>| node.meta.label(labels::VIRTUAL_NODE).is_some();
    snapshot.virtual_node_objects = View::of(virtual_nodes.filter(is_virtual).cloned());
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
