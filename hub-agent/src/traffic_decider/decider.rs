use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use fleet_accumulator::{Snapshot as _, SourceSet};
use fleet_api::ObjectName;
use fleet_api::conditions::TRUE;
use fleet_api::names::{member_namespace, member_of_namespace};
use fleet_api::traffic::{
    CLUSTER_PROPERTY, FleetTrafficSpec, FleetTrafficStatus, MASS_SILENCE, MemberTrafficStatus,
    SilenceInstruction, SilenceState, SilenceStatus,
};
use fleet_model::multicluster::mode::Mode;
use fleet_model::objects::MemberLease;
use fleet_model::objects::traffic::{FleetDecision, FleetTraffic, MemberDecision};
use fleet_plan::conditions::is;
use fleet_traffic::{
    Instruction, Judgement, MemberState, MemberVerdict, ObservedMember, Verdict, judge,
};

use super::drains::{Decided, Drains};
use super::history::History;
use super::progress::{Progress, shows_exporters};
use super::renewals::Renewals;
use super::reported::reported;
use super::serials::Serials;
use super::settings::{percent, silence};
use super::standpoint::Standpoint;
use super::subject::Subject;
use crate::snapshot::HubSnapshot;
use crate::{Settings, incarnation};

/// What is decided, by name of the member.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decisions {
    /// About members.
    pub members: BTreeMap<Arc<str>, MemberDecision>,
    /// About the fleet.
    pub fleet: FleetDecision,
}

/// What this process has seen and decided.
#[derive(Clone, Debug, Default)]
pub struct Decider {
    standpoint: Standpoint,
    /// Whether what is stored was taken over in this term.
    begun: bool,
    renewals: Renewals,
    judgement: Judgement,
    drains: Drains,
    serials: Serials,
    history: History,
    /// Whether virtual nodes are watched.
    knows_nodes: bool,
    /// Whether `ResolvedService`s are watched.
    knows_standard: bool,
}

impl Decider {
    /// One that has seen nothing yet. Where virtual nodes or `ResolvedService`s are watched, no drain goes on before they are known:
    /// by those endpoints belong to the members that run them, and by these to Services of the standard API.
    pub fn new(settings: &Settings) -> Self {
        let knows_standard = settings.multicluster != Mode::Off;
        Self { knows_nodes: settings.virtual_nodes, knows_standard, ..Self::default() }
    }

    /// Decides at `now`, at least every few seconds; `None` if this process does not lead or does not see the hub as it is.
    /// `leads` is whether the renewals of its own Lease are acknowledged.
    pub fn look(
        &mut self,
        snapshot: &HubSnapshot,
        leads: bool,
        now: Duration,
    ) -> Option<Decisions> {
        self.standpoint.pass(snapshot.member_leases.state().is_live(), leads, now);
        self.renewals.observe(&snapshot.member_leases, now);
        self.begun &= leads;
        let stored = [snapshot.fleet_traffics.state(), snapshot.member_traffics.state()];
        if !self.standpoint.decides() || !stored.iter().all(|state| state.is_live()) {
            return None;
        }
        let fleet = FleetTraffic::of(&snapshot.fleet_traffics)?;
        if !std::mem::replace(&mut self.begun, true) {
            self.begin(snapshot, now);
        }
        let names = self.members(snapshot);
        self.drains.retain(&names);
        self.serials.retain(&names);
        let members: Vec<_> = names.iter().map(|name| Subject::of(name, snapshot)).collect();
        Some(self.decide(&members, &fleet.spec, &fleet.status, snapshot, now))
    }

    /// Takes over what is stored, once it is seen.
    fn begin(&mut self, snapshot: &HubSnapshot, now: Duration) {
        let state = |object: &fleet_model::objects::traffic::MemberTraffic| {
            let silence = object.status.silence.as_ref()?;
            let state = MemberState::restored(percent(silence.percent), silence.by_domain, now);
            Some(state.ejected_before(ejections(silence), now))
        };
        let states = snapshot.member_traffics.iter();
        let states = states.filter_map(|one| Some((one.name.name.to_string(), state(one)?)));
        let fleet = FleetTraffic::of(&snapshot.fleet_traffics);
        let mass_silence =
            fleet.is_some_and(|fleet| is(&fleet.status.conditions, MASS_SILENCE, TRUE));
        self.judgement =
            Judgement { states: states.collect(), mass_silence, ..Judgement::default() };
        (self.drains, self.serials) = (Drains::default(), Serials::default());
    }

    /// Members with a Lease, and those with a `MemberTraffic` and a namespace.
    fn members(&self, snapshot: &HubSnapshot) -> BTreeSet<Arc<str>> {
        let stored = snapshot.member_traffics.iter().map(|object| &object.name.name);
        let is_member = |name: &&Arc<str>| {
            snapshot.namespaces.get(&ObjectName::cluster(member_namespace(name))).is_some()
        };
        self.renewals.members().chain(stored.filter(is_member)).cloned().collect()
    }

    fn decide(
        &mut self,
        members: &[Subject<'_>],
        spec: &FleetTrafficSpec,
        stored: &FleetTrafficStatus,
        snapshot: &HubSnapshot,
        now: Duration,
    ) -> Decisions {
        let settings = silence(spec);
        self.judge(members, spec, stored.epoch, now);
        for object in snapshot.member_traffics.iter() {
            self.serials.observe(object.status.serial);
        }
        let judges = self.standpoint.judges(settings, now);
        let are_nodes_known = !self.knows_nodes || snapshot.virtual_nodes.has_answered();
        let steps = are_nodes_known && shows_exporters(snapshot, self.knows_standard);
        let progress = Progress::of(&self.renewals, settings.silent_after, snapshot, now);
        let Self { drains, serials, judgement, .. } = self;
        let decide = |subject: &Subject<'_>| {
            let drained =
                if steps { drains.decide(*subject, &progress, now) } else { kept(*subject) };
            let verdict = judgement.verdicts.get(&**subject.name);
            let silence = match verdict {
                Some(verdict) if judges => Some(status(*subject, *verdict)),
                _ => subject.stored.silence.clone(),
            };
            let Decided { drains, held, refused } = drained;
            let status = MemberTrafficStatus {
                drains,
                held_services: held,
                silence,
                properties: properties(*subject),
                complete: seen(*subject),
                ..MemberTrafficStatus::default()
            };
            let status = serials.assign(subject.name, status, subject.stored);
            (Arc::clone(subject.name), MemberDecision { status, refused })
        };
        let decisions = members.iter().map(decide).collect();
        let within = settings.silent_after;
        let fleet = self.fleet(&decisions, members, stored, snapshot, within, now);
        Decisions { members: decisions, fleet: FleetDecision { judges, ..fleet } }
    }

    fn judge(
        &mut self,
        members: &[Subject<'_>],
        spec: &FleetTrafficSpec,
        epoch: i64,
        now: Duration,
    ) {
        let domain = |subject: &Subject<'_>| {
            let name = spec.domain_property.as_ref()?;
            properties(*subject).remove(name)
        };
        let members = members.iter().map(|subject| {
            let member = ObservedMember {
                last_seen: self.renewals.seen(subject.name),
                marked: has_published(*subject, epoch).then_some(now),
                instruction: subject.instruction(),
                domain: domain(subject),
            };
            (subject.name.to_string(), member)
        });
        let (observer, members) = (self.standpoint.observer(now), members.collect());
        self.judgement = judge(silence(spec), observer, &members, &self.judgement, now);
    }

    fn fleet(
        &mut self,
        decided: &BTreeMap<Arc<str>, MemberDecision>,
        members: &[Subject<'_>],
        stored: &FleetTrafficStatus,
        snapshot: &HubSnapshot,
        within: Duration,
        now: Duration,
    ) -> FleetDecision {
        let in_state = |state: SilenceState| {
            let of = |decision: &MemberDecision| {
                decision.status.silence.as_ref().is_some_and(|silence| silence.state == state)
            };
            let names = decided.iter().filter(|(_, decision)| of(decision));
            names.map(|(name, _)| name.to_string()).collect::<Vec<_>>()
        };
        let went_back = snapshot.went_back(SourceSet::from([
            HubSnapshot::member_leases(),
            HubSnapshot::member_traffics(),
            HubSnapshot::fleet_traffics(),
        ]));
        let complete = |epoch| are_all_there(members, snapshot, epoch);
        let renew = self.renewals.renewing(within, now).collect();
        let reported = reported(members, &renew, stored.epoch, snapshot);
        let (epoch, phase) = self.history.next(stored, went_back, reported, complete, now);
        let held = in_state(SilenceState::Held);
        FleetDecision {
            status: FleetTrafficStatus {
                epoch,
                phase,
                members: count(decided.len()),
                silent: count(in_state(SilenceState::Silent).len()),
                held: count(held.len()),
                unmanaged: count(in_state(SilenceState::Unmanaged).len()),
                conditions: Vec::new(),
            },
            judges: false,
            mass_silence: held,
            rolled_back: went_back || reported.is_some(),
        }
    }
}

/// Drains as they are stored.
fn kept(subject: Subject<'_>) -> Decided {
    Decided {
        drains: subject.stored.drains.clone(),
        held: subject.stored.held_services.clone(),
        refused: None,
    }
}

/// The verdict as it is written.
fn status(subject: Subject<'_>, verdict: MemberVerdict) -> SilenceStatus {
    let (state, by_domain) = match verdict.verdict {
        Verdict::Heard => (SilenceState::Heard, false),
        Verdict::Silent { by_domain } => (SilenceState::Silent, by_domain),
        Verdict::Held => (SilenceState::Held, false),
        Verdict::Unmanaged => (SilenceState::Unmanaged, false),
    };
    let asked = subject.spec.silence == SilenceInstruction::Confirmed;
    let before = subject.stored.silence.as_ref().is_some_and(|silence| silence.lapsed);
    let confirmed = subject.instruction() == Instruction::Confirmed;
    SilenceStatus {
        state,
        percent: verdict.percent.into(),
        serial: None,
        ejections: verdict.ejections.into(),
        confirmed: confirmed && state == SilenceState::Silent,
        by_domain,
        lapsed: asked && (before || verdict.confirmation_lapsed),
    }
}

/// Properties that selectors see: those that administrators have set come first, and its name is not its own to choose.
fn properties(subject: Subject<'_>) -> BTreeMap<String, String> {
    let own = subject.lease().map(|lease| lease.properties.clone()).unwrap_or_default();
    let mut properties = own;
    properties.insert(CLUSTER_PROPERTY.to_owned(), subject.name.to_string());
    properties.extend(subject.spec.properties.clone());
    properties
}

/// The incarnation of the hub to which the member has published everything; `None` if it does not report that. An agent that has
/// just started reports none: what was published once in an incarnation stays so.
fn complete(subject: Subject<'_>) -> Option<String> {
    let reported = subject.lease()?.published.as_deref()?;
    let stored = subject.stored.complete.clone();
    if reported.is_empty() { stored } else { Some(reported.to_owned()) }
}

/// The same, once this process sees what the member has published: importers take for withdrawn what they do not get from then on.
fn seen(subject: Subject<'_>) -> Option<String> {
    let (reported, stored) = (complete(subject), &subject.stored.complete);
    let is_known = reported == *stored || shows_all(subject);
    if is_known { reported } else { stored.clone() }
}

/// Whether this process sees as many slices of a member as that has published.
fn shows_all(subject: Subject<'_>) -> bool {
    let published = subject.lease().and_then(|lease| lease.published_slices).unwrap_or_default();
    let slices = &subject.snapshot.slice_exports;
    let of_member = member_namespace(subject.name);
    slices.state().is_live() && slices.in_namespace(&of_member).take(published).count() == published
}

/// Whether the hub has all that its members export, to their knowledge; `None` if it has none. A member that has a namespace there and
/// renews no Lease may be about to come back.
fn are_all_there(members: &[Subject<'_>], snapshot: &HubSnapshot, epoch: i64) -> Option<bool> {
    let hub = incarnation::cluster(snapshot).map(|hub| incarnation::of(hub, epoch));
    let is_there = |subject: &Subject<'_>| {
        let is_forgotten = hub.is_some() && subject.spec.forgotten_in == hub;
        let mark = |lease: &MemberLease| match lease.published.as_deref() {
            Some(mark) => Some(mark) == hub.as_deref(),
            // Its agent does not report that.
            None => true,
        };
        is_forgotten || subject.lease().is_some_and(mark)
    };
    let decided: BTreeSet<&str> = members.iter().map(|subject| &**subject.name).collect();
    let namespaces = snapshot.namespaces.iter();
    let mut others = namespaces.filter_map(|namespace| member_of_namespace(&namespace.name.name));
    let has_others = others.any(|member| !decided.contains(member));
    if members.is_empty() && !has_others {
        return None;
    }
    Some(!has_others && members.iter().all(is_there))
}

/// Whether the hub has all that the member exports, as far as the member reports it.
fn has_published(subject: Subject<'_>, epoch: i64) -> bool {
    let lease = subject.lease();
    if lease.is_some_and(|lease| lease.published.is_some()) {
        let hub = incarnation::cluster(subject.snapshot).map(|hub| incarnation::of(hub, epoch));
        let complete = complete(subject);
        // One that has never published all, because the hub lacks the namespace of an export of it, would never return.
        return complete.is_none() || complete == hub;
    }
    subject.report().is_none_or(|report| {
        report.published_to.is_none() || report.published_to == report.incarnation
    })
}

fn ejections(silence: &SilenceStatus) -> usize {
    usize::try_from(silence.ejections).unwrap_or_default()
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
