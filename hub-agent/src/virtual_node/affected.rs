//! The keys that a change affects, computed from the objects that changed.

use std::collections::BTreeSet;
use std::sync::Arc;

use fleet_accumulator::{Change, Object, diff};
use fleet_api::ObjectName;
use fleet_api::names::{member_namespace, member_of_namespace};
use fleet_api::offload::{PeerLink, Refusal};
use fleet_model::changes::each_touched;
use fleet_model::objects::offload::{PodExport, PodImport};
use fleet_plan::Affected;

use super::evidence::shows_absence;
use super::import::takes_place;
use super::key::Key;
use super::link::verdict;
use super::members;
use crate::snapshot::HubSnapshot;

pub(super) fn affected(old: &HubSnapshot, new: &HubSnapshot, keys: &mut Affected<Key>) {
    pods(old, new, keys);
    nodes(old, new, keys);
    offers(old, new, keys);
    members_changed(old, new, keys);
    if !shows_absence(old) && shows_absence(new) {
        new.pod_imports.iter().for_each(|import| of_import(import, keys));
        for node in new.virtual_nodes.iter() {
            node_key(&node.name.namespace, &node.spec.executor, keys);
        }
    }
}

fn of_export(export: &Object<PodExport>, keys: &mut Affected<Key>) {
    if let Some(origin) = member_of_namespace(&export.name.namespace) {
        let (origin, uid) = (origin.into(), Arc::clone(&export.name.name));
        keys.add_for(&export.name.namespace, Key::Pod { origin, uid });
    }
}

fn of_import(import: &Object<PodImport>, keys: &mut Affected<Key>) {
    if let Some((origin, uid)) = PodImport::source(&import.name.name) {
        let (origin, uid) = (origin.into(), uid.into());
        keys.add_for(&import.name.namespace, Key::Pod { origin, uid });
    }
}

fn node_key(origin_namespace: &Arc<str>, executor: &str, keys: &mut Affected<Key>) {
    if let Some(origin) = member_of_namespace(origin_namespace) {
        let (origin, executor) = (origin.into(), executor.into());
        keys.add_for(origin_namespace, Key::Node { origin, executor });
    }
}

fn pods(old: &HubSnapshot, new: &HubSnapshot, keys: &mut Affected<Key>) {
    let mut freed = BTreeSet::new();
    for change in diff(&old.pod_exports, &new.pod_exports) {
        change.old().into_iter().chain(change.new()).for_each(|export| of_export(export, keys));
        if let Change::Removed(export) = change {
            node_key(&export.name.namespace, &export.spec.executor, keys);
        }
    }
    let mut executors = BTreeSet::new();
    for change in diff(&old.pod_imports, &new.pod_imports) {
        change.old().into_iter().chain(change.new()).for_each(|import| of_import(import, keys));
        if !matches!(change, Change::Updated { .. }) {
            let import = change.old().or_else(|| change.new());
            executors.extend(import.map(|import| Arc::clone(&import.name.namespace)));
        }
        // One that is gone leaves a place among those of its origin, even if it used nothing of the offer.
        let is_gone = change.new().is_none();
        if !change.new().is_some_and(|import| takes_place(import)) {
            let before = change.old().filter(|import| is_gone || takes_place(import));
            freed.extend(before.map(|import| Arc::clone(&import.name.namespace)));
        }
    }
    for executor in executors {
        new.offload_offers.in_namespace(&executor).for_each(|offer| {
            keys.add_for(&executor, Key::Offer(offer.name.clone()));
        });
    }
    for executor in freed {
        waiting(&executor, new, keys);
    }
}

/// Pods of any origin that found no place where one has become free.
fn waiting(executor: &str, new: &HubSnapshot, keys: &mut Affected<Key>) {
    let Some(executor) = member_of_namespace(executor) else { return };
    let waiting = new.pod_exports.by(&executor.into());
    let full = |export: &&Object<PodExport>| {
        let rejected = export.status.rejected.as_ref();
        rejected.is_some_and(|rejected| rejected.reason == Refusal::QuotaExceeded)
    };
    waiting.filter(full).for_each(|export| of_export(export, keys));
}

fn nodes(old: &HubSnapshot, new: &HubSnapshot, keys: &mut Affected<Key>) {
    for change in diff(&old.virtual_nodes, &new.virtual_nodes) {
        let Some(node) = change.new().or_else(|| change.old()) else { continue };
        let executor = node.spec.executor.as_str();
        node_key(&node.name.namespace, executor, keys);
        let namespace = member_namespace(executor);
        for offer in new.offload_offers.in_namespace(&namespace) {
            keys.add_for(&offer.name.namespace, Key::Offer(offer.name.clone()));
        }
        let terms = |node: &Object<_>| {
            let node: &fleet_model::objects::offload::VirtualNode = &node.object;
            (node.spec.clone(), node.status.abandoned)
        };
        if change.old().map(terms) != change.new().map(terms) {
            let exports = new.pod_exports.by(&executor.into());
            let own = exports.filter(|export| export.name.namespace == node.name.namespace);
            own.for_each(|export| of_export(export, keys));
        }
    }
}

fn offers(old: &HubSnapshot, new: &HubSnapshot, keys: &mut Affected<Key>) {
    for change in diff(&old.offload_offers, &new.offload_offers) {
        let Some(offer) = change.new().or_else(|| change.old()) else { continue };
        let Some(executor) = member_of_namespace(&offer.name.namespace) else { continue };
        let links = |offer: &Object<fleet_model::objects::offload::OffloadOffer>| {
            offer.status.origins.clone()
        };
        let (before, after) = (change.old().map(links), change.new().map(links));
        turned(&offer.name.namespace, before.as_deref(), after.as_deref(), new, keys);
        of_executor(executor, new, keys);
    }
}

/// Everything about an executor: its offers, and its virtual nodes.
fn of_executor(executor: &str, new: &HubSnapshot, keys: &mut Affected<Key>) {
    let namespace = member_namespace(executor);
    for offer in new.offload_offers.in_namespace(&namespace) {
        keys.add_for(&offer.name.namespace, Key::Offer(offer.name.clone()));
    }
    for origin in members::members(new).filter(|origin| *origin != executor) {
        node_key(&member_namespace(origin).into(), executor, keys);
    }
}

/// The Pods of origins that have become silent, or give signs of life again.
fn turned(
    namespace: &str,
    before: Option<&[PeerLink]>,
    after: Option<&[PeerLink]>,
    new: &HubSnapshot,
    keys: &mut Affected<Key>,
) {
    let before = before.unwrap_or_default();
    for link in after.unwrap_or_default().iter().filter(|link| !before.contains(link)) {
        let imports = new.pod_imports.by(&ObjectName::cluster(link.cluster.as_str()));
        let here = imports.filter(|import| *import.name.namespace == *namespace);
        here.for_each(|import| of_import(import, keys));
    }
}

fn members_changed(old: &HubSnapshot, new: &HubSnapshot, keys: &mut Affected<Key>) {
    let mut members: BTreeSet<Arc<str>> = BTreeSet::new();
    each_touched(&old.member_clusters, &new.member_clusters, |cluster| {
        members.insert(Arc::clone(&cluster.name.name));
    });
    let mut of_namespace = |namespace: &str| {
        members.extend(member_of_namespace(namespace).map(Arc::<str>::from));
    };
    each_touched(&old.member_policies, &new.member_policies, |policy| {
        of_namespace(&policy.name.namespace);
    });
    each_touched(&old.namespaces, &new.namespaces, |namespace| of_namespace(&namespace.name.name));
    for member in &members {
        of_executor(member, new, keys);
        new.pod_exports.by(member).for_each(|export| of_export(export, keys));
        let imports = new.pod_imports.in_namespace(&member_namespace(member));
        imports.for_each(|import| of_import(import, keys));
    }
    let mut heard = BTreeSet::new();
    each_touched(&old.hearing, &new.hearing, |hearing| {
        heard.insert(Arc::clone(&hearing.name.name));
    });
    each_touched(&old.member_traffics, &new.member_traffics, |member| {
        let name = &member.name.name;
        if verdict(name, old) != verdict(name, new) {
            heard.insert(Arc::clone(name));
        }
    });
    for member in &heard {
        for node in new.virtual_nodes.by(member) {
            node_key(&node.name.namespace, member, keys);
        }
        let imports = new.pod_imports.by(&ObjectName::cluster(Arc::clone(member)));
        let here = new.pod_imports.in_namespace(&member_namespace(member));
        imports.chain(here).for_each(|import| of_import(import, keys));
        // Those that end wait for an executor that is away.
        let exports = new.pod_exports.by(member).filter(|export| export.meta.is_terminating());
        exports.for_each(|export| of_export(export, keys));
    }
    // As an origin, a member that has changed concerns all offers.
    if !members.is_empty() || !heard.is_empty() {
        for offer in new.offload_offers.iter() {
            let namespace = &offer.name.namespace;
            keys.add_for(namespace, Key::Offer(offer.name.clone()));
            for member in &members {
                let executor = member_of_namespace(namespace).filter(|name| **name != **member);
                if let Some(executor) = executor {
                    node_key(&member_namespace(member).into(), executor, keys);
                }
            }
        }
    }
}
