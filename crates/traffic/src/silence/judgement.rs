use std::collections::BTreeMap;
use std::time::Duration;

use crate::silence::bound::{failures, most_silent};
use crate::silence::member::MemberState;
use crate::silence::settings::SilenceSettings;

/// What the hub agent knows of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observer {
    /// When its term as leader began.
    pub leads_since: Duration,
    /// Since when its watch of the members' Leases has been live without a break; `None` while it is not.
    pub watches_since: Option<Duration>,
    /// Since when the API server has acknowledged the renewals of its own Lease without a gap; `None` while it does not.
    pub renews_since: Option<Duration>,
}

/// What an administrator has decided about a member's silence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Instruction {
    /// The hub agent judges.
    #[default]
    Auto,
    /// Its present silence is confirmed: no guard applies.
    Confirmed,
    /// It is never judged.
    Never,
}

/// One member, as the hub agent sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedMember {
    /// When its Lease was last seen to change, in this term; the first sight counts as a change. `None` without a Lease.
    pub last_seen: Option<Duration>,
    /// When it was last seen to report that this hub has all of its exports.
    pub marked: Option<Duration>,
    /// The administrator's.
    pub instruction: Instruction,
    /// Its value of the property that names failure domains.
    pub domain: Option<String>,
}

/// What members act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It renews, or is not silent for long enough.
    Heard,
    /// It is silent; `by_domain`: only because its failure domain counts as one, so that its endpoints may become last resort
    /// and nothing more.
    Silent {
        /// Whether the guard was met by its domain alone.
        by_domain: bool,
    },
    /// It would be silent, if not for a guard.
    Held,
    /// It has no Lease.
    Unmanaged,
}

/// The verdict about one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberVerdict {
    /// The verdict.
    pub verdict: Verdict,
    /// Percentage of its endpoints that are last resort: 100 while it is silent, less as it returns.
    pub percent: u8,
    /// Whether a confirmation has no object any more, since the member renews.
    pub confirmation_lapsed: bool,
    /// How often it was ejected in the last hour.
    pub ejections: u8,
}

/// Verdicts about all members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// By name of the member.
    pub verdicts: BTreeMap<String, MemberVerdict>,
    /// Too many are silent at once: no new verdict is passed.
    pub mass_silence: bool,
    /// Since when the guards would have allowed new verdicts.
    pub clear_since: Option<Duration>,
    /// For the next judgement.
    pub states: BTreeMap<String, MemberState>,
    /// When the next judgement is due although no Lease changes.
    pub again_at: Option<Duration>,
}

/// Judges all members at `now`, on the hub agent's monotonic clock.
///
/// A hub agent that cannot trust its own view passes no verdict and returns no member.
pub fn judge(
    settings: SilenceSettings,
    observer: Observer,
    members: &BTreeMap<String, ObservedMember>,
    before: &Judgement,
    now: Duration,
) -> Judgement {
    let state =
        |name: &String| (name.clone(), before.states.get(name).cloned().unwrap_or_default());
    let states = members.keys().map(state).collect();
    let Judgement { mass_silence, clear_since, .. } = *before;
    let mut bench = Bench { settings, members, states, mass_silence, clear_since, now };
    bench.observe();
    if observer.sees_from(settings).is_some_and(|from| now >= from) {
        bench.judge();
    }
    let (verdicts, again_at) = (bench.verdicts(), bench.again_at(observer));
    let Bench { mass_silence, clear_since, states, .. } = bench;
    Judgement { verdicts, mass_silence, clear_since, states, again_at }
}

impl Observer {
    /// From when on it can judge: members had the time to renew under its eyes.
    fn sees_from(self, settings: SilenceSettings) -> Option<Duration> {
        let since = self.watches_since?.max(self.renews_since?).max(self.leads_since);
        Some(since + settings.silent_after)
    }
}

struct Bench<'a> {
    settings: SilenceSettings,
    members: &'a BTreeMap<String, ObservedMember>,
    states: BTreeMap<String, MemberState>,
    mass_silence: bool,
    clear_since: Option<Duration>,
    now: Duration,
}

impl Bench<'_> {
    fn observe(&mut self) {
        for (name, state) in &mut self.states {
            if let Some(seen) = self.members[name].last_seen {
                state.observe(seen, self.settings);
            }
        }
        let is_clear = self.failures().1 <= self.most() && self.most_renew();
        self.clear_since = is_clear.then(|| self.clear_since.unwrap_or(self.now));
    }

    /// Passes verdicts and returns members.
    fn judge(&mut self) {
        self.come_back();
        let (confirmed, others): (Vec<_>, Vec<_>) =
            self.silent().into_iter().partition(|name| self.is_confirmed(name));
        self.eject(confirmed, false);
        let is_held = self.clear_at().is_none_or(|at| self.now < at);
        self.mass_silence = is_held && !others.is_empty();
        if !is_held {
            self.eject(others, self.failures().0 > self.most());
        }
    }

    /// When the guards have allowed verdicts for long enough. Members that recover together renew one by one, and the last of
    /// them must not be taken for the only ones that failed.
    fn clear_at(&self) -> Option<Duration> {
        self.clear_since.map(|since| since + self.settings.gap())
    }

    fn most(&self) -> usize {
        // Those that are silent without a Lease count as failures, and so as members.
        let counted = self
            .members
            .iter()
            .filter(|(name, member)| member.last_seen.is_some() || self.states[*name].is_silent());
        most_silent(counted.count(), self.settings.max_silent_percent)
    }

    fn eject(&mut self, names: Vec<String>, by_domain: bool) {
        for name in names {
            if let Some(state) = self.states.get_mut(&name) {
                state.eject(by_domain, self.now);
            }
        }
    }

    fn come_back(&mut self) {
        for (name, state) in &mut self.states {
            let member = &self.members[name];
            // A Lease that is gone proves nothing: a verdict stays until the member renews, or is declared never silent.
            if member.instruction == Instruction::Never {
                state.acquit();
            } else if member.last_seen.is_some()
                && !member.is_older_than(self.settings.gap(), self.now)
            {
                state.come_back(member.marked, self.settings, self.now);
            }
        }
    }

    /// Members for a new verdict.
    fn silent(&self) -> Vec<String> {
        let silent_after = self.settings.silent_after;
        let members = self.members.iter().filter(|(name, member)| {
            let judged = member.instruction != Instruction::Never;
            judged
                && member.is_older_than(silent_after, self.now)
                && !self.states[*name].is_silent()
        });
        members.map(|(name, _)| name.clone()).collect()
    }

    fn is_confirmed(&self, name: &str) -> bool {
        self.members[name].instruction == Instruction::Confirmed
    }

    fn managed(&self) -> usize {
        self.members.values().filter(|member| member.last_seen.is_some()).count()
    }

    /// Members that are silent by verdict or may soon be, and how many failures these are. What fails at once is noticed one
    /// by one, up to a heartbeat apart: counting only what is silent for long enough would eject as many as the guard allows.
    fn failures(&self) -> (usize, usize) {
        let suspicion = self.settings.suspicion();
        let counts = |(name, member): &(&String, &ObservedMember)| {
            let suspected = member.is_older_than(suspicion, self.now);
            self.states[*name].is_silent()
                || (suspected && member.instruction != Instruction::Never)
        };
        let silent = self.members.iter().filter(counts);
        let domains: Vec<_> = silent.map(|(_, member)| member.domain.as_deref()).collect();
        (domains.len(), failures(domains.into_iter()))
    }

    /// Whether half of the members renew now.
    fn most_renew(&self) -> bool {
        let suspicion = self.settings.suspicion();
        let renew = self.members.values().filter(|member| {
            member.last_seen.is_some() && !member.is_older_than(suspicion, self.now)
        });
        renew.count() * 2 >= self.managed()
    }

    fn verdicts(&self) -> BTreeMap<String, MemberVerdict> {
        let verdict = |(name, member): (&String, &ObservedMember)| {
            let state = &self.states[name];
            let verdict = MemberVerdict {
                verdict: self.verdict(member, state),
                percent: state.percent(),
                confirmation_lapsed: member.instruction == Instruction::Confirmed
                    && member.last_seen.is_some()
                    && !member.is_older_than(self.settings.gap(), self.now),
                ejections: state.ejections(),
            };
            (name.clone(), verdict)
        };
        self.members.iter().map(verdict).collect()
    }

    fn verdict(&self, member: &ObservedMember, state: &MemberState) -> Verdict {
        let judged = member.instruction != Instruction::Never;
        if state.is_silent() {
            Verdict::Silent { by_domain: state.is_by_domain() }
        } else if member.last_seen.is_none() {
            Verdict::Unmanaged
        } else if judged
            && self.mass_silence
            && member.is_older_than(self.settings.silent_after, self.now)
        {
            Verdict::Held
        } else {
            Verdict::Heard
        }
    }

    /// The next time at which a member may become silent or take a step of its return, or the observer may judge.
    fn again_at(&self, observer: Observer) -> Option<Duration> {
        let silent_after = self.settings.silent_after;
        let silent = self.members.values().filter_map(|member| member.last_seen);
        let clear_at = self.clear_at().filter(|_| self.mass_silence);
        let returns = self.states.values().filter_map(|state| state.due(self.settings));
        let times = silent.map(|seen| seen + silent_after).chain(returns);
        times
            .chain(observer.sees_from(self.settings))
            .chain(clear_at)
            .filter(|at| *at > self.now)
            .min()
    }
}

impl ObservedMember {
    /// Whether its Lease has not changed for this long.
    fn is_older_than(&self, age: Duration, now: Duration) -> bool {
        self.last_seen.is_some_and(|seen| now >= seen + age)
    }
}
