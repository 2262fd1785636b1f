//! What is reported to an offer, and when one that was deleted may go.

use std::collections::BTreeSet;
use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::names::member_of_namespace;
use fleet_api::offload::{OffloadOfferStatus, PeerLink, VirtualNodePhase};
use fleet_api::{ObjectName, finalizers};
use fleet_model::objects::offload::{OffloadOffer, PodImport};
use fleet_model::steps::HUB;
use fleet_plan::Plan;
use fleet_virtual_node::hub::{free, used};
use jiff::Timestamp;

use super::link;
use super::members::{self, Obstacle, offer_for, offers, selected};
use crate::snapshot::HubSnapshot;

/// Links of an offer, as its definition has it.
const MOST_LINKS: usize = 64;

/// Pods come and go many at a time: what they use is reported once.
const USAGE_DELAY: Duration = Duration::from_secs(1);

pub(super) fn plan(name: &ObjectName, snapshot: &HubSnapshot, now: Timestamp, plan: &mut Plan) {
    let Some(offer) = snapshot.offload_offers.get(name) else { return };
    let Some(executor) = member_of_namespace(&name.namespace) else { return };
    if offer.meta.is_terminating() {
        if !is_in_force(executor, snapshot) {
            plan.steps.extend(HUB.remove_finalizer(offer, finalizers::OFFLOAD_OFFER));
        }
        return;
    }
    if let Some(step) = HUB.add_finalizer(offer, finalizers::OFFLOAD_OFFER) {
        plan.push(step);
        return;
    }
    report(executor, offer, snapshot, now, plan);
}

/// Whether a virtual node still shows what no offer makes any more.
fn is_in_force(executor: &str, snapshot: &HubSnapshot) -> bool {
    let nodes = snapshot.virtual_nodes.by(&executor.into());
    let mut live = nodes.filter(|node| node.spec.phase != VirtualNodePhase::Withdrawn);
    live.any(|node| {
        let origin = member_of_namespace(&node.name.namespace);
        origin.is_some_and(|origin| offer_for(executor, origin, snapshot).is_none())
    })
}

fn report(
    executor: &str,
    offer: &Object<OffloadOffer>,
    snapshot: &HubSnapshot,
    now: Timestamp,
    plan: &mut Plan,
) {
    let selected = selected(offer, snapshot);
    let served = selected.iter().filter(|(_, obstacle)| obstacle.is_none()).map(|(name, _)| *name);
    let imports = || snapshot.pod_imports.in_namespace(&offer.name.namespace);
    // Whose Pods still run counts on it, even if no more are taken.
    let origins = imports().filter_map(|import| Some(PodImport::source(&import.name.name)?.0));
    let origins: BTreeSet<_> = served.chain(origins).collect();
    let used = used(imports().map(|import| &*import.export), &offer.spec.capacity);
    let status = OffloadOfferStatus {
        free: Some(free(&offer.spec.capacity, &used)),
        used: Some(used),
        withdrawn: obstacle(executor, offer, &selected, snapshot),
        origins: links(&offer.status.origins, origins, snapshot, now),
    };
    if status == offer.status {
        return;
    }
    let same = |status: &OffloadOfferStatus| (status.withdrawn.clone(), status.origins.clone());
    let step = HUB.status(offer, &status);
    if same(&status) == same(&offer.status) {
        plan.debounce(USAGE_DELAY, "what Pods use of the offer", step);
    } else {
        plan.push(step);
    }
}

/// The links to members, by name. One that was not followed for long enough keeps what was reported.
fn links(
    before: &[PeerLink],
    members: BTreeSet<&str>,
    snapshot: &HubSnapshot,
    now: Timestamp,
) -> Vec<PeerLink> {
    let link = |member: &str| {
        let known = before.iter().find(|link| link.cluster == member);
        link::link(member, known, snapshot, now)
    };
    members.into_iter().filter_map(link).take(MOST_LINKS).collect()
}

/// Why the offer is not in force, or not for all that it selects.
fn obstacle(
    executor: &str,
    offer: &Object<OffloadOffer>,
    selected: &[(&str, Option<Obstacle>)],
    snapshot: &HubSnapshot,
) -> Option<String> {
    let with = |obstacle: &Obstacle| {
        let of = selected.iter().filter(|(_, found)| found.as_ref() == Some(obstacle));
        let names: Vec<_> = of.map(|(name, _)| *name).take(5).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let older = offers(executor, snapshot).into_iter().next();
    if members::ranges(executor, snapshot).is_empty() {
        Some(format!("the member policy of {executor} has no ranges of its pods (cidrs)"))
    } else if selected.is_empty() {
        Some("it selects no member".to_owned())
    } else if let Some(names) = with(&Obstacle::Overlap) {
        Some(format!("ranges of pods overlap those of {names}"))
    } else if let Some(names) = with(&Obstacle::TooMany) {
        let most = members::MOST_ORIGINS;
        Some(format!("{names} and others are not served: it selects more than {most} members"))
    } else {
        let older = older.filter(|older| older.name != offer.name);
        let all = |older: &&Object<OffloadOffer>| {
            let names = self::selected(older, snapshot);
            selected.iter().all(|member| names.contains(member))
        };
        older.filter(all).map(|older| format!("the older offer {} counts", older.name.name))
    }
}
