//! Nodes, as far as endpoints depend on them.

use fleet_api::ObjectName;
use fleet_endpointslice::NodeView;

use crate::snapshot::MemberSnapshot;

/// The zone of a node; `None` if the node is unknown.
pub(super) fn node<'a>(snapshot: &'a MemberSnapshot, name: &str) -> Option<NodeView<'a>> {
    let node = snapshot.nodes.get(&ObjectName::cluster(name))?;
    Some(NodeView { zone: node.object.zone.as_deref() })
}
