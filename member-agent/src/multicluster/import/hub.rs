//! What importers read on the hub, and how far it counts.

use fleet_accumulator::{Object, Tracked, View};
use fleet_api::{ObjectName, names};
use fleet_model::objects::ClusterReport;
use fleet_model::objects::multicluster::{FleetSlice, ResolvedService};

use super::trust::{Trust, Word};
use crate::Settings;
use crate::hub_side::{Claim, HubSide, is_known};
use crate::intent;
use crate::snapshot::MemberSnapshot;

/// The hub, as far as it is known. It exists only where the hub has accepted this cluster.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hub<'a> {
    snapshot: &'a MemberSnapshot,
    side: HubSide<'a>,
    /// Which hub it is, and since which restart of its history.
    pub(super) incarnation: &'a str,
    is_firm: bool,
}

impl<'a> Hub<'a> {
    /// The hub, if its word counts at all.
    pub(super) fn of(settings: &Settings, snapshot: &'a MemberSnapshot) -> Option<Self> {
        let side = HubSide::of(snapshot)?;
        let is_known = is_known(&snapshot.fleet_slices) && is_known(&snapshot.fleet_reports);
        // Names in DNS would lie.
        let has_its_name = intent::other_id(settings, snapshot).is_none();
        let Claim::Accepted(incarnation) = side.claim(&settings.identity) else { return None };
        let is_firm = is_firm(&snapshot.resolved_services)
            && is_firm(&snapshot.fleet_slices)
            && is_firm(&snapshot.fleet_reports);
        (is_known && has_its_name).then_some(Self { snapshot, side, incarnation, is_firm })
    }

    /// What is in force for a Service.
    pub(super) fn resolved(self, service: &ObjectName) -> Option<&'a Object<ResolvedService>> {
        self.side.resolved(service)
    }

    /// The hub's word on a Service.
    pub(super) fn word(self, service: &ObjectName) -> Word {
        match self.resolved(service) {
            None => Word::Absent,
            Some(resolved) if resolved.exporters.is_empty() => Word::Withdrawn,
            Some(_) => Word::InForce,
        }
    }

    /// The slices that clusters have exported of a Service.
    pub(super) fn slices(
        self,
        service: &ObjectName,
    ) -> impl Iterator<Item = &'a Object<FleetSlice>> + use<'a> {
        self.snapshot.fleet_slices.by(service)
    }

    /// Whether a cluster has told this hub all that it exports.
    pub(super) fn has_published(self, cluster: &str) -> bool {
        let name = ObjectName::new(names::member_namespace(cluster), cluster);
        let report = self.snapshot.fleet_reports.get(&name);
        report.is_some_and(|report| publishes(report, self.incarnation))
    }

    /// How far its word counts.
    pub(super) fn trust(hub: Option<Self>) -> Trust {
        match hub {
            None => Trust::Unknown,
            Some(hub) if hub.is_firm => Trust::Firm,
            Some(_) => Trust::Known,
        }
    }
}

fn publishes(report: &ClusterReport, incarnation: &str) -> bool {
    !report.terminating && report.published_to.as_deref() == Some(incarnation)
}

/// Whether absence from a source counts.
fn is_firm<T: Tracked>(view: &View<T>) -> bool {
    view.state().is_live() && view.is_settled()
}
