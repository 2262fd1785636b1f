//! How many Services a member may export (`--max-services-per-member`).
//!
//! Exports in force stay, and take their places first. What is left is for the oldest of those that wait to be accepted, in
//! an order that the hub stores: a restart of the hub agent changes nothing.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use fleet_accumulator::{Object, View};
use fleet_api::ObjectName;
use fleet_model::objects::{InternalServiceExport, waiting_exports};
use fleet_plan::Affected;

use super::keys::{Key, key_of};

type Exports = View<InternalServiceExport>;
/// Where an export that waits stands in the order of its member.
type Place = (ObjectName, ObjectName);

/// Whether its member may export this one, too.
pub(super) fn has_place(
    exports: &Exports,
    export: &Object<InternalServiceExport>,
    limit: usize,
) -> bool {
    export.is_in_force()
        || admitted(exports, &export.name.namespace, limit).any(|(_, name)| *name == export.name)
}

/// How many exports of a member have no place.
pub(super) fn without_place(exports: &Exports, namespace: &str, limit: usize) -> usize {
    let waiting = exports.filed(waiting_exports(namespace)).count();
    waiting.saturating_sub(free(exports, namespace, limit))
}

/// Adds the exports that have a place in one of two snapshots only, on the accounts of their members. The others of a
/// member are not planned again. `touched` are the namespaces of members in which exports have changed.
pub(super) fn affected(
    (old, new): (&Exports, &Exports),
    touched: &BTreeSet<Arc<str>>,
    limit: usize,
    keys: &mut Affected<Key>,
) {
    for namespace in touched {
        if !is_crowded(old, namespace, limit) && !is_crowded(new, namespace, limit) {
            continue;
        }
        let last = [old, new].map(|exports| admitted(exports, namespace, limit).last());
        let [from, to] = if last[0] <= last[1] { last } else { [last[1], last[0]] };
        let Some(to) = to.filter(|_| from != to) else { continue };
        let (begin, _) = waiting_exports(namespace);
        let from = from.map_or(begin, |place| Bound::Excluded(place.clone()));
        let moved = new.filed((from, Bound::Included(to.clone())));
        for export in moved.filter_map(|(_, name)| new.get(name)) {
            keys.add_for(namespace, key_of(export));
        }
    }
}

/// The exports that wait and that have a place, oldest first.
fn admitted<'a>(
    exports: &'a Exports,
    namespace: &str,
    limit: usize,
) -> impl Iterator<Item = &'a Place> + use<'a> {
    exports.filed(waiting_exports(namespace)).take(free(exports, namespace, limit))
}

/// Whether there is an export without a place.
fn is_crowded(exports: &Exports, namespace: &str, limit: usize) -> bool {
    let mut waiting = exports.filed(waiting_exports(namespace));
    waiting.nth(free(exports, namespace, limit)).is_some()
}

/// How many exports of a member may come into force.
fn free(exports: &Exports, namespace: &str, limit: usize) -> usize {
    limit.saturating_sub(exports.tally(namespace))
}
