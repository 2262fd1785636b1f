//! The hub's side of the standard API, which no plan waits for.
//!
//! Controllers of that API run without the hub. What needs the hub takes a [`HubSide`], which exists only when its objects
//! were listed in the life of this process and the hub still serves them: nothing is concluded from objects that are not known.

use fleet_accumulator::{Object, SourceState, Tracked, View};
use fleet_api::{ObjectName, conditions, names};
use fleet_model::objects::multicluster::{ExportedService, ResolvedService};
use fleet_model::objects::{ClusterReport, by_age};
use fleet_plan::conditions::find;

use crate::fence::record_name;
use crate::snapshot::MemberSnapshot;
use crate::{Identity, Settings};

/// What the hub shows of the standard API.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HubSide<'a> {
    snapshot: &'a MemberSnapshot,
}

/// What the hub has decided about this member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim<'a> {
    /// The member takes part, on the hub with this incarnation.
    Accepted(&'a str),
    /// It does not, for this reason.
    Refused(&'a str),
    /// The hub agent has not answered.
    Unanswered,
}

impl<'a> HubSide<'a> {
    /// The hub's side, if all of it is known.
    pub(crate) fn of(snapshot: &'a MemberSnapshot) -> Option<Self> {
        let known = is_known(&snapshot.exported_services)
            && is_known(&snapshot.resolved_services)
            && is_known(&snapshot.cluster_reports)
            && snapshot.memberships.has_answered();
        known.then_some(Self { snapshot })
    }

    /// Whether none of its watches is interrupted.
    pub(crate) fn is_live(self) -> bool {
        let Self { snapshot } = self;
        snapshot.exported_services.state().is_live()
            && snapshot.resolved_services.state().is_live()
            && snapshot.cluster_reports.state().is_live()
    }

    /// Whether the hub has failed to answer for a while.
    pub(crate) fn is_stale(self) -> bool {
        let Self { snapshot } = self;
        is_stale(snapshot.exported_services.state())
            || is_stale(snapshot.resolved_services.state())
            || is_stale(snapshot.cluster_reports.state())
    }

    /// Each ExportedService of a Service in this member's namespace.
    pub(crate) fn exported(
        self,
        service: &ObjectName,
    ) -> impl Iterator<Item = &'a Object<ExportedService>> + use<'a> {
        self.snapshot.exported_services.by(service)
    }

    /// Whether no ExportedService has a name.
    pub(crate) fn is_free(self, name: &ObjectName) -> bool {
        self.snapshot.exported_services.get(name).is_none()
    }

    /// What is in force for a Service. Of several objects the hub agent keeps the oldest that is not being deleted.
    pub(crate) fn resolved(self, service: &ObjectName) -> Option<&'a Object<ResolvedService>> {
        let ends = |resolved: &Object<ResolvedService>| resolved.meta.is_terminating();
        let all = self.snapshot.resolved_services.by(service);
        all.min_by(|a, b| ends(a).cmp(&ends(b)).then_with(|| by_age(a, b)))
    }

    /// Whether the member takes part.
    pub(crate) fn claim(self, identity: &Identity) -> Claim<'a> {
        let Some(report) = self.snapshot.cluster_reports.get(&record_name(identity)) else {
            return Claim::Unanswered;
        };
        claim(&report.object)
    }
}

/// Whether a cluster has reported to the hub of an incarnation all that it exports, or an administrator has declared there that it does
/// not come back.
pub(crate) fn may_forget(
    settings: &Settings,
    snapshot: &MemberSnapshot,
    cluster: &str,
    incarnation: &str,
) -> bool {
    let member = snapshot.member_traffics.get(&ObjectName::cluster(cluster));
    let forgotten = member.and_then(|member| member.spec.forgotten_in.as_deref());
    let is_forgotten = settings.traffic.enabled && forgotten == Some(incarnation);
    is_forgotten || has_published(snapshot, cluster, incarnation)
}

/// Whether a cluster has reported to the hub of an incarnation all that it exports.
pub(crate) fn has_published(snapshot: &MemberSnapshot, cluster: &str, incarnation: &str) -> bool {
    published_to(snapshot, cluster) == Some(incarnation)
}

/// The incarnation of the hub to which a cluster has reported last all that it exports.
pub(crate) fn published_to<'a>(snapshot: &'a MemberSnapshot, cluster: &str) -> Option<&'a str> {
    let report = ObjectName::new(names::member_namespace(cluster), cluster);
    let report = snapshot.fleet_reports.get(&report).filter(|report| !report.terminating);
    report.and_then(|report| report.published_to.as_deref())
}

/// A report that is being deleted is about to be no answer any more.
fn claim(report: &ClusterReport) -> Claim<'_> {
    let accepted = find(&report.conditions, conditions::ACCEPTED);
    match (accepted, &report.incarnation) {
        _ if report.terminating => Claim::Unanswered,
        (Some(accepted), _) if accepted.status == conditions::FALSE => {
            Claim::Refused(&accepted.message)
        }
        (Some(accepted), Some(hub)) if accepted.status == conditions::TRUE => Claim::Accepted(hub),
        _ => Claim::Unanswered,
    }
}

/// Whether the content of a view is what the cluster has, or had until its API server stopped answering.
pub(crate) fn is_known<T: Tracked>(view: &View<T>) -> bool {
    view.bootstrapped() && !view.state().cannot_be_had()
}

fn is_stale(state: &SourceState) -> bool {
    matches!(state, SourceState::Stale { .. })
}
