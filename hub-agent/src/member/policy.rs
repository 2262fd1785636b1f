//! Member policies that cannot be read, which are reported: nothing is withdrawn because of them.

use fleet_api::events;
use fleet_model::objects::MemberPolicy;
use fleet_model::steps::HUB;
use fleet_plan::Event;
use fleet_plan::text::truncate;

use super::keys::Member;
use crate::Settings;
use crate::snapshot::HubSnapshot;

/// Maximum length of the reason, in bytes: it quotes the policy.
const MAX_REASON: usize = 256;

/// Reports the policy of a member, unless it can be read.
pub(super) fn report(
    settings: &Settings,
    member: &Member,
    snapshot: &HubSnapshot,
) -> Option<Event> {
    let policy = snapshot.member_policies.get(&MemberPolicy::in_namespace(&member.namespace()))?;
    let reason = policy.lists.as_ref().err().filter(|_| settings.enforce_member_policies)?;
    let reason = truncate(reason, MAX_REASON);
    let note = format!("not read, so that nothing is withdrawn because of it: {reason}");
    Some(HUB.warning(policy, events::MEMBER_POLICY_UNREADABLE, note))
}
