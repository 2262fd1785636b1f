//! The Services that a change affects.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use fleet_accumulator::{Change, Object, View, diff};
use fleet_api::ObjectName;
use fleet_model::changes::each_touched;
use fleet_model::objects::{EndpointSlice, Node, Pod};
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
    each_touched(&old.services, &new.services, |service| keys.add_own(service.name.clone()));
    each_touched(&old.managed_slices, &new.managed_slices, |slice| {
        let managed = slice.managed(&slice.name.namespace);
        if let Some(managed) = managed.filter(|managed| network::is_manager(&managed.manager)) {
            keys.add_own(managed.service);
        }
    });
    // A Service whose managed slices were behind stays so until the other watch shows it, too.
    for change in diff(&old.endpoint_slices, &new.endpoint_slices) {
        if let Some(service) = given_up(&change) {
            keys.add_own(service);
        }
    }
    each_touched(&old.namespaces, &new.namespaces, |namespace| {
        let services = new.services.in_namespace(&namespace.name.name);
        services.for_each(|service| keys.add_own(service.name.clone()));
    });
    nodes(&old.nodes, new, keys);
}

/// The Service of a slice that is ours no longer: it is deleted, or its manager or Service is another.
fn given_up(change: &Change<'_, EndpointSlice>) -> Option<ObjectName> {
    let owned = |slice: &Object<EndpointSlice>| {
        let manager = slicing::manager(slice).filter(|manager| network::is_manager(manager))?;
        Some((manager.to_owned(), slice.backs(&slice.name.namespace)?))
    };
    let (old, new) = (change.old().and_then(owned), change.new().and_then(owned));
    old.filter(|old| Some(old) != new.as_ref()).map(|(_, service)| service)
}

/// Adds the Services that select a changed pod, before and after the change, after `delay`.
pub(super) fn by_pods(
    old: &MemberSnapshot,
    new: &MemberSnapshot,
    delay: Duration,
    keys: &mut Affected<ObjectName>,
) {
    each_touched(&old.pods, &new.pods, |pod| {
        each_selecting(pod, new, &mut |service| keys.add_own_after(service, delay));
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
            each_selecting(pod, new, &mut |service| keys.add_own(service));
        }
    }
    let followers = new.services.iter().filter(|service| topology::is_asked_for(service));
    followers.for_each(|service| keys.add_own(service.name.clone()));
}

/// The name of a node that gives its pods another zone.
fn moved<'a>(change: &Change<'a, Node>) -> Option<&'a Arc<str>> {
    let zone = |node: Option<&'a Object<Node>>| node.map(|node| &node.object.zone);
    let (old, new) = (change.old(), change.new());
    (zone(old) != zone(new)).then(|| old.or(new).map(|node| &node.name.name)).flatten()
}
