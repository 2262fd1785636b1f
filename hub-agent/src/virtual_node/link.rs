//! The links to members, as virtual nodes and offers have them.

use fleet_api::ObjectName;
use fleet_api::names::member_namespace;
use fleet_api::offload::{LinkState, PeerLink};
use fleet_api::traffic::{SilenceInstruction, SilenceState};
use fleet_model::objects::offload::Hearing;
use fleet_plan::conditions::whole_seconds;
use jiff::Timestamp;

use crate::snapshot::HubSnapshot;

/// The link to a member: what was reported before, as long as nothing else is known. `None` of a member that was not followed for
/// long enough.
///
/// One that was known and has left is silent: its Lease went with its namespace. To a hub that is built anew all are unknown, and may
/// be about to come back.
///
/// Its time begins anew when something else counts, not when a verdict comes or goes that agrees with the Lease. A verdict that is
/// missing may be one that the API server does not store, since it has an older definition.
pub(super) fn link(
    member: &str,
    before: Option<&PeerLink>,
    snapshot: &HubSnapshot,
    now: Timestamp,
) -> Option<PeerLink> {
    let before = before.filter(|before| before.cluster == member);
    let heard = snapshot.hearing.get(&Hearing::name(member));
    let state = heard.map(|heard| heard.state);
    let is_left = || before.is_some() && has_left(member, snapshot);
    let state = state.or_else(|| is_left().then_some(LinkState::Silent));
    let Some(state) = state else { return before.cloned() };
    let verdict = verdict(member, snapshot).filter(|_| heard.is_some());
    let since = whole_seconds(now);
    let link = PeerLink { cluster: member.to_owned(), state, verdict, since };
    let lasts = |before: &&PeerLink| {
        let counts_alike = before.verdict.is_none() || before.standing() == link.standing();
        before.state == state && counts_alike
    };
    let since = before.filter(lasts).map(|before| before.since.clone());
    Some(PeerLink { since: since.unwrap_or_else(|| link.since.clone()), ..link })
}

/// Whether a member has no namespace any more, or one that is being deleted.
fn has_left(member: &str, snapshot: &HubSnapshot) -> bool {
    let namespace = snapshot.namespaces.get(&ObjectName::cluster(member_namespace(member)));
    namespace.is_none_or(|namespace| namespace.terminating)
}

/// The verdict about a member. One without a Lease has none, and one that is never to be found silent is as its Lease is.
pub(super) fn verdict(member: &str, snapshot: &HubSnapshot) -> Option<LinkState> {
    let member = snapshot.member_traffics.get(&ObjectName::cluster(member))?;
    if member.spec.silence == SilenceInstruction::Never {
        return None;
    }
    match member.status.silence.as_ref()?.state {
        SilenceState::Silent => Some(LinkState::Silent),
        SilenceState::Heard | SilenceState::Held => Some(LinkState::Connected),
        SilenceState::Unmanaged => None,
    }
}
