//! The keys that a change affects.

use std::collections::BTreeSet;
use std::time::Duration;

use fleet_accumulator::{Object, Tracked, View, diff};
use fleet_model::changes::each_touched;
use fleet_model::objects::offload::{OffloadConsent, PodDocument, PodIndex};
use fleet_plan::Affected;
use fleet_virtual_node::names;

use super::key::Key;
use crate::snapshot::MemberSnapshot;

/// Pods that are planned at once when what they share has changed; the others follow at the pace at which one agent writes.
const AT_ONCE: u32 = 50;
/// Time between two further ones: 50 in a second.
const APART: Duration = Duration::from_millis(20);

/// Adds the virtual nodes and Pods that a change affects.
pub(super) fn affected(old: &MemberSnapshot, new: &MemberSnapshot, keys: &mut Affected<Key>) {
    let executors = executors(old, new);
    for executor in &executors {
        keys.add(Key::Node(executor.clone()));
    }
    let mut pods = BTreeSet::new();
    let mut add = |pod: &Object<PodDocument>| {
        pods.insert(pod.uid.clone());
    };
    for executor in &executors {
        let node = names::node(executor);
        for snapshot in [old, new] {
            snapshot.virtual_pods.by(&PodIndex::Node(node.as_str().into())).for_each(&mut add);
        }
    }
    for namespace in namespaces(old, new) {
        new.virtual_pods.in_namespace(&namespace).for_each(&mut add);
    }
    for (at, uid) in (0_u32..).zip(pods) {
        let delay = APART.saturating_mul(at.saturating_sub(AT_ONCE));
        keys.add_after(Key::Pod(uid), delay);
    }
    own(old, new, keys);
}

/// What is about one Pod alone.
fn own(old: &MemberSnapshot, new: &MemberSnapshot, keys: &mut Affected<Key>) {
    each_touched(&old.virtual_pods, &new.virtual_pods, |pod| {
        keys.add(Key::Pod(pod.uid.clone()));
        // It counts the Pods that are bound to it.
        let executor = pod.node().and_then(names::executor_of);
        if let Some(executor) = executor {
            keys.add(Key::Node(executor.into()));
        }
    });
    each_touched(&old.pod_exports, &new.pod_exports, |export| {
        keys.add(Key::Pod((&*export.name.name).into()));
    });
}

/// Executors of which something has changed that all their Pods depend on.
fn executors(old: &MemberSnapshot, new: &MemberSnapshot) -> BTreeSet<Box<str>> {
    let mut found = BTreeSet::new();
    for change in diff(&old.virtual_nodes, &new.virtual_nodes) {
        let shared = |node: &Object<_>| shared(node);
        if change.old().map(shared) != change.new().map(shared) {
            let node = change.new().or_else(|| change.old());
            found.extend(node.map(|node| (*node.name.name).into()));
        }
    }
    each_touched(&old.virtual_node_objects, &new.virtual_node_objects, |node| {
        found.extend(names::executor_of(&node.name.name).map(Box::from));
    });
    let mut decided = |consent: &Object<OffloadConsent>| {
        found.extend(consent.object.accepted.keys().cloned());
    };
    each_touched(&old.offload_consent, &new.offload_consent, &mut decided);
    found
}

/// What of a virtual node matters to its Pods: not how many there are.
fn shared(
    node: &Object<fleet_model::objects::offload::VirtualNode>,
) -> (
    fleet_api::offload::VirtualNodeSpec,
    Option<fleet_api::offload::PeerLink>,
    bool,
    Option<fleet_api::offload::RegisteredNode>,
) {
    let status = &node.object.status;
    let registered = status.node.clone();
    (node.object.spec.clone(), status.executor.clone(), status.accepted, registered)
}

/// Namespaces with config maps or Secrets that have changed.
fn namespaces(old: &MemberSnapshot, new: &MemberSnapshot) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    in_view(&old.offload_config_maps, &new.offload_config_maps, &mut found);
    in_view(&old.offload_secrets, &new.offload_secrets, &mut found);
    found
}

/// The mark that one is known begins with its namespace, too.
fn in_view<T: Tracked>(old: &View<T>, new: &View<T>, found: &mut BTreeSet<String>) {
    each_touched(old, new, |object| {
        let name = &object.name;
        let marked = || name.name.split_once('/').map(|(namespace, _)| namespace.to_owned());
        let namespace =
            if name.namespace.is_empty() { marked() } else { Some(name.namespace.to_string()) };
        found.extend(namespace);
    });
}
