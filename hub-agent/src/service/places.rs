//! How many Services a member may export (`--max-services-per-member`).
//!
//! Exports in force stay, and take their places first. What is left is for the oldest of those that wait to be accepted.

use std::collections::BTreeSet;
use std::sync::Arc;

use fleet_accumulator::{Object, View};
use fleet_model::objects::InternalServiceExport;
use fleet_plan::Affected;

use super::keys::{Key, key_of};
use crate::places::{Places, moved};

type Exports = View<InternalServiceExport>;

/// Whether its member may export this one, too.
pub(super) fn has_place(
    exports: &Exports,
    export: &Object<InternalServiceExport>,
    limit: usize,
) -> bool {
    export.is_in_force() || places(exports, &export.name.namespace, limit).include(&export.name)
}

/// How many exports of a member have no place.
pub(super) fn without_place(exports: &Exports, namespace: &str, limit: usize) -> usize {
    places(exports, namespace, limit).lacking()
}

/// Adds the exports that have a place in one of two snapshots only, on the accounts of their members. `touched` are the
/// namespaces of members in which exports have changed.
pub(super) fn affected(
    (old, new): (&Exports, &Exports),
    touched: &BTreeSet<Arc<str>>,
    limit: usize,
    keys: &mut Affected<Key>,
) {
    for namespace in touched {
        let of = |exports| places(exports, namespace, limit);
        for export in moved(&of(old), &of(new)) {
            keys.add_for(namespace, key_of(export));
        }
    }
}

/// What is free beside the exports in force.
fn places<'a>(
    exports: &'a Exports,
    namespace: &'a str,
    limit: usize,
) -> Places<'a, InternalServiceExport> {
    Places::new(exports, namespace, limit.saturating_sub(exports.tally(namespace)))
}
