//! The writes that the agents have not made yet: every plan of every controller for a picture. Pure.

use fleet_accumulator::Snapshot as _;
use fleet_api::ObjectName;
use fleet_api::membership::ClusterState;
use fleet_plan::{Action, Controller, Plan, Step, affected_keys};
use hub_agent::heartbeat::last_heartbeat;
use jiff::Timestamp;
use member_agent::MulticlusterMode as Mode;
use member_agent::fence::Fence;

use crate::controllers::{HubControllers, MemberControllers};
use crate::left_out::is_left_out;
use crate::picture::{Member, Picture};
use crate::reading;
use crate::story::Hop;

/// The missing writes of one key.
#[derive(Clone, Debug)]
pub struct Pending {
    /// The member, or `hub`.
    pub agent: String,
    /// The controller that plans it.
    pub controller: &'static str,
    /// Its key: a Service or a member.
    pub key: String,
    /// The writes.
    pub plan: Plan,
}

impl Pending {
    /// Every write, including debounced ones, without steps that only read.
    pub fn writes(&self) -> impl Iterator<Item = &Step> {
        let later = self.plan.debounced.iter().map(|later| &later.step);
        let writes = |step: &&Step| step.action != Action::ConfirmAbsent;
        self.plan.steps.iter().chain(later).filter(writes)
    }
}

/// The missing writes of all agents, and what could not be read: with such findings, the result is incomplete.
pub fn pending(picture: &Picture) -> (Vec<Pending>, Vec<Hop>) {
    let mut unread = reading::of_hub(&picture.hub);
    if !unread.is_empty() {
        return (Vec::new(), unread);
    }
    let mut found = of_hub(picture);
    for (name, member) in &picture.members {
        if let Some(reason) = &member.blind {
            unread.push(Hop::unseen(name, "cluster", reason));
            continue;
        }
        unread.extend(reading::of_member(name, member));
        found.extend(of_member(name, member, picture.now));
        found.extend(of_standard(picture, name, member));
    }
    found.retain(|pending| pending.writes().next().is_some());
    (found, unread)
}

fn of_hub(picture: &Picture) -> Vec<Pending> {
    let controllers = HubControllers::new(&picture.settings);
    let mut found = of_controller("hub", &controllers.service, &picture.hub, picture.now);
    found.extend(of_controller("hub", &controllers.member, &picture.hub, picture.now));
    if picture.settings.multicluster != Mode::Off {
        found.extend(of_controller("hub", &controllers.multicluster, &picture.hub, picture.now));
    }
    found
}

fn of_member(name: &str, member: &Member, now: Timestamp) -> Vec<Pending> {
    let snapshot = &member.snapshot;
    if let Fence::Taken(_) = Fence::of(&member.settings.identity, snapshot) {
        return Vec::new();
    }
    let controllers = MemberControllers::new(&member.settings);
    let mut found = of_controller(name, &controllers.export, snapshot, now);
    found.extend(of_controller(name, &controllers.import, snapshot, now));
    if !is_a_heartbeat(member) {
        found.extend(of_controller(name, &controllers.membership, snapshot, now));
    }
    found
}

/// The missing writes of the API of multicluster.x-k8s.io, where a member serves it.
fn of_standard(picture: &Picture, name: &str, member: &Member) -> Vec<Pending> {
    let (settings, snapshot) = (&member.settings, &member.snapshot);
    let is_fenced = matches!(Fence::of(&settings.identity, snapshot), Fence::Taken(_));
    if !settings.multicluster.is_watched() || is_fenced {
        return Vec::new();
    }
    let controllers = MemberControllers::new(settings);
    let mut found = of_controller(name, &controllers.standard_import, snapshot, picture.now);
    let service = |pending: &Pending| ObjectName::parse(&pending.key);
    let is_left_out = |service: ObjectName| is_left_out(picture, member, &service);
    found.retain(|pending| !service(pending).is_some_and(is_left_out));
    found.extend(of_controller(name, &controllers.standard_export, snapshot, picture.now));
    found
}

/// Whether the agent could only write another heartbeat, which is always due soon.
fn is_a_heartbeat(member: &Member) -> bool {
    let mut memberships = member.snapshot.memberships.iter();
    memberships.any(|membership| {
        membership.state == ClusterState::Join && last_heartbeat(membership).is_some()
    })
}

fn of_controller<R: Controller>(
    agent: &str,
    controller: &R,
    snapshot: &R::Snapshot,
    now: Timestamp,
) -> Vec<Pending> {
    if !snapshot.complete(controller.required()) {
        return Vec::new();
    }
    let keys = affected_keys(controller, &R::Snapshot::default(), snapshot);
    let pending = |key: R::Key| {
        let plan = controller.plan(&key, snapshot, now).unmeasured();
        Pending {
            agent: agent.to_owned(),
            controller: controller.name(),
            key: key.to_string(),
            plan,
        }
    };
    keys.into_iter().map(pending).collect()
}
