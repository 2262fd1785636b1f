//! Exports and requests that do not count for their Service, and why.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use fleet_accumulator::{Object, Uid, View};
use fleet_api::{ObjectName, events};
use fleet_model::objects::InternalServiceExport;
use fleet_model::steps::HUB;
use fleet_plan::Event;

use super::owned::{Export, Owned};
use super::permission::permits;
use super::places;
use super::refusable::Refusable;
use crate::Settings;
use crate::snapshot::HubSnapshot;

/// The flag that limits how many Services a member exports.
const MAX_SERVICES: &str = "--max-services-per-member";

/// Why an export or a request does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal<'a> {
    /// Its member has an older one, of this name, that is not being deleted.
    Duplicate(&'a ObjectName),
    /// Services of the namespace are not shared, and this one was not before.
    NamespaceDenied,
    /// The member policy does not list its Service.
    PolicyDenied,
    /// Its member exports as many Services as it may, which is this many.
    NoPlace(usize),
}

impl Refusal<'_> {
    /// The Event about an export or a request of `service`.
    pub(super) fn event<T: Refusable>(self, object: &Object<T>, service: &ObjectName) -> Event {
        match self {
            Self::Duplicate(older) => {
                let verb = T::VERB;
                let note = format!("rejected: {older}, which is older, {verb} service {service}");
                HUB.warning(object, events::DUPLICATE, note)
            }
            Self::NamespaceDenied => {
                let namespace = &service.namespace;
                let note = format!("rejected: the hub shares no services of namespace {namespace}");
                HUB.warning(object, events::NAMESPACE_DENIED, note)
            }
            Self::PolicyDenied => {
                let verb = T::VERB;
                let note =
                    format!("rejected: the member policy does not list {service} among its {verb}");
                HUB.warning(object, events::POLICY_DENIED, note)
            }
            Self::NoPlace(limit) => {
                let note = format!(
                    "rejected: the member exports as many services as the hub accepts of a member \
                     ({MAX_SERVICES}={limit})"
                );
                HUB.warning(object, events::LIMIT_EXCEEDED, note)
            }
        }
    }
}

/// The exports, or the requests, of a Service that are refused, by uid. `owned` is sorted, oldest first. What the member policy
/// does not list has no other reason: it is withdrawn even if it is in force.
pub(super) fn refusals<'a, T: Refusable>(
    settings: &Settings,
    service: &ObjectName,
    owned: &[Owned<'a, T>],
    snapshot: &HubSnapshot,
) -> BTreeMap<&'a Uid, Refusal<'a>> {
    let live = || owned.iter().filter(|it| !it.object.meta().is_terminating());
    let denied = settings.denied_namespaces.include(&service.namespace);
    let new = live().filter(|it| denied && !it.object.object.in_force());
    let new = new.map(|it| (&it.object.uid, Refusal::NamespaceDenied));
    let policies = &snapshot.member_policies;
    let enforced = settings.enforce_member_policies;
    let unlisted = live().filter(|it| enforced && !permits(policies, it.object, service));
    let unlisted = unlisted.map(|it| (&it.object.uid, Refusal::PolicyDenied));
    duplicates(live()).chain(new).chain(unlisted).collect()
}

/// The exports of a Service that their members may not make, because they have as many. Those that are `refused` already are
/// left out, so that each member has one at most: looking for its place costs as much as there are places.
pub(super) fn without_place<'a>(
    settings: &Settings,
    all: &View<InternalServiceExport>,
    exports: &[Export<'a>],
    refused: &BTreeMap<&'a Uid, Refusal<'a>>,
) -> Vec<(&'a Uid, Refusal<'a>)> {
    let limit = settings.max_services_per_member;
    let live = exports.iter().filter(|export| !export.object.meta.is_terminating());
    let others = live.filter(|export| !refused.contains_key(&export.object.uid));
    let without = others.filter(|export| !places::has_place(all, export.object, limit));
    without.map(|export| (&export.object.uid, Refusal::NoPlace(limit))).collect()
}

/// The limit of Services that the message of a rejected export names.
pub fn limit_named_in(message: &str) -> Option<usize> {
    let (_, rest) = message.split_once(MAX_SERVICES)?;
    rest.strip_prefix('=')?.split(')').next()?.parse().ok()
}

/// Those of members that have an older one.
fn duplicates<'b, 'a: 'b, T: 'a>(
    live: impl Iterator<Item = &'b Owned<'a, T>>,
) -> impl Iterator<Item = (&'a Uid, Refusal<'a>)> {
    let mut oldest = BTreeMap::new();
    live.filter_map(move |it| match oldest.entry(it.member) {
        Entry::Vacant(entry) => {
            entry.insert(&it.object.name);
            None
        }
        Entry::Occupied(entry) => {
            let older = *entry.get();
            Some((&it.object.uid, Refusal::Duplicate(older)))
        }
    })
}
