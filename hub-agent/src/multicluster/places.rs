//! How many Services a member may export (`--max-services-per-member`): what is in force stays, and the oldest come into force.

use std::collections::BTreeSet;
use std::sync::Arc;

use fleet_accumulator::{Object, View};
use fleet_api::kinds;
use fleet_api::names::member_of_namespace;
use fleet_model::objects::multicluster::ExportedService;
use fleet_plan::Affected;

use super::keys::{Key, key_of};
use crate::Settings;
use crate::places::{Places, Refused, moved};
use crate::snapshot::HubSnapshot;

/// Whether its member may export this one, too. Only a member with more exports than it may have is looked at closer.
pub(super) fn has_place(
    settings: &Settings,
    export: &Object<ExportedService>,
    snapshot: &HubSnapshot,
) -> bool {
    let (exports, namespace) = (&snapshot.exported_services, &export.name.namespace);
    let limit = settings.max_services_per_member;
    !is_crowded(exports, namespace, limit)
        || Places::new(exports, namespace, limit).include(&export.name)
}

/// Adds the exports that have a place in one of two snapshots only, on the accounts of their members. `touched` are the
/// namespaces of members in which exports have changed.
pub(super) fn affected(
    (old, new): (&View<ExportedService>, &View<ExportedService>),
    touched: &BTreeSet<Arc<str>>,
    limit: usize,
    keys: &mut Affected<Key>,
) {
    let crowded = |namespace: &&Arc<str>| {
        is_crowded(old, namespace, limit) || is_crowded(new, namespace, limit)
    };
    for namespace in touched.iter().filter(crowded) {
        let of = |exports| Places::new(exports, namespace, limit);
        for export in moved(&of(old), &of(new)) {
            keys.add_for(namespace, key_of(export));
        }
    }
}

/// Counts the exports without a place. The cost depends on the size of the fleet: this is for scrapes, not for plans.
pub fn refused(settings: &Settings, snapshot: &HubSnapshot) -> Vec<Refused> {
    let limit = settings.max_services_per_member;
    let namespaces = snapshot.namespaces.iter().map(|namespace| &namespace.name.name);
    let members = namespaces.filter_map(|name| Some((name, member_of_namespace(name)?)));
    let refused = members.map(|(name, member)| {
        let count = snapshot.exported_services.tally(name).saturating_sub(limit);
        (member.to_owned(), kinds::EXPORTED_SERVICE, count)
    });
    refused.filter(|(.., count)| *count > 0).collect()
}

fn is_crowded(exports: &View<ExportedService>, namespace: &str, limit: usize) -> bool {
    exports.tally(namespace) > limit
}
