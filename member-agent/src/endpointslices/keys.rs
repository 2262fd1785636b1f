//! The Services that a change affects.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use fleet_accumulator::{Change, Object, View, diff};
use fleet_api::ObjectName;
use fleet_model::changes::each_touched;
use fleet_model::objects::{Node, Pod};
use fleet_plan::Affected;

use super::{network, topology};
use crate::slicing::{self, each_selecting};
use crate::snapshot::MemberSnapshot;

/// Adds the Services that own what changed, before and after the change; not those whose pods did.
pub(super) fn affected(
    old: &MemberSnapshot,
    new: &MemberSnapshot,
    keys: &mut Affected<ObjectName>,
) {
    each_touched(&old.services, &new.services, |service| keys.add(service.name.clone()));
    each_touched(&old.managed_slices, &new.managed_slices, |slice| {
        let managed = slice.managed(&slice.name.namespace);
        if let Some(managed) = managed.filter(|managed| network::is_manager(&managed.manager)) {
            keys.add(managed.service);
        }
    });
    // A Service whose managed slices were behind stays so until the other watch shows the deletion, too.
    for change in diff(&old.endpoint_slices, &new.endpoint_slices) {
        let Change::Removed(slice) = change else { continue };
        let ours = slicing::manager(slice).is_some_and(network::is_manager);
        if let Some(service) = slice.backs(&slice.name.namespace).filter(|_| ours) {
            keys.add(service);
        }
    }
    each_touched(&old.namespaces, &new.namespaces, |namespace| {
        let services = new.services.in_namespace(&namespace.name.name);
        services.for_each(|service| keys.add(service.name.clone()));
    });
    nodes(&old.nodes, new, keys);
}

/// Adds the Services that select a changed pod, before and after the change, after `delay`.
pub(super) fn by_pods(
    old: &MemberSnapshot,
    new: &MemberSnapshot,
    delay: Duration,
    keys: &mut Affected<ObjectName>,
) {
    each_touched(&old.pods, &new.pods, |pod| {
        each_selecting(pod, new, &mut |service| keys.add_after(service, delay));
    });
}

/// A node that is created, deleted or moved affects the endpoints on it; a change of capacity affects the Services
/// with hints by capacity. Both are rare, so pods and Services need no further index.
fn nodes(old: &View<Node>, new: &MemberSnapshot, keys: &mut Affected<ObjectName>) {
    let changes: Vec<_> = diff(old, &new.nodes).collect();
    if changes.is_empty() {
        return;
    }
    let moved: BTreeSet<&Arc<str>> = changes.iter().filter_map(moved).collect();
    let on_them = |pod: &&Object<Pod>| pod.node.as_ref().is_some_and(|node| moved.contains(node));
    if !moved.is_empty() {
        for pod in new.pods.iter().filter(on_them) {
            each_selecting(pod, new, &mut |service| keys.add(service));
        }
    }
    let followers = new.services.iter().filter(|service| topology::is_asked_for(service));
    followers.for_each(|service| keys.add(service.name.clone()));
}

/// The name of a node that gives its pods another zone.
fn moved<'a>(change: &Change<'a, Node>) -> Option<&'a Arc<str>> {
    let zone = |node: Option<&'a Object<Node>>| node.map(|node| &node.object.zone);
    let (old, new) = (change.old(), change.new());
    (zone(old) != zone(new)).then(|| old.or(new).map(|node| &node.name.name)).flatten()
}
