//! What verdicts of silence mean to the order of exports (docs/design/traffic.md#ports-of-silent-members).

use std::collections::BTreeSet;
use std::sync::Arc;

use fleet_accumulator::{Snapshot as _, SourceSet};
use fleet_api::ObjectName;
use fleet_api::names::member_of_namespace;
use fleet_api::traffic::{FLEET_TRAFFIC, SilenceState, SilenceStatus};
use fleet_model::changes::each_touched;
use fleet_model::objects::traffic::FleetTraffic;
use fleet_model::precedence::Precedence;

use crate::Settings;
use crate::snapshot::HubSnapshot;

/// The verdicts of a snapshot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verdicts<'a> {
    snapshot: &'a HubSnapshot,
    /// Whether verdicts count at all.
    counts: bool,
    /// Whether they were read, or are known not to be had.
    is_known: bool,
    /// Whether they may change what is in force.
    is_certain: bool,
}

impl<'a> Verdicts<'a> {
    /// Those of `snapshot`, where traffic is decided about.
    pub(crate) fn of(settings: &Settings, snapshot: &'a HubSnapshot) -> Self {
        let counts = settings.traffic;
        let is_known = snapshot.member_traffics.has_answered();
        Self { snapshot, counts, is_known, is_certain: counts && is_certain(snapshot) }
    }

    /// What is read.
    pub(crate) fn sources(settings: &Settings) -> SourceSet {
        if settings.traffic {
            SourceSet::from([
                HubSnapshot::fleet_traffics(),
                HubSnapshot::member_traffics(),
                HubSnapshot::fleet_decisions(),
                HubSnapshot::member_decisions(),
            ])
        } else {
            SourceSet::EMPTY
        }
    }

    /// What the silence of a member means to its exports. A verdict that holds only because a failure domain counts as one takes
    /// nothing out of use, and neither does one where the fleet allows no removal.
    pub(crate) fn precedence(&self, member: &str) -> Precedence {
        if self.counts && !self.is_known {
            return Precedence::AsBefore;
        }
        let Some(silence) = self.silence(member) else { return Precedence::ByAge };
        let is_silent = silence.state == SilenceState::Silent;
        if self.is_certain && is_silent && !silence.by_domain && self.is_decided(member) {
            Precedence::Yields
        } else if is_silent || silence.percent > 0 {
            Precedence::AsBefore
        } else {
            Precedence::ByAge
        }
    }

    fn silence(&self, member: &str) -> Option<&'a SilenceStatus> {
        let member = self.snapshot.member_traffics.get(&ObjectName::cluster(member));
        member.filter(|_| self.counts)?.object.status.silence.as_ref()
    }

    /// Whether this process has found the member silent, and not only an earlier one.
    fn is_decided(&self, member: &str) -> bool {
        let decided = self.snapshot.member_decisions.get(&ObjectName::cluster(member));
        let silence = decided.and_then(|decided| decided.object.status.silence.as_ref());
        silence.is_some_and(|silence| silence.state == SilenceState::Silent)
    }
}

/// Whether this process judges at present, on what it sees: neither under mass silence, nor before it has watched for long enough, nor
/// while its watches do not show the present.
fn is_certain(snapshot: &HubSnapshot) -> bool {
    let decided = snapshot.fleet_decisions.get(&ObjectName::cluster(FLEET_TRAFFIC));
    let fleet = FleetTraffic::of(&snapshot.fleet_traffics);
    let sources = SourceSet::from([HubSnapshot::fleet_traffics(), HubSnapshot::member_traffics()]);
    decided.is_some_and(|decided| decided.judges && decided.mass_silence.is_empty())
        && fleet.is_some_and(|fleet| fleet.spec.allow_remove)
        && snapshot.member_traffics.state().is_live()
        && !snapshot.is_settling(sources)
}

/// The members whose exports have another precedence in one of two snapshots.
pub(crate) fn affected(
    settings: &Settings,
    old: &HubSnapshot,
    new: &HubSnapshot,
) -> BTreeSet<Arc<str>> {
    let mut members = BTreeSet::new();
    if !settings.traffic {
        return members;
    }
    let (before, after) = (Verdicts::of(settings, old), Verdicts::of(settings, new));
    if before.is_known != after.is_known {
        let namespaces = new.namespaces.iter().map(|namespace| &namespace.name.name);
        return namespaces.filter_map(|name| member_of_namespace(name)).map(Arc::from).collect();
    }
    let mut look = |name: &Arc<str>| {
        if before.precedence(name) != after.precedence(name) {
            members.insert(Arc::clone(name));
        }
    };
    if before.is_certain == after.is_certain {
        each_touched(&old.member_traffics, &new.member_traffics, |it| look(&it.name.name));
        each_touched(&old.member_decisions, &new.member_decisions, |it| look(&it.name.name));
    } else {
        let all = old.member_traffics.iter().chain(new.member_traffics.iter());
        all.for_each(|member| look(&member.name.name));
    }
    members
}
