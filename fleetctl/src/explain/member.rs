//! Whether a member takes part in the fleet.

use fleet_api::ObjectName;
use hub_agent::heartbeat::{heartbeat_timeout, last_heartbeat};
use member_agent::fence::Fence;
use member_agent::phase::Phase;

use super::words::{age, look};
use crate::picture::{Member, Picture};
use crate::status::waiting;
use crate::story::{Cause, Hop};

const OBJECT: &str = "member agent";

/// The member's namespace on the hub, which cluster it is, and its last heartbeat.
pub(super) fn hops(picture: &Picture, name: &str, member: &Member) -> Vec<Hop> {
    let identity = &member.settings.identity;
    let key = ObjectName::cluster(identity.hub_namespace.as_str());
    if picture.hub.namespaces.get(&key).is_none() {
        return vec![Hop::stop(
            name,
            OBJECT,
            Cause::MemberHomeMissing,
            format!("the hub has no namespace {} for it", identity.hub_namespace),
            format!("fleetctl join {}", crate::shell::quoted(name)),
        )];
    }
    if let Fence::Taken(taken) = Fence::of(identity, &member.snapshot) {
        return vec![Hop::stop(
            name,
            OBJECT,
            Cause::OtherCluster,
            format!(
                "the hub has recorded another cluster as {name} (uid {}, here {}), so this one writes nothing",
                taken.recorded, taken.own
            ),
            format!(
                "use the context of the recorded cluster, or let this one replace it: fleetctl join {} --replace",
                crate::shell::quoted(name)
            ),
        )];
    }
    if let Some(object) = waiting(picture, member) {
        return vec![Hop::ok(
            name,
            OBJECT,
            format!(
                "it is asked to leave the fleet and waits for a confirmation; {}",
                object.how_to_confirm(&object.name)
            ),
        )];
    }
    match Phase::of(identity, &member.snapshot) {
        Phase::Leaving => vec![Hop::stop(
            name,
            OBJECT,
            Cause::MemberLeaving,
            "it is asked to leave the fleet, and withdraws its exports and imports",
            format!(
                "wait until it has left, or cancel leaving: fleetctl join {}",
                crate::shell::quoted(name)
            ),
        )],
        Phase::Left => vec![Hop::stop(
            name,
            OBJECT,
            Cause::MemberLeft,
            "it has left the fleet",
            format!("fleetctl join {}", crate::shell::quoted(name)),
        )],
        Phase::Member => heartbeat(picture, name, member).into_iter().collect(),
    }
}

fn heartbeat(picture: &Picture, name: &str, member: &Member) -> Option<Hop> {
    let identity = &member.settings.identity;
    let key = ObjectName::new(identity.hub_namespace.as_str(), name);
    let membership = picture.hub.internal_members.get(&key)?;
    let Some(last) = last_heartbeat(membership) else {
        let says = "its agent has never sent a heartbeat";
        return Some(Hop::stop(name, OBJECT, Cause::MemberSilent, says, look(picture, name)));
    };
    let silence = picture.heard.duration_since(last);
    if silence < heartbeat_timeout(&picture.settings, membership) {
        return Some(Hop::ok(name, OBJECT, format!("last heartbeat {} ago", age(silence))));
    }
    let says = format!(
        "the last heartbeat of its agent was {} ago ({last} by the member's clock); its endpoints stay, but changes do not arrive",
        age(silence)
    );
    Some(Hop::stop(name, OBJECT, Cause::MemberSilent, says, look(picture, name)))
}
