//! The state of the fleet: members, what they export and import, and their lag. Pure.

mod lag;
mod standard;

use std::collections::BTreeMap;

use fleet_accumulator::Object;
use fleet_api::names::MEMBER_LEASE;
use fleet_api::{ObjectName, conditions};
use fleet_model::objects::InternalMemberCluster;
use fleet_plan::conditions::is;
use hub_agent::heartbeat::{heartbeat_timeout, last_heartbeat};
use hub_agent::service::{ServiceState, resolve};
use member_agent::fence::Fence;
use member_agent::phase::Phase;
use serde::Serialize;

use crate::credential::CredentialStatus;
use crate::offload::OffloadStatus;
use crate::pending::pending;
use crate::picture::{Member, Picture};
use crate::quotas::QuotaUse;
use crate::story::Hop;
use crate::traffic::{TrafficStatus, shown};
pub use lag::Lag;
use lag::late;
pub use standard::{StandardServiceStatus, StandardStatus};

/// The state of a fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Every member that the hub or the command line knows.
    pub members: Vec<MemberStatus>,
    /// Every Service that a member exports or imports.
    pub services: Vec<ServiceStatus>,
    /// Every Service that a member exports or imports by the API of multicluster.x-k8s.io, where agents serve it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub standard_services: Vec<StandardServiceStatus>,
    /// Members that no quota on the hub limits, as far as quotas can be read.
    pub unlimited: Vec<String>,
    /// Pods of members in other members, where the hub carries them.
    #[serde(skip_serializing_if = "OffloadStatus::is_empty")]
    pub offload: OffloadStatus,
    /// Drains, silent members, and what else is unusual about traffic.
    #[serde(skip_serializing_if = "TrafficStatus::is_empty")]
    pub traffic: TrafficStatus,
    /// What could not be read.
    pub unread: Vec<Hop>,
}

impl Status {
    /// Adds how much of its quota each member uses; `None` if that is not known.
    #[must_use]
    pub fn with_quotas(mut self, quotas: Option<BTreeMap<String, QuotaUse>>) -> Self {
        let Some(mut quotas) = quotas else { return self };
        for member in self.members.iter_mut().filter(|member| member.state != "Unknown") {
            member.quota = quotas.remove(&member.name);
            if member.quota.is_none() {
                self.unlimited.push(member.name.clone());
            }
        }
        self
    }

    /// Adds what members offer to each other, and what became of it.
    #[must_use]
    pub fn with_offload(self, offload: OffloadStatus) -> Self {
        Self { offload, ..self }
    }

    /// Adds what is known of the members' credentials for the hub.
    #[must_use]
    pub fn with_credentials(mut self, mut credentials: BTreeMap<String, CredentialStatus>) -> Self {
        for member in &mut self.members {
            member.credential = credentials.remove(&member.name);
        }
        self
    }
}

/// One member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberStatus {
    /// Its name.
    pub name: String,
    /// `Joined`, `Joining`, `Silent`, `Unconfirmed` if it waits for a confirmation that it may leave, `Leaving`, `Left`, `Unknown` to
    /// the hub, or `Unmanaged` where no
    /// InternalMemberCluster names it.
    pub state: &'static str,
    /// Which cluster the hub has recorded under this name: `ours` is that of the context, `taken` another one, `free` none,
    /// `unrecorded` none since that is not possible, `unknown` if the context's cluster could not be read.
    pub fence: &'static str,
    /// Why the cluster of the context writes nothing, if another one has its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced: Option<String>,
    /// How to confirm that it may leave, if it waits for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unconfirmed: Option<String>,
    /// Seconds since the last heartbeat of its agent.
    pub heartbeat_seconds: Option<i64>,
    /// Seconds since its agent renewed its Lease on the hub, by the agent's clock, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_seconds: Option<i64>,
    /// Services it exports.
    pub exports: usize,
    /// Exports that conflict with another member's.
    pub conflicts: usize,
    /// Services that it imports.
    pub imports: usize,
    /// Of those, the ones it was granted.
    pub granted: usize,
    /// Writes that are still missing, from the member to the hub and back.
    pub lag: Lag,
    /// What it exports and imports by the API of multicluster.x-k8s.io, if its agent serves that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standard: Option<StandardStatus>,
    /// How much it uses of its quota on the hub, if it has one.
    pub quota: Option<QuotaUse>,
    /// Its credential for the hub, if its cluster could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential: Option<CredentialStatus>,
    /// Context of its cluster.
    pub context: Option<String>,
    /// Why its own cluster could not be read.
    pub unseen: Option<String>,
}

/// One Service of the fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceStatus {
    /// `namespace/name`.
    pub name: String,
    /// Members whose export was accepted.
    pub exporters: Vec<String>,
    /// Members whose export conflicts.
    pub conflicts: Vec<String>,
    /// Members that were granted the import.
    pub importers: Vec<String>,
    /// Members that wait for a grant.
    pub waiting: Vec<String>,
    /// Ready endpoints on the hub.
    pub endpoints: usize,
}

/// Summarizes a fleet.
pub fn status(picture: &Picture) -> Status {
    let (pending, unread) = pending(picture);
    // An exported slice is one for both APIs.
    let of_fleet = late(picture, &pending, |pending, _| pending.controller != standard::IMPORT);
    let of_standard =
        late(picture, &pending, |pending, step| standard::concerns(picture, pending, step));
    let members = picture.members.iter().map(|(name, member)| {
        let of = |late: &BTreeMap<&str, Lag>| late.get(name.as_str()).copied().unwrap_or_default();
        let standard = standard::of_member(picture, member, of(&of_standard));
        MemberStatus { standard, ..of_member(picture, name, member, of(&of_fleet)) }
    });
    let members = members.collect();
    let unread = unread.into_iter().filter(Hop::stops).collect();
    let (services, standard_services) = (services(picture), standard::services(picture));
    let (unlimited, offload) = (Vec::new(), OffloadStatus::default());
    let traffic = shown::of(&picture.hub);
    Status { members, services, standard_services, unlimited, offload, traffic, unread }
}

fn of_member(picture: &Picture, name: &str, member: &Member, lag: Lag) -> MemberStatus {
    let snapshot = &member.snapshot;
    let exports = || snapshot.internal_exports.iter().filter(|it| !it.meta.is_terminating());
    let imports = || snapshot.internal_imports.iter().filter(|it| !it.meta.is_terminating());
    let conflicting =
        exports().filter(|it| is(&it.conditions, conditions::CONFLICT, conditions::TRUE));
    let (state, heartbeat_seconds) = state(picture, name, member);
    let fence = Fence::of(&member.settings.identity, snapshot);
    MemberStatus {
        name: name.to_owned(),
        state,
        fence: fence.as_str(),
        replaced: if let Fence::Taken(taken) = &fence { Some(taken.to_string()) } else { None },
        unconfirmed: waiting(picture, member).map(|object| object.how_to_confirm(&object.name)),
        heartbeat_seconds,
        lease_seconds: lease_age(picture, member),
        exports: exports().count(),
        conflicts: conflicting.count(),
        imports: imports().count(),
        granted: imports().filter(|import| import.object.status.is_resolved()).count(),
        lag,
        standard: None,
        quota: None,
        credential: None,
        context: member.context.clone(),
        unseen: member.blind.clone(),
    }
}

/// How long ago a member renewed its Lease, as far as its clock and this one agree.
fn lease_age(picture: &Picture, member: &Member) -> Option<i64> {
    let name = ObjectName::new(member.settings.identity.hub_namespace.as_str(), MEMBER_LEASE);
    let renewed = picture.hub.member_leases.get(&name)?.renewed?;
    Some(picture.heard.duration_since(renewed).as_secs().max(0))
}

/// The InternalMemberCluster of a member that waits for a confirmation that it may leave.
pub(crate) fn waiting<'a>(
    picture: &'a Picture,
    member: &Member,
) -> Option<&'a Object<InternalMemberCluster>> {
    let identity = &member.settings.identity;
    let name = ObjectName::new(identity.hub_namespace.as_str(), identity.cluster.as_str());
    picture.hub.internal_members.get(&name).filter(|object| object.waits_for_confirmation())
}

fn state(picture: &Picture, name: &str, member: &Member) -> (&'static str, Option<i64>) {
    let identity = &member.settings.identity;
    let home = ObjectName::cluster(identity.hub_namespace.as_str());
    if picture.hub.namespaces.get(&home).is_none() {
        return ("Unknown", None);
    }
    let key = ObjectName::new(identity.hub_namespace.as_str(), name);
    let Some(membership) = picture.hub.internal_members.get(&key) else {
        return ("Unmanaged", None);
    };
    let silence = last_heartbeat(membership).map(|sent| picture.heard.duration_since(sent));
    let seconds = silence.map(|silence| silence.as_secs().max(0));
    if membership.waits_for_confirmation() {
        return ("Unconfirmed", seconds);
    }
    let state = match (Phase::of(identity, &member.snapshot), silence) {
        (Phase::Leaving, _) => "Leaving",
        (Phase::Left, _) => "Left",
        (Phase::Member, None) => "Joining",
        (Phase::Member, Some(silence))
            if silence >= heartbeat_timeout(&picture.settings, membership) =>
        {
            "Silent"
        }
        (Phase::Member, Some(_)) => "Joined",
    };
    (state, seconds)
}

fn services(picture: &Picture) -> Vec<ServiceStatus> {
    let hub = &picture.hub;
    let exported = hub.internal_exports.iter().filter_map(|it| it.reference.object().cloned());
    let asked = hub.internal_imports.iter().filter_map(|it| it.reference.object().cloned());
    let mut services: Vec<_> = exported.chain(asked).collect();
    services.sort();
    services.dedup();
    services.iter().map(|service| of_service(picture, service)).collect()
}

fn of_service(picture: &Picture, service: &ObjectName) -> ServiceStatus {
    let state = ServiceState::of(&picture.settings, service, &picture.hub);
    let (exporters, conflicts) = resolve(&state).map_or_else(Default::default, |resolution| {
        let members = |exports: &[hub_agent::service::Export<'_>]| -> Vec<String> {
            exports.iter().map(|export| export.member.to_owned()).collect()
        };
        (members(&resolution.accepted), members(&resolution.conflicting))
    });
    let of = |granted: bool| -> Vec<String> {
        let requests = state.live_requests();
        let requests = requests.filter(|request| request.object.status.is_resolved() == granted);
        requests.map(|request| request.member.to_owned()).collect()
    };
    ServiceStatus {
        name: service.to_string(),
        exporters,
        conflicts,
        importers: of(true),
        waiting: of(false),
        endpoints: state.slice_exports.iter().map(|it| it.object.spec.endpoints.len()).sum(),
    }
}
