//! Members that are asked to leave and wait for a confirmation, since much would be deleted. Administrators are informed where they
//! have asked for it.

use fleet_api::events;
use fleet_model::steps::HUB;
use fleet_plan::Plan;

use super::keys::Member;
use crate::snapshot::HubSnapshot;

/// Reports a member that waits on its InternalMemberCluster, and on its MemberCluster where KubeFleet manages it. The words are the
/// hub agent's: the member's could lead an administrator to do anything.
pub(super) fn plan(member: &Member, snapshot: &HubSnapshot, plan: &mut Plan) {
    let object = snapshot.internal_members.get(&member.internal());
    let Some(object) = object.filter(|object| object.waits_for_confirmation()) else { return };
    let namespace = member.namespace();
    let exports = snapshot.internal_exports.in_namespace(&namespace).count();
    let imports = snapshot.internal_imports.in_namespace(&namespace).count();
    let how = object.how_to_confirm(&object.name);
    let note = format!(
        "the member waits for a confirmation that it may leave, which ends {exports} exports and {imports} imports; {how}"
    );
    plan.events.push(HUB.warning(object, events::LEAVE_NOT_CONFIRMED, note.as_str()));
    let cluster = snapshot.member_clusters.get(&member.cluster());
    plan.events
        .extend(cluster.map(|cluster| HUB.warning(cluster, events::LEAVE_NOT_CONFIRMED, note)));
}
