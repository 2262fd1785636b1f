//! The controller that reports to the hub: which cluster this is, and that it has joined, is alive, or has left.
//!
//! KubeFleet requests in an `InternalMemberCluster` that a member joins or leaves, and reads there what the agents
//! of the member report. Without that object the agent exports and imports, and reports nothing.

mod cluster;
mod heartbeat;
mod properties;
mod published;
mod remains;
mod report;

#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use fleet_accumulator::{Object, SourceSet};
use fleet_api::membership::ClusterState;
use fleet_model::changes::each_touched;
use fleet_model::objects::InternalMemberCluster;
use fleet_plan::{Affected, Controller};
use jiff::Timestamp;

pub use published::{is_published, standing};
use report::Report;

use crate::fence::{Fence, record_name};
use crate::hub_answers::HubAnswers;
use crate::intent::{self, Circumstances};
use crate::measurement::{Measurement, Plan};
use crate::phase::{JOINED, LEFT, Losses, Phase, is_current, member_cluster, unconfirmed};
use crate::snapshot::MemberSnapshot;
use crate::{Identity, Settings};

/// The shortest period of heartbeats, which have a resolution of one second.
const AGAIN: Duration = Duration::from_secs(1);

/// Reports to the hub.
#[derive(Clone, Debug)]
pub struct MembershipController {
    /// Plans depend on these beside the snapshot.
    pub settings: Settings,
    /// What the hub has refused of what is exported.
    pub(crate) answers: HubAnswers,
}

impl MembershipController {
    /// One that does not know what the hub has refused.
    pub fn new(settings: Settings) -> Self {
        Self { settings, answers: HubAnswers::default() }
    }
}

/// The last heartbeat of this member that the hub has.
pub fn last_heartbeat(identity: &Identity, snapshot: &MemberSnapshot) -> Option<Timestamp> {
    heartbeat::last(member_cluster(identity, snapshot)?)
}

/// The only key of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Member;

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Member")
    }
}

impl Controller for MembershipController {
    type Snapshot = MemberSnapshot;
    type Key = Member;
    type Measurement = Measurement;

    fn name(&self) -> &'static str {
        "membership"
    }

    fn required(&self) -> SourceSet {
        SourceSet::from([MemberSnapshot::memberships()])
    }

    /// Without networking features the agent does not look for what remains, so the kinds of the fleet need not exist.
    fn reads(&self) -> SourceSet {
        let Settings { networking, ref multicluster, ref virtual_nodes, .. } = self.settings;
        let remains = if networking { remains::sources() } else { SourceSet::EMPTY };
        let standard = multicluster.is_watched();
        let standard = if standard { intent::sources() } else { SourceSet::EMPTY };
        let executor = virtual_nodes.executor;
        let executor = if executor { remains::sources_of_executor() } else { SourceSet::EMPTY };
        self.required().union(remains).union(standard).union(executor)
    }

    fn affected_keys(
        &self,
        old: &MemberSnapshot,
        new: &MemberSnapshot,
        keys: &mut Affected<Member>,
    ) {
        each_touched(&old.memberships, &new.memberships, |_| keys.add(Member));
        each_touched(&old.cluster_properties, &new.cluster_properties, |_| keys.add(Member));
        let own = record_name(&self.settings.identity);
        each_touched(&old.cluster_reports, &new.cluster_reports, |report| {
            if report.name == own {
                keys.add(Member);
            }
        });
        // The object that is gone may have been the last one.
        let identity = &self.settings.identity;
        let circumstances = |snapshot| Circumstances::of(&self.settings, snapshot);
        if !Phase::of(identity, new).is_member()
            || Fence::of(identity, old) != Fence::of(identity, new)
            || circumstances(old) != circumstances(new)
        {
            keys.add(Member);
        }
    }

    fn plan(&self, _: &Member, snapshot: &MemberSnapshot, now: Timestamp) -> Plan {
        let mut plan = plan(&self.settings, snapshot, now);
        published::mark(&self.settings, &self.answers, snapshot, &mut plan);
        properties::write(&self.settings, snapshot, &mut plan);
        cluster::record(&self.settings.identity, snapshot, &mut plan);
        plan
    }
}

/// The writes that bring the report up to date.
pub fn plan(settings: &Settings, snapshot: &MemberSnapshot, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let Some(cluster) = member_cluster(&settings.identity, snapshot) else { return plan };
    match cluster.state {
        ClusterState::Join => {
            alive(cluster, Report::State(JOINED), is_current(cluster, JOINED), now, &mut plan);
        }
        ClusterState::Leave => match unconfirmed(&settings.identity, snapshot) {
            Some(losses) if settings.networking => wait(cluster, losses, now, &mut plan),
            _ => leave(settings, cluster, snapshot, now, &mut plan),
        },
        ClusterState::Other(_) => {}
    }
    plan
}

/// Repeats a report as a heartbeat when one is due, or at once if it is not `reported`.
fn alive(
    cluster: &Object<InternalMemberCluster>,
    report: Report<'_>,
    reported: bool,
    now: Timestamp,
    plan: &mut Plan,
) {
    let rest = heartbeat::rest(cluster, now);
    if reported && !rest.is_zero() {
        plan.wake_after = Some(rest);
    } else {
        plan.push(report::write(cluster, report, now));
        // A write within the same second changes nothing, so no event arrives.
        plan.wake_after = Some(AGAIN);
    }
}

/// Reports that the member goes on, since leaving has to be confirmed.
fn wait(cluster: &Object<InternalMemberCluster>, losses: Losses, now: Timestamp, plan: &mut Plan) {
    let how = cluster.how_to_confirm(&cluster.name);
    let message = format!("leaving would delete {losses} in this cluster; {how}");
    let reported = cluster.waits_for_confirmation();
    alive(cluster, Report::Unconfirmed(&message), reported, now, plan);
}

/// Reports that the member has left once the other controllers have withdrawn and deleted everything.
fn leave(
    settings: &Settings,
    cluster: &Object<InternalMemberCluster>,
    snapshot: &MemberSnapshot,
    now: Timestamp,
    plan: &mut Plan,
) {
    if is_current(cluster, LEFT) {
        return;
    }
    if !remains::is_nothing_for_others(settings, snapshot) {
        return;
    }
    let mut empty = Vec::new();
    if settings.networking {
        let identity = &settings.identity;
        if !remains::is_nothing(settings, Phase::of(identity, snapshot), snapshot) {
            remains::sweep(identity, snapshot, plan);
            return;
        }
        empty.extend(remains::confirm(settings, snapshot, plan));
    }
    empty.extend(remains::confirm_nothing_for_others(settings, snapshot, plan));
    plan.push(report::write(cluster, Report::State(LEFT), now).after(empty));
}
