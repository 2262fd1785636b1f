//! Which members an offer is for.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use fleet_accumulator::Object;
use fleet_api::ObjectName;
use fleet_api::names::{member_namespace, member_of_namespace};
use fleet_model::cidr::Cidrs;
use fleet_model::objects::offload::OffloadOffer;
use fleet_model::objects::{MemberPolicy, by_age};

use crate::snapshot::HubSnapshot;

/// How many members one executor runs Pods for, at most.
pub(super) const MOST_ORIGINS: usize = 20;

/// All members that have a namespace which takes objects, by name.
pub(super) fn members(snapshot: &HubSnapshot) -> impl Iterator<Item = &str> {
    let namespaces = snapshot.namespaces.iter().filter(|namespace| !namespace.terminating);
    namespaces.filter_map(|namespace| member_of_namespace(&namespace.name.name))
}

/// Whether a member's namespace exists at all.
pub(super) fn has_namespace(member: &str, snapshot: &HubSnapshot) -> bool {
    snapshot.namespaces.get(&ObjectName::cluster(member_namespace(member))).is_some()
}

/// Offers of an executor that are not being deleted, oldest first.
pub(super) fn offers<'a>(
    executor: &str,
    snapshot: &'a HubSnapshot,
) -> Vec<&'a Object<OffloadOffer>> {
    let all = snapshot.offload_offers.in_namespace(&member_namespace(executor));
    let mut live: Vec<_> = all.filter(|offer| !offer.meta.is_terminating()).collect();
    live.sort_by(|a, b| by_age(a, b));
    live
}

/// Ranges of a member's Pods, as the hub's administrators have registered them.
pub(super) fn ranges(member: &str, snapshot: &HubSnapshot) -> Cidrs {
    let policy = MemberPolicy::in_namespace(&member_namespace(member));
    snapshot.member_policies.get(&policy).map(|policy| policy.cidrs.clone()).unwrap_or_default()
}

static NO_LABELS: BTreeMap<String, String> = BTreeMap::new();

/// Labels that the hub's administrators gave a member.
pub(super) fn labels<'a>(member: &str, snapshot: &'a HubSnapshot) -> &'a BTreeMap<String, String> {
    let cluster = snapshot.member_clusters.get(&ObjectName::cluster(member));
    cluster.map_or(&NO_LABELS, |cluster| &cluster.object.labels)
}

/// Why an offer makes no virtual node for a member that it selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// The ranges of Pods of both overlap, so that one address means two Pods.
    Overlap,
    /// There are as many as one executor serves.
    TooMany,
}

/// The members that an offer selects, with what is in the way.
pub(super) fn selected<'a>(
    offer: &Object<OffloadOffer>,
    snapshot: &'a HubSnapshot,
) -> Vec<(&'a str, Option<Obstacle>)> {
    let Some(executor) = member_of_namespace(&offer.name.namespace) else { return Vec::new() };
    let selector = &offer.spec.origin_selector;
    let selects =
        |member: &&str| *member != executor && selector.selects(member, labels(member, snapshot));
    let mut all: Vec<_> = members(snapshot).filter(selects).collect();
    let has_node = |member: &str| {
        let name = ObjectName::new(member_namespace(member), executor);
        snapshot.virtual_nodes.get(&name).is_some()
    };
    // Those that are served stay.
    all.sort_by_key(|member| (Reverse(has_node(member)), *member));
    let own = ranges(executor, snapshot);
    let obstacle = |(at, member): (usize, &'a str)| {
        let overlaps = own.overlap(&ranges(member, snapshot));
        let too_many = (at >= MOST_ORIGINS).then_some(Obstacle::TooMany);
        (member, if overlaps { Some(Obstacle::Overlap) } else { too_many })
    };
    all.into_iter().enumerate().map(obstacle).collect()
}

/// The offer of an executor that counts for a member: the oldest one that selects it.
pub(super) fn offer_for<'a>(
    executor: &str,
    origin: &str,
    snapshot: &'a HubSnapshot,
) -> Option<&'a Object<OffloadOffer>> {
    let counts = |offer: &&Object<OffloadOffer>| {
        // Most offers name their members: only a match is looked at closer.
        let selector = &offer.spec.origin_selector;
        selector.selects(origin, labels(origin, snapshot))
            && selected(offer, snapshot).contains(&(origin, None))
    };
    offers(executor, snapshot).into_iter().find(counts)
}
