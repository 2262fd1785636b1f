//! The keys that a change affects.

use std::collections::BTreeSet;

use fleet_accumulator::{Object, diff};
use fleet_api::ObjectName;
use fleet_api::offload::{OffloadTerms, PeerLink};
use fleet_model::changes::each_touched;
use fleet_model::objects::offload::{OffloadOffer, PodDocument, PodImport};
use fleet_plan::Affected;
use fleet_virtual_node::names;

use super::key::Key;
use crate::Identity;
use crate::phase::Phase;
use crate::snapshot::MemberSnapshot;

/// Adds what a change affects.
pub(super) fn affected(
    identity: &Identity,
    old: &MemberSnapshot,
    new: &MemberSnapshot,
    keys: &mut Affected<Key>,
) {
    if Phase::changed(identity, old, new) {
        keys.add(Key::Offer);
    }
    let mut spaces = BTreeSet::new();
    // What one Pod used, or was to use, another one waits for.
    let mut frees = false;
    for change in diff(&old.pod_imports, &new.pod_imports) {
        for import in change.old().into_iter().chain(change.new()) {
            keys.add(Key::Pod(source_of(import)));
            spaces.insert(namespace_of(import));
        }
        // One that is refused once more frees nothing more.
        let is_refused = |import: &Object<PodImport>| import.object.status.rejected.is_some();
        frees |= match (change.old(), change.new()) {
            (_, None) => true,
            (old, Some(new)) => is_refused(new) && !old.is_some_and(is_refused),
        };
    }
    for change in diff(&old.remote_pods, &new.remote_pods) {
        for pod in change.old().into_iter().chain(change.new()) {
            if let Some(source) = source(pod) {
                keys.add(Key::Pod(source));
            }
        }
        // A namespace without Pods may go.
        if change.new().is_none_or(|pod| pod.object.has_ended()) {
            let space = change.old().or_else(|| change.new()).map(|pod| &*pod.name.namespace);
            spaces.extend(space.map(str::to_owned));
            frees = true;
        }
    }
    if frees {
        refused(new, keys);
    }
    let mut changed = BTreeSet::new();
    each_touched(&old.namespaces, &new.namespaces, |space| {
        let name = &space.name.name;
        if space.object.offload.is_some() {
            spaces.insert(name.to_string());
        }
        changed.insert(name.to_string());
    });
    if !changed.is_empty() {
        let waiting = new.pod_imports.iter().filter(|one| changed.contains(&namespace_of(one)));
        waiting.for_each(|import| keys.add(Key::Pod(source_of(import))));
    }
    for space in spaces {
        keys.add(Key::Namespace(space.into()));
    }
    offers(old, new, keys);
}

/// What this cluster offers concerns all Pods; so does whether their members are silent.
fn offers(old: &MemberSnapshot, new: &MemberSnapshot, keys: &mut Affected<Key>) {
    let decided = diff(&old.offload_consent, &new.offload_consent).next().is_some();
    let offered = diff(&old.offload_offers, &new.offload_offers).next().is_some();
    // An offer that was taken back goes after the last of them.
    let has_imports =
        |seen: &MemberSnapshot| (seen.pod_imports.bootstrapped(), seen.pod_imports.is_empty());
    if decided || offered || has_imports(old) != has_imports(new) {
        keys.add(Key::Offer);
    }
    let heard = |snapshot: &MemberSnapshot| -> Vec<(OffloadTerms, Vec<PeerLink>)> {
        let shown = |offer: &Object<OffloadOffer>| {
            (offer.object.spec.terms.clone(), offer.object.status.origins.clone())
        };
        snapshot.offload_offers.iter().map(shown).collect()
    };
    if decided || offered && heard(old) != heard(new) {
        new.pod_imports.iter().for_each(|import| keys.add(Key::Pod(source_of(import))));
    }
}

/// Pods that are not taken yet.
fn refused(new: &MemberSnapshot, keys: &mut Affected<Key>) {
    let refused = new.pod_imports.iter().filter(|import| import.object.status.rejected.is_some());
    refused.for_each(|import| keys.add(Key::Pod(source_of(import))));
}

/// The member and the uid that an import is for: the hub agent has given it its name.
fn source_of(import: &Object<PodImport>) -> ObjectName {
    match PodImport::source(&import.name.name) {
        Some((member, uid)) => ObjectName::new(member, uid),
        None => ObjectName::new("", &*import.name.name),
    }
}

/// The member and the uid that a Pod is for.
fn source(pod: &Object<PodDocument>) -> Option<ObjectName> {
    pod.object.origin().map(|(member, uid)| ObjectName::new(member, uid))
}

fn namespace_of(import: &Object<PodImport>) -> String {
    let origin = &import.object.export.origin;
    names::namespace(&origin.cluster, &origin.namespace)
}
