//! What importers read on the hub, and how far it counts.

use fleet_accumulator::{Object, Snapshot as _, SourceSet, SourceState, Tracked, View};
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{ObjectName, names};
use fleet_model::objects::multicluster::{FleetSlice, ResolvedService};
use fleet_model::objects::traffic::FleetTraffic;

use super::trust::{Trust, Word};
use crate::Settings;
use crate::hub_side::{Claim, HubSide, is_known, may_forget, published_to};
use crate::intent;
use crate::snapshot::MemberSnapshot;

/// How many names an object that is about a Service may have.
const CANDIDATES: usize = 3;

/// The hub, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hub<'a> {
    settings: &'a Settings,
    snapshot: &'a MemberSnapshot,
    side: HubSide<'a>,
    /// Which hub it is, and since which restart of its history; `None` while it has not accepted this cluster.
    pub(super) incarnation: Option<&'a str>,
    is_live: bool,
    is_firm: bool,
}

impl<'a> Hub<'a> {
    /// The hub, if it has answered.
    pub(super) fn of(settings: &'a Settings, snapshot: &'a MemberSnapshot) -> Option<Self> {
        let side = HubSide::of(snapshot)?;
        let is_known = is_known(&snapshot.fleet_slices) && is_known(&snapshot.fleet_reports);
        // Names in DNS would lie.
        let has_its_name = intent::other_id(settings, snapshot).is_none();
        let incarnation = match side.claim(&settings.identity) {
            Claim::Accepted(incarnation) if has_its_name => Some(incarnation),
            _ => None,
        };
        // What a hub that has just gone back in its history shows is as old as its backup.
        let is_live = speaks(&snapshot.resolved_services)
            && speaks(&snapshot.fleet_slices)
            && speaks(&snapshot.fleet_reports)
            && !went_back(snapshot);
        let is_firm = is_live
            && snapshot.resolved_services.is_settled()
            && snapshot.fleet_slices.is_settled()
            && snapshot.fleet_reports.is_settled();
        is_known.then_some(Self { settings, snapshot, side, incarnation, is_live, is_firm })
    }

    /// What is in force for a Service.
    pub(super) fn resolved(self, service: &ObjectName) -> Option<&'a Object<ResolvedService>> {
        self.side.resolved(service)
    }

    /// The hub's word on a Service.
    pub(super) fn word(self, service: &ObjectName) -> Word {
        match self.resolved(service) {
            None if self.cannot_read(service) => Word::Unreadable,
            None => Word::Absent,
            Some(resolved) if resolved.exporters.is_empty() => Word::Withdrawn,
            Some(_) => Word::InForce,
        }
    }

    /// On how many Services it has a word at most; unknown if it has something that this agent cannot read, which may be about any.
    pub(super) fn words(self) -> Option<usize> {
        let resolved = &self.snapshot.resolved_services;
        resolved.defects().next().is_none().then(|| resolved.len())
    }

    /// Whether there is something for the Service that this agent cannot read: a later one may have written it.
    fn cannot_read(self, service: &ObjectName) -> bool {
        let resolved = &self.snapshot.resolved_services;
        names_of_word(service).any(|name| resolved.defect(&name).is_some())
    }

    /// What the hub's word on a Service would be called, if it were there although this agent has not seen it.
    pub(super) fn unseen(self, service: &ObjectName) -> Option<ObjectName> {
        let resolved = &self.snapshot.resolved_services;
        names_of_word(service).find(|name| resolved.get(name).is_none())
    }

    /// What a slice of a cluster would be called, if it were there although this agent has not seen it.
    pub(super) fn unseen_slice(self, cluster: &str, name: &str) -> Option<ObjectName> {
        let on_hub = ObjectName::new(names::member_namespace(cluster), name);
        self.snapshot.fleet_slices.get(&on_hub).is_none().then_some(on_hub)
    }

    /// Whether there is a slice of this name of a cluster that this agent cannot read.
    pub(super) fn cannot_read_slice(self, cluster: &str, name: &str) -> bool {
        let on_hub = ObjectName::new(names::member_namespace(cluster), name);
        self.snapshot.fleet_slices.defect(&on_hub).is_some()
    }

    /// The slices that clusters have exported of a Service.
    pub(super) fn slices(
        self,
        service: &ObjectName,
    ) -> impl Iterator<Item = &'a Object<FleetSlice>> + use<'a> {
        self.snapshot.fleet_slices.by(service)
    }

    /// Whether a cluster has reported to this hub all that it exports, or is forgotten there by an administrator.
    pub(super) fn may_forget(self, cluster: &str) -> bool {
        let may_forget = |hub| may_forget(self.settings, self.snapshot, cluster, hub);
        self.incarnation.is_some_and(may_forget)
    }

    /// Whether what the hub has of a cluster may be of an earlier time: the cluster has published to an earlier incarnation, as a
    /// backup shows, and not to this one.
    pub(super) fn is_outdated(self, cluster: &str) -> bool {
        published_to(self.snapshot, cluster).is_some() && !self.may_forget(cluster)
    }

    /// Whether a cluster is about to come back to the hub, which has of it what may be of an earlier time. One that takes no part any
    /// more, or is gone, does not come back: once members have had their time, the hub's word counts as it is.
    pub(super) fn is_awaited(self, cluster: &str) -> bool {
        self.is_being_rebuilt() && self.is_outdated(cluster)
    }

    /// Whether members have yet to come back to the hub. Without traffic it is not known for how long.
    pub(super) fn is_being_rebuilt(self) -> bool {
        FleetTraffic::is_rebuilding(&self.snapshot.fleet_traffics, self.settings.traffic.enabled)
    }

    /// How far its word counts.
    pub(super) fn trust(hub: Option<Self>) -> Trust {
        match hub {
            None => Trust::Unknown,
            Some(hub) if hub.incarnation.is_none() || !hub.is_live => Trust::Answered,
            Some(hub) if hub.is_firm => Trust::Firm,
            Some(_) => Trust::Known,
        }
    }
}

fn went_back(snapshot: &MemberSnapshot) -> bool {
    snapshot.is_settling(SourceSet::from([
        MemberSnapshot::resolved_services(),
        MemberSnapshot::fleet_slices(),
        MemberSnapshot::fleet_reports(),
    ]))
}

/// Whether a source shows what there is. One that is settled does while it is listed anew from time to time; a list that follows
/// a failure, or that a controller in doubt asked for, unsettles it.
fn speaks<T: Tracked>(view: &View<T>) -> bool {
    let lists_anew = matches!(view.state(), SourceState::Resyncing) && view.is_settled();
    view.state().is_live() || lists_anew
}

/// The names that the hub's word on a Service may have.
fn names_of_word(service: &ObjectName) -> impl Iterator<Item = ObjectName> {
    let names = names::internal_export_candidates(service).take(CANDIDATES);
    names.map(|name| ObjectName::new(SYSTEM_NAMESPACE, name))
}
